/**
 * Receipts, checked offline under keys that you pinned.
 *
 * Promised: `verifyReceipt` returns only if the statement, its entry and its proof hold together under your key set. Otherwise
 * it throws `Refused`: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right, but no key
 * that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that nothing was left
 * out of the log, or that everybody is shown the same log: for that keep receipts, see `receipts`.
 * Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
 */
import { canonical } from "./format/canonical.js";
import type { KeySet } from "./format/keys.js";
import { now } from "./format/now.js";
import { digest } from "./format/work.js";
import { checkReceipt, type Verified } from "./verify/receipt.js";
import type { Entry } from "./verify/statement.js";

export { KeySet, KeyError, PublicKey } from "./format/keys.js";
export { JsonError, parse, type Json, type JsonObject, type Profile } from "./format/json.js";
export { documentValue } from "./format/bound.js";
export { canonical } from "./format/canonical.js";
export { commitment } from "./format/commitment.js";
export { Refused, type Verified } from "./verify/receipt.js";
export type { Entry } from "./verify/statement.js";

export function verifyReceipt(receipt: Uint8Array | string, pinned: KeySet): Verified {
  return now(checkReceipt(receipt, pinned));
}

/** The hash that the next entry's `prev` says. */
export function entryHash(entry: Entry): string {
  return now(digest(canonical(entry)));
}
