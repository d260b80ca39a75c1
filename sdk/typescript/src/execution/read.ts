/**
 * An execution as somebody sent it, in one of the two forms.
 *
 * Promised: what is read has one reading and exactly the members of its form; what names no action or decision of ours says null.
 * Not promised: that the signer may speak for the provider. Ask `holdsUnder` with the key that you know.
 */
import { canonical } from "../format/canonical.js";
import type { PublicKey } from "../format/keys.js";
import { now } from "../format/now.js";
import type { WrappedForm } from "../format/shapes.js";
import { digest } from "../format/work.js";
import { fingerprintOf, readSubmitted, submittedHolds } from "../verify/submitted.js";

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

export function readExecution(text: Uint8Array | string, form: WrappedForm): ReadExecution {
  const submitted = readSubmitted(text, form);
  const { action, decision, outcome, whole } = submitted;
  return {
    action, decision, outcome,
    fingerprint: now(fingerprintOf(submitted)),
    digest: now(digest(canonical(whole))),
    holdsUnder: (key) => now(submittedHolds(submitted, key)),
  };
}
