/** The right edge of a growing tree: enough to append leaves and to know the root. At most 53 nodes. */
import { sha256, type Work } from "./work.js";
import type { Octets } from "./octets.js";
import { nodeHash, split, verifyConsistency } from "./tree.js";

export class Frontier {
  private constructor(
    /** Number of leaves. */
    private count: number,
    /** One node for each binary 1 of the size, from the highest digit down. */
    private readonly edges: Octets[],
  ) {}

  static empty(): Frontier {
    return new Frontier(0, []);
  }

  /** The edge of an older tree, out of the proof that a newer one continues it; null if the proof does not hold. */
  static *ofConsistency(old: number, size: number, path: readonly Octets[], oldRoot: Octets, root: Octets): Work<Frontier | null> {
    if (!(yield* verifyConsistency(old, size, path, oldRoot, root))) return null;
    if (old === 0) return Frontier.empty();
    // Two equal trees need no proof, and nothing is appended to this edge.
    if (old === size) return new Frontier(old, [oldRoot]);
    const edges = edgesIn(old, size, path, oldRoot);
    return edges && new Frontier(old, edges);
  }

  get size(): number {
    return this.count;
  }

  copy(): Frontier {
    return new Frontier(this.count, [...this.edges]);
  }

  *root(): Work<Octets> {
    let root: Octets | null = null;
    for (const edge of this.edges.toReversed()) root = root === null ? edge : yield* nodeHash(edge, root);
    return root ?? (yield* sha256(""));
  }

  /** Appends one leaf hash. Costs one more hash on average. */
  *grow(leaf: Octets): Work<null> {
    let hash = leaf;
    // An odd index is a right child: its left sibling is the smallest edge, and both become their parent.
    for (let index = this.count; index % 2 === 1; index = (index - 1) / 2) hash = yield* nodeHash(this.edges.pop()!, hash);
    this.edges.push(hash);
    this.count += 1;
    return null;
  }
}

/** A consistency path contains the old tree's edges: the node that it starts from, and every left sibling. */
function edgesIn(old: number, size: number, path: readonly Octets[], oldRoot: Octets): Octets[] | null {
  let [low, high] = [0, size];
  const isLeft: boolean[] = [];
  while (high !== old) {
    const middle = low + split(high - low);
    isLeft.push(old > middle);
    if (old <= middle) high = middle;
    else low = middle;
  }
  const [smallest, ...siblings] = low === 0 ? [oldRoot, ...path] : path;
  if (!smallest || siblings.length !== isLeft.length) return null;
  return [...siblings.toReversed().filter((_, at) => isLeft[at]), smallest];
}
