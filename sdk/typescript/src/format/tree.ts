/**
 * RFC 6962 trees: roots, and the two proofs that a log owes its readers.
 *
 * A node that cannot be had makes a root or path fail; a proof is believed only when it was recomputed.
 * Cases: docs/vectors/trees.
 */
import { same, type Octets } from "./octets.js";
import { sha256, type Work } from "./work.js";

/** Hash of the complete subtree of 2^level leaves that starts at leaf index·2^level. */
export type Node = (level: number, index: number) => Work<Octets>;

export function leafHash(data: Uint8Array | string): Work<Octets> {
  return sha256("\0", data);
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Work<Octets> {
  return sha256("\x01", left, right);
}

/** The root of the first `size` leaves. */
export function* rootOf(size: number, node: Node): Work<Octets> {
  return size === 0 ? yield* sha256("") : yield* spanHash(0, size, node);
}

export function* inclusionPath(index: number, size: number, node: Node): Work<Octets[]> {
  return yield* pathIn(index, 0, size, node);
}

/** Leaf's sibling first. */
export function* verifyInclusion(
  leaf: Octets, index: number, size: number, path: readonly Octets[], root: Uint8Array,
): Work<boolean> {
  if (index >= size) return false;
  const used = { count: 0 };
  const computed = yield* climb(leaf, index, size, path, used);
  return computed !== null && used.count === path.length && same(computed, root);
}

export function* consistencyPath(old: number, size: number, node: Node): Work<Octets[]> {
  return old === 0 || old === size ? [] : yield* subProof(old, 0, size, node, true);
}

/** Whether a tree of `size` with `root` begins with the tree of `old` with `oldRoot` (RFC 9162, section 2.1.4.2). */
export function* verifyConsistency(
  old: number, size: number, path: readonly Octets[], oldRoot: Octets, root: Uint8Array,
): Work<boolean> {
  if (old > size) return false;
  if (old === size) return path.length === 0 && same(oldRoot, root);
  if (old === 0) return path.length === 0;
  const proof = isPowerOfTwo(old) ? [oldRoot, ...path] : [...path];
  let [low, high] = [old - 1, size - 1];
  while (low % 2 === 1) [low, high] = [half(low), half(high)];
  const first = proof.shift();
  if (!first) return false;
  let [before, after] = [first, first];
  for (const sibling of proof) {
    if (high === 0) return false;
    if (low % 2 === 1 || low === high) {
      [before, after] = [yield* nodeHash(sibling, before), yield* nodeHash(sibling, after)];
      while (low !== 0 && low % 2 === 0) [low, high] = [half(low), half(high)];
    } else {
      after = yield* nodeHash(after, sibling);
    }
    [low, high] = [half(low), half(high)];
  }
  return high === 0 && same(before, oldRoot) && same(after, root);
}

const half = (n: number) => Math.floor(n / 2);
const isPowerOfTwo = (n: number) => Number.isInteger(Math.log2(n));

/** Largest power of two below `size`. */
export function split(size: number): number {
  let at = 1;
  while (at * 2 < size) at *= 2;
  return at;
}

function* spanHash(start: number, size: number, node: Node): Work<Octets> {
  if (isPowerOfTwo(size)) return yield* node(Math.log2(size), start / size);
  const left = split(size);
  return yield* nodeHash(yield* spanHash(start, left, node), yield* spanHash(start + left, size - left, node));
}

function* pathIn(index: number, start: number, size: number, node: Node): Work<Octets[]> {
  if (size === 1) return [];
  const left = split(size);
  if (index < left) return [...(yield* pathIn(index, start, left, node)), yield* spanHash(start + left, size - left, node)];
  return [...(yield* pathIn(index - left, start + left, size - left, node)), yield* spanHash(start, left, node)];
}

function* subProof(old: number, start: number, size: number, node: Node, isWhole: boolean): Work<Octets[]> {
  if (old === size) return isWhole ? [] : [yield* spanHash(start, size, node)];
  const left = split(size);
  if (old <= left) {
    return [...(yield* subProof(old, start, left, node, isWhole)), yield* spanHash(start + left, size - left, node)];
  }
  return [...(yield* subProof(old - left, start + left, size - left, node, false)), yield* spanHash(start, left, node)];
}

/** The path is consumed from the leaf up, as the recursion returns. */
function* climb(
  leaf: Octets, index: number, size: number, path: readonly Octets[], used: { count: number },
): Work<Octets | null> {
  if (size === 1) return leaf;
  const left = split(size);
  const isLeft = index < left;
  const below = isLeft ? yield* climb(leaf, index, left, path, used) : yield* climb(leaf, index - left, size - left, path, used);
  const sibling = path[used.count];
  if (!below || !sibling) return null;
  used.count += 1;
  return isLeft ? yield* nodeHash(below, sibling) : yield* nodeHash(sibling, below);
}
