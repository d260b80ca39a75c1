/**
 * What a provider did, signed by the provider alone.
 *
 *     {"typ":"execution/v1","iss":"notes","action":"act_…","decision":"sha256:…","capability":"<jti>","outcome":"EXECUTED", …}
 *
 * Promised: arguments and result stand in it as commitments under the seed that came with the capability, so the gateway
 * can compare and a stranger cannot guess. Not promised: that what you sign is true; it is your statement.
 * Format and cases: docs/formats/execution.md, docs/vectors/executions.
 */
import { randomBytes } from "node:crypto";
import { base64url, fromBase64url } from "./format/bytes.js";
import { boundValue, documentValue } from "./format/bound.js";
import { canonical } from "./format/canonical.js";
import { commit } from "./format/commitment.js";
import { sign, type Envelope } from "./format/envelope.js";
import type { JsonObject } from "./format/json.js";
import { WRAPPED, demand } from "./format/shapes.js";
import type { Signer } from "./format/signer.js";

export { SigningKey, type Signer } from "./format/signer.js";
export type { Envelope } from "./format/envelope.js";
export { readExecution, type ReadExecution } from "./execution/read.js";

export type Outcome = "EXECUTED" | "SKIPPED" | "FAILED" | "BLOCKED" | "ESCALATED" | "ABANDONED" | "NOT_ATTEMPTED";

/** The largest checkpoint that the signer holds: a claim, not a proof. `root` is standard base64. */
export interface Seen {
  size: number;
  root: string;
}

export interface ExecutionFacts {
  project: string;
  provider: string;
  tool: string;
  /** `act_…`, `txn` of the capability. */
  action: string;
  /** Digest of the decision's envelope, `dec` of the capability. */
  decision: string;
  /** `jti` of the capability; null where none is demanded. */
  capability: string | null;
  /** The provider seed as it came, `os` of the capability. */
  seed: string;
  /** `params.arguments` as they arrived on the wire; absent ones are {}. */
  arguments: unknown;
  outcome: Outcome;
  /** The JSON-RPC `result` as text that leaves on the wire; null where there is none. */
  resultText: string | null;
  /** `[A-Za-z0-9_.-]{1,64}` */
  errorCode: string | null;
  /** Null where nothing was started. */
  startedAt: Date | null;
  executedAt: Date;
  seen?: Seen | null;
  /** For tests that compare bytes. */
  nonce?: string;
}

export async function executionStatement(facts: ExecutionFacts, signer: Signer): Promise<Envelope> {
  const seed = fromBase64url(facts.seed);
  if (seed?.length !== 16) throw new TypeError("the provider seed is 16 bytes in base64url");
  const { resultText } = facts;
  const payload: JsonObject = {
    typ: "execution/v1",
    iss: facts.provider,
    project: facts.project,
    action: facts.action,
    provider: facts.provider,
    tool: facts.tool,
    decision: facts.decision,
    capability: facts.capability,
    args: commit(seed, "args", documentValue(facts.arguments === undefined ? {} : facts.arguments)),
    outcome: facts.outcome,
    result: resultText === null ? null : resultCommitment(seed, resultText),
    error_code: facts.errorCode,
    charged: null,
    started_at: facts.startedAt?.toISOString() ?? null,
    executed_at: facts.executedAt.toISOString(),
    nonce: facts.nonce ?? base64url(randomBytes(16)),
    seen: facts.seen ? { size: facts.seen.size, root: facts.seen.root } : null,
  };
  demand(payload, WRAPPED["execution-native"].members, "$");
  return sign(payload, signer);
}

/** Null for a result that cannot be compared: a commitment to something else would look like a contradiction. */
function resultCommitment(seed: Buffer, text: string): string | null {
  // What hops add is not the provider's result (docs/formats/canonical-json.md).
  const value = boundValue(text, ["_meta", "resultType"]);
  return value.startsWith("none:") ? null : commit(seed, "result", value);
}

/** The vendor wire's form: exactly these six fields are signed, with the vendor's own key id as alias. */
export interface SixFields {
  action_id: string;
  /** `dec_<hex of the decision envelope's digest>`, so it binds the content. */
  decision_id: string;
  outcome: Outcome;
  result_hash: string | null;
  error_code: string | null;
  executed_at: string;
}

export interface SignedSixFields extends SixFields {
  signature: { kid: string; alg: "Ed25519"; value: string };
}

export async function sixFieldStatement(fields: SixFields, signer: Signer): Promise<SignedSixFields> {
  const { action_id, decision_id, outcome, result_hash, error_code, executed_at } = fields;
  const six = { action_id, decision_id, outcome, result_hash, error_code, executed_at };
  const value = base64url(await signer.sign(Buffer.from(canonical(six))));
  return { ...six, signature: { kid: signer.kid, alg: "Ed25519", value } };
}

export function decisionId(decisionDigest: string): string {
  return decisionDigest.replace(/^sha256:/, "dec_");
}
