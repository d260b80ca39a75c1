/**
 * For vendors that call tools from their own code: ask first, and take silence for a no.
 *
 * Promised: `guard` runs the work only on a decision that says ALLOW (or a recorded advisory one), is signed and recorded under
 * keys that you pinned, is not old, and is about exactly this tool and these arguments, once. Unreachable, slow, malformed,
 * unsigned, expired, or for another action: no, as an exception. There is no option that turns this off.
 * Not promised: that code which does not ask is stopped.
 * Wire: docs/decisions/the-verdict-answer-carries-its-receipt.md.
 */
export { Verdicts, type VerdictOptions, type Proposal, type Session } from "./verdict/client.js";
export { NoVerdict, NotCleared, type NoVerdictCode } from "./verdict/refusal.js";
export type { Cleared, Decided, Verdict } from "./verdict/decision.js";
export { Outbox, type Report } from "./verdict/outbox.js";
