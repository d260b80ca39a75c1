/** What the record has about one decision, without the bodies. Times are those of entries, in milliseconds. */
import type { JsonObject } from "../format/json.js";
import type { Entry } from "./statement.js";
import type { Submitted } from "./submitted.js";

export type Account = "governed" | "rehearsal" | "break_glass";

export interface Decided {
  digest: string;
  seq: number;
  at: number;
  action: string;
  provider: string | null;
  tool: string | null;
  /** A commitment. */
  args: string | null;
  mode: "gateway" | "hook";
  account: Account;
  /** Whether the call may go out: ALLOW, or any verdict that a recorded shadow window made advisory. */
  isCleared: boolean;
  /** What the quote was opened to; null where there is none or it is sealed. */
  quoted: number | null;
}

export interface Observed {
  digest: string;
  seq: number;
  at: number;
  status: string;
  isError: boolean;
  result: string | null;
}

/** What a statement's signature is worth at its place: it holds under a key of `signer`, the key had ended, or it holds under none. */
export type Standing = { holds: true; signer: string } | { holds: false; ended: boolean };

export interface Stated {
  /** Digest of the body: the wrapper `received/v1`. */
  digest: string;
  seq: number;
  at: number;
  standing: Standing;
  action: string | null;
  decision: string | null;
  provider: string | null;
  tool: string | null;
  args: string | null;
  result: string | null;
  outcome: string;
  fingerprint: string;
  charged: number | null;
}

/** A decision with everything that names it. Of several observations the first by entry counts. */
export interface Matter {
  decided: Decided;
  observed: Observed | null;
  stated: Stated[];
}

export function decidedBy(decision: JsonObject, entry: Entry): Decided {
  const { verdict, effect, marks, action, provider, tool, args, mode } = decision as unknown as DecisionMembers;
  const isCleared = isClearedDecision(decision);
  const isRehearsal = verdict !== "ALLOW" && effect === "advisory";
  return {
    digest: entry.body, seq: entry.seq, at: Date.parse(entry.at), action, provider, tool, args, mode, isCleared, quoted: null,
    account: marks.includes("break_glass") ? "break_glass" : isRehearsal ? "rehearsal" : "governed",
  };
}

export function isClearedDecision({ verdict, effect }: JsonObject): boolean {
  return verdict === "ALLOW" || effect === "advisory";
}

export function observedBy(seen: JsonObject, entry: Entry): Observed {
  const { status, is_error, result } = seen as { status: string; is_error: boolean | null; result: string | null };
  return { digest: entry.body, seq: entry.seq, at: Date.parse(entry.at), status, isError: is_error === true, result };
}

export function statedBy(submitted: Submitted, fingerprint: string, entry: Entry, standing: Standing): Stated {
  const { action, decision, provider, tool, args, result, outcome } = submitted;
  return {
    digest: entry.body, seq: entry.seq, at: Date.parse(entry.at), standing, fingerprint, charged: null,
    action, decision, provider, tool, args, result, outcome,
  };
}

interface DecisionMembers {
  verdict: string;
  effect: string;
  marks: string[];
  action: string;
  provider: string | null;
  tool: string | null;
  args: string | null;
  mode: "gateway" | "hook";
}
