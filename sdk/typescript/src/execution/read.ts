/**
 * An execution as somebody sent it, in one of the two forms.
 *
 * Promised: what is read has one reading and exactly the members of its form; what names no action or decision of ours says null.
 * Not promised: that the signer may speak for the provider. Ask `holdsUnder` with the key that you know.
 */
import { digestOf, fromBase64url } from "../format/bytes.js";
import { canonical } from "../format/canonical.js";
import { envelopeDigest, type Envelope } from "../format/envelope.js";
import { parse, type JsonObject } from "../format/json.js";
import type { PublicKey } from "../format/keys.js";
import { ShapeError, WRAPPED, demand, matches, type Shape, type WrappedForm } from "../format/shapes.js";

export interface ReadExecution {
  /** `act_…`; null where the id is none of ours. */
  action: string | null;
  /** Digest of the decision's envelope; null where the id is none of ours. */
  decision: string | null;
  outcome: string;
  /** The same for two statements that say the same, whatever their times and nonces. */
  fingerprint: string;
  /** Of the whole, signature included. */
  digest: string;
  holdsUnder(key: PublicKey): boolean;
}

const NATIVE: Shape = { payload: "any", signature: { alg: "Ed25519", kid: "thumbprint", sig: "signature" } };
const LONGEST_TEXT = 128;

export function readExecution(text: Uint8Array | string, form: WrappedForm): ReadExecution {
  return form === "execution-native" ? native(text) : sixFields(text);
}

function native(text: Uint8Array | string): ReadExecution {
  const { bytes, members } = WRAPPED["execution-native"];
  const envelope = parse(text, "strict", bytes);
  demand(envelope, NATIVE, "$");
  const { payload, signature } = envelope as unknown as Envelope;
  demand(payload, members, "$.payload");
  if (payload.iss !== payload.provider) throw new ShapeError("`$.payload.provider`: another than iss");
  return read(payload, signature.sig, envelope as JsonObject, {
    action: String(payload.action), decision: String(payload.decision),
    said: [payload.action, payload.decision, payload.outcome, payload.result],
  });
}

function sixFields(text: Uint8Array | string): ReadExecution {
  const { bytes, members } = WRAPPED["vendor-wire"];
  const whole = parse(text, "foreign", bytes) as JsonObject;
  demand(whole, members, "$");
  const { signature, ...six } = whole;
  const signed = signature as { kid: string; value: string };
  const isLong = (value: unknown) => typeof value === "string" && Buffer.byteLength(value) > LONGEST_TEXT;
  if ([...Object.values(six), signed.kid].some(isLong)) throw new ShapeError("`$`: a text of more than 128 bytes");
  const [action, decision] = [String(six.action_id), String(six.decision_id)];
  return read(six, signed.value, whole, {
    action: matches("act", action) ? action : null,
    decision: /^dec_[0-9a-f]{64}$/.test(decision) ? decision.replace("dec_", "sha256:") : null,
    said: [six.action_id, six.decision_id, six.outcome, six.result_hash],
  });
}

type Named = { action: string | null; decision: string | null; said: unknown[] };

function read(signed: JsonObject, signature: string, whole: JsonObject, { action, decision, said }: Named): ReadExecution {
  return {
    action,
    decision,
    outcome: String(signed.outcome),
    fingerprint: digestOf(canonical(said)),
    digest: envelopeDigest(whole as unknown as Envelope),
    holdsUnder(key) {
      const bytes = fromBase64url(signature);
      return bytes !== null && key.verify(canonical(signed), bytes);
    },
  };
}
