/** Whether a log still begins with what somebody holds of it. */
import { canonical } from "../format/canonical.js";
import { same, type Octets } from "../format/octets.js";
import {
  consistencyPath, inclusionPath, leafHash, rootOf, verifyConsistency, verifyInclusion, type Node,
} from "../format/tree.js";
import type { Work } from "../format/work.js";
import type { Entry } from "./statement.js";

export interface Head {
  size: number;
  root: Octets;
}

/** `node` reads the newer tree. */
export function* isContinuation(old: Head, newer: Head, node: Node): Work<boolean> {
  // A tree that its own tiles do not add up to proves nothing either way, and is a contradiction of its own.
  if (!same(yield* rootOf(newer.size, node), newer.root)) return false;
  const path = yield* consistencyPath(old.size, newer.size, node);
  return yield* verifyConsistency(old.size, newer.size, path, old.root, newer.root);
}

/** Whether the entry stands in its place. */
export function* isLeaf(entry: Entry, head: Head, node: Node): Work<boolean> {
  const path = yield* inclusionPath(entry.seq, head.size, node);
  return yield* verifyInclusion(yield* leafHash(canonical(entry)), entry.seq, head.size, path, head.root);
}
