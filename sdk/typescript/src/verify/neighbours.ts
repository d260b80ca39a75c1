/** Receipts whose entries follow each other. */
import { canonical } from "../format/canonical.js";
import { digest, type Work } from "../format/work.js";
import type { Pins } from "./pins.js";
import { Refused, checkReceipt, type Verified } from "./receipt.js";
import type { Entry } from "./statement.js";

/** Throws `Refused` unless each verifies and each but the first follows the one before. */
export function* checkChain(receipts: readonly (Uint8Array | string)[], pins: Pins): Work<Verified[]> {
  const chain: Verified[] = [];
  for (const receipt of receipts) {
    const verified = yield* checkReceipt(receipt, pins);
    const before = chain.at(-1);
    if (before) yield* follows(verified.entry, before.entry);
    chain.push(verified);
  }
  return chain;
}

/** Throws `Refused` unless the entry is the next one after `before`. */
export function* follows(entry: Entry, before: Entry): Work<null> {
  const place = `entry ${entry.seq}`;
  if (entry.seq !== before.seq + 1) throw new Refused("BROKEN", `${place} stands where entry ${before.seq + 1} is due`);
  const hash = yield* digest(canonical(before));
  if (entry.prev !== hash) throw new Refused("BROKEN", `${place}: its prev is \`${entry.prev}\`, the hash of entry ${before.seq} is \`${hash}\``);
  if (entry.project !== before.project) throw new Refused("BROKEN", `${place} is of another project`);
  if (entry.at < before.at) throw new Refused("BROKEN", `${place}: its time is before that of the entry before`);
  return null;
}
