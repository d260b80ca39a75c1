/** The two ways to hear no. */
import type { Decided } from "./decision.js";

/**
 * `unanswered`: nobody answered in time, three times. `resting`: nobody answered five times in a row, so nobody is asked for a
 * while. The rest is an answer that proves nothing.
 */
export type NoVerdictCode =
  | "unanswered" | "resting" | "rejected" | "malformed" | "unsigned" | "expired" | "other_action" | "replayed";

/** There is no verdict: do nothing. */
export class NoVerdict extends Error {
  override name = "NoVerdict";

  constructor(
    readonly code: NoVerdictCode,
    detail: string,
  ) {
    super(`no verdict (${code}): ${detail}`);
  }
}

/** There is one, and it does not clear the call. `decided` says what it asks for. */
export class NotCleared extends Error {
  override name = "NotCleared";

  constructor(readonly decided: Decided) {
    super(`not cleared: ${decided.verdict} (${decided.reason})`);
  }
}
