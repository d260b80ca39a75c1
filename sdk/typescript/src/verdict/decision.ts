/**
 * What the gateway answered, believed only as far as it is signed.
 *
 * The plain members of the answer are for people and for other clients. Here the receipt in it decides: it verifies under the
 * pinned keys, and then every plain member must agree with it.
 */
import { documentValue } from "../format/bound.js";
import { commitment } from "../format/commitment.js";
import { isObject, type Json, type JsonObject } from "../format/json.js";
import { decisionId } from "../execution.js";
import { Refused, verifyReceipt, type KeySet, type Verified } from "../verify.js";
import { NoVerdict } from "./refusal.js";

export type Verdict = "ALLOW" | "DENY" | "STEP_UP" | "MODIFY" | "DEFER";

/** What was asked. */
export interface Asked {
  project: string;
  env: string;
  tool: string;
  provider: string | null;
  arguments: unknown;
}

export interface Decided {
  verdict: Verdict;
  reason: string;
  action: string;
  /** `dec_<hex>` */
  decisionId: string;
  isAdvisory: boolean;
  /** What MODIFY asks for; what DEFER waits for. Said by the gateway, not signed. */
  transform: Json;
  pending: Json;
  verified: Verified;
  /** The receipt as it came, to be kept. */
  receipt: string;
  /** The slip for the provider, where there is one. */
  capability: string | null;
}

/** A decision that lets the call run. Only `cleared` makes one. */
export type Cleared = Decided & { readonly isCleared: true };

/** A stored answer is replayed for sixty seconds at most; five more for two clocks. */
const LONGEST_AGE = 65_000;
const MOST_AHEAD = 5_000;

export function cleared(decided: Decided): Cleared | null {
  // Written as the one case that may run; everything else is no.
  return decided.verdict === "ALLOW" || decided.isAdvisory ? { ...decided, isCleared: true } : null;
}

export function readDecision(answer: JsonObject, asked: Asked, pinned: KeySet, now: number): Decided {
  const full = answer["dev.counterfoil/receipt"];
  if (!isObject(full) || full.typ !== "receipt-full/v1") throw new NoVerdict("unsigned", "the answer has no receipt");
  const receipt = JSON.stringify(full.receipt ?? null);
  const verified = believed(receipt, pinned);
  const { payload, digest } = verified;
  demandOurs(payload, full.openings ?? null, asked);
  const age = now - Date.parse(String(payload.at));
  if (!(age <= LONGEST_AGE && age >= -MOST_AHEAD)) throw new NoVerdict("expired", `decided at ${String(payload.at)}`);

  const said = isObject(answer.decision) ? answer.decision : {};
  const agrees = said.verdict === payload.verdict && said.decision_id === decisionId(digest)
    && answer.action_id === payload.action && (said.effect ?? "enforced") === payload.effect;
  if (!agrees) throw new NoVerdict("malformed", "the answer and its receipt say different things");
  const capability = answer["dev.counterfoil/capability"];
  return {
    verdict: payload.verdict as Verdict,
    reason: String(payload.reason),
    action: String(payload.action),
    decisionId: decisionId(digest),
    isAdvisory: payload.effect === "advisory",
    transform: said.transform ?? null,
    pending: said.pending ?? null,
    verified,
    receipt,
    capability: typeof capability === "string" ? capability : null,
  };
}

function believed(receipt: string, pinned: KeySet): Verified {
  try {
    const verified = verifyReceipt(receipt, pinned);
    if (verified.payload.typ === "decision/v1") return verified;
  } catch (error) {
    if (error instanceof Refused) throw new NoVerdict("unsigned", error.message);
    throw error;
  }
  throw new NoVerdict("unsigned", "the receipt is of no decision");
}

function demandOurs(payload: JsonObject, openings: Json, asked: Asked): void {
  const isPlace = payload.project === asked.project && payload.env === asked.env && payload.mode === "hook";
  const isTool = payload.tool === asked.tool && (asked.provider === null || payload.provider === asked.provider);
  const list = Array.isArray(openings) ? openings : [];
  const opening = list.find((item) => Array.isArray(item) && item[0] === "args") as Json[] | undefined;
  const salt = opening?.[1];
  const isCall = typeof salt === "string" && payload.args === commitment(salt, "args", documentValue(asked.arguments ?? {}));
  // A tool that no registry knows has no public label; such a decision is no ALLOW, and may say so.
  const isUnnamed = payload.tool === null && payload.verdict !== "ALLOW" && payload.effect === "enforced";
  if (!isPlace || !(isUnnamed || (isTool && isCall))) throw new NoVerdict("other_action", "the decision is about another call");
}
