/**
 * An execution as somebody sent it, in one of the two forms. Its signature is not believed yet.
 *
 * Promised: what is read has one reading and exactly the members of its form; what names no action or decision of ours says null.
 * Format and cases: docs/formats/execution.md, docs/vectors/executions.
 */
import { canonical } from "../format/canonical.js";
import { parse, type JsonObject } from "../format/json.js";
import { signatureHolds } from "../format/note.js";
import { byteLength, ofBase64url } from "../format/octets.js";
import { RECEIPT, ShapeError, WRAPPED, demand, matches, type Shape, type WrappedForm } from "../format/shapes.js";
import { digest, type Work } from "../format/work.js";
import type { RawKey } from "./pins.js";

export interface Submitted {
  /** As it was read, signature included. */
  whole: JsonObject;
  /** `act_…`; null where the id is none of ours. */
  action: string | null;
  /** Digest of the decision's envelope; null where the id is none of ours. */
  decision: string | null;
  outcome: string;
  /** These four are null in the six-field form. */
  provider: string | null;
  tool: string | null;
  args: string | null;
  result: string | null;
  /** A thumbprint in the native form, an alias in the six-field form. */
  kid: string;
  /** What two statements that say the same have in common. */
  said: unknown[];
  /** What is signed, and by what. */
  signed: string;
  sig: string;
}

const ENVELOPE = (RECEIPT as { statement: Shape }).statement;
const LONGEST_TEXT = 128;

export function readSubmitted(text: Uint8Array | string, form: WrappedForm): Submitted {
  return form === "execution-native" ? native(text) : sixFields(text);
}

/** The same for two statements that say the same, whatever their times and nonces. */
export function fingerprintOf(submitted: Submitted): Work<string> {
  return digest(canonical(submitted.said));
}

export function* submittedHolds(submitted: Submitted, key: RawKey): Work<boolean> {
  const signature = ofBase64url(submitted.sig);
  return signature !== null && (yield* signatureHolds(key.bytes, submitted.signed, signature));
}

function native(text: Uint8Array | string): Submitted {
  const { bytes, members } = WRAPPED["execution-native"];
  const whole = parse(text, "strict", bytes) as JsonObject;
  demand(whole, ENVELOPE, "$");
  const { payload, signature } = whole as { payload: JsonObject; signature: { kid: string; sig: string } };
  demand(payload, members, "$.payload");
  if (payload.iss !== payload.provider) throw new ShapeError("`$.payload.provider`: another than iss");
  const { action, decision, outcome, provider, tool, args, result } = payload as Record<string, string>;
  return {
    whole, kid: signature.kid, sig: signature.sig, signed: canonical(payload), said: [action, decision, outcome, result],
    action: action!, decision: decision!, outcome: outcome!, provider: provider!, tool: tool!, args: args!, result: result!,
  };
}

function sixFields(text: Uint8Array | string): Submitted {
  const { bytes, members } = WRAPPED["vendor-wire"];
  const whole = parse(text, "foreign", bytes) as JsonObject;
  demand(whole, members, "$");
  const { signature, ...six } = whole;
  const { kid, value } = signature as { kid: string; value: string };
  const isLong = (member: unknown) => typeof member === "string" && byteLength(member) > LONGEST_TEXT;
  if ([...Object.values(six), kid].some(isLong)) throw new ShapeError("`$`: a text of more than 128 bytes");
  const [action, decision] = [String(six.action_id), String(six.decision_id)];
  return {
    whole, kid, sig: value, signed: canonical(six), said: [six.action_id, six.decision_id, six.outcome, six.result_hash],
    action: matches("act", action) ? action : null,
    decision: /^dec_[0-9a-f]{64}$/.test(decision) ? decision.replace("dec_", "sha256:") : null,
    outcome: String(six.outcome), provider: null, tool: null, args: null, result: null,
  };
}
