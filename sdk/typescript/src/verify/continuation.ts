/**
 * Whether a log still begins with what somebody holds of it.
 *
 * Tiles prove nothing by themselves. What they say of the older tree counts once it was led up to the newer root: then it is the
 * log's own word, and if what was held says otherwise, the log forked. Before that, the tiles are merely wrong.
 */
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

/** `unproven`: the tiles do not lead to the newer root. */
export type Continuation = "holds" | "forked" | "unproven";

/** What was held, against the newer tree, which `node` reads. `old` is not larger. */
export function* continuation(old: Head, newer: Head, node: Node): Work<Continuation> {
  const root = yield* rootOf(old.size, node);
  const path = yield* consistencyPath(old.size, newer.size, node);
  if (!(yield* verifyConsistency(old.size, newer.size, path, root, newer.root))) return "unproven";
  return same(root, old.root) ? "holds" : "forked";
}

/** What stands in the entry's place. */
export function* placeOf(entry: Entry, head: Head, node: Node): Work<Continuation> {
  if (entry.seq >= head.size) return "unproven";
  const leaf = yield* node(0, entry.seq);
  const path = yield* inclusionPath(entry.seq, head.size, node);
  if (!(yield* verifyInclusion(leaf, entry.seq, head.size, path, head.root))) return "unproven";
  return same(leaf, yield* leafHash(canonical(entry))) ? "holds" : "forked";
}
