/**
 * Receipts, chains of them and whole packages, checked offline under keys that you pinned.
 *
 * Promised: `verifyReceipt` returns only if the statement, its entry and its proof hold together under your key set. Otherwise
 * it throws `Refused`: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right, but no key
 * that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that nothing was left
 * out of the log, or that everybody is shown the same log: for that keep receipts, see `receipts`.
 * `verifyPackage` answers as docs/formats/package.md says; what it could not check stands in `notChecked`.
 * Formats and cases: docs/formats/{receipt,package}.md, docs/vectors/{receipts,malformed-receipts,packages,reconciliation}.
 */
import { canonical } from "./format/canonical.js";
import type { KeySet } from "./format/keys.js";
import { now } from "./format/now.js";
import { digest } from "./format/work.js";
import { checkChain } from "./verify/neighbours.js";
import { checkZip, type Report } from "./verify/package.js";
import { withProviderKeys, type Pins } from "./verify/pins.js";
import { checkReceipt, type Verified } from "./verify/receipt.js";
import type { Entry } from "./verify/statement.js";

export { KeySet, KeyError, PublicKey } from "./format/keys.js";
export { JsonError, parse, type Json, type JsonObject, type Profile } from "./format/json.js";
export { documentValue } from "./format/bound.js";
export { canonical } from "./format/canonical.js";
export { commitment } from "./format/commitment.js";
export type { Answer, Report, Verdict } from "./verify/package.js";
export { Refused, type Verified } from "./verify/receipt.js";
export type { Entry } from "./verify/statement.js";
export { TooLargeError } from "./verify/zip.js";

export function verifyReceipt(receipt: Uint8Array | string, pinned: KeySet): Verified {
  return now(checkReceipt(receipt, pinned));
}

/** Receipts of entries that follow each other, in their order: each verifies, and each names the hash of the one before. */
export function verifyChain(receipts: readonly (Uint8Array | string)[], pinned: KeySet): Verified[] {
  return now(checkChain(receipts, pinned));
}

/** What the holder of a package brings. Nothing inside it adds to that. */
export interface PackageTrust {
  /** Our keys. Keys of providers (purpose `execution`) in it count as pinned by you. */
  pinned: KeySet;
  /** What providers publish themselves: a JWKS or one JWK each. */
  providerKeys?: readonly (Uint8Array | string)[];
  /** A checkpoint that you kept, as the signed note: the record must pass through it. */
  since?: string | null;
  /** Receipts that you kept: each must stand in its place. */
  held?: readonly (Uint8Array | string)[];
  /** What a provider's entry in a registry says, by the digest of its text; `within` in milliseconds. Null: not at hand. */
  registry?: (document: string, provider: string) => { signs: boolean; within: number } | null;
}

/** A package as the zip file, in memory. Throws `TooLargeError` above a gigabyte; everything else is in the report's verdict. */
export async function verifyPackage(zip: Blob | Uint8Array, { pinned, providerKeys = [], ...kept }: PackageTrust): Promise<Report> {
  const pins = providerKeys.reduce<Pins>((pins, keys) => now(withProviderKeys(pins, keys)), pinned);
  return checkZip(zip instanceof Blob ? zip : new Blob([zip as Uint8Array<ArrayBuffer>]), { pins, ...kept }, now);
}

/** The hash that the next entry's `prev` says. */
export function entryHash(entry: Entry): string {
  return now(digest(canonical(entry)));
}
