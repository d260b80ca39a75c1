"""The right edge of a growing tree: enough to append leaves and to know the root. At most 53 nodes."""

from collections.abc import Iterable, Sequence

from .encoding import sha256
from .tree import node_hash, split, verify_consistency


class Frontier:
    def __init__(self, size: int = 0, edges: Iterable[bytes] = ()) -> None:
        self.size = size
        """Number of leaves."""
        # One node for each binary 1 of the size, from the highest digit down.
        self._edges = list(edges)

    @classmethod
    def of_consistency(
        cls, old: int, size: int, path: Sequence[bytes], old_root: bytes, root: bytes
    ) -> "Frontier | None":
        """The edge of an older tree, out of the proof that a newer one continues it; None if the proof does not hold."""
        if not verify_consistency(old, size, path, old_root, root):
            return None
        if old == 0:
            return cls()
        # Two equal trees need no proof, and nothing is appended to this edge.
        if old == size:
            return cls(old, [old_root])
        edges = _edges_in(old, size, path, old_root)
        return None if edges is None else cls(old, edges)

    def copy(self) -> "Frontier":
        return Frontier(self.size, self._edges)

    def root(self) -> bytes:
        if not self._edges:
            return sha256()
        *left, root = self._edges
        for edge in reversed(left):
            root = node_hash(edge, root)
        return root

    def grow(self, leaf: bytes) -> None:
        """Appends one leaf hash. Costs one more hash on average."""
        index = self.size
        # An odd index is a right child: its left sibling is the smallest edge, and both become their parent.
        while index % 2:
            leaf, index = node_hash(self._edges.pop(), leaf), index // 2
        self._edges.append(leaf)
        self.size += 1


def _edges_in(old: int, size: int, path: Sequence[bytes], old_root: bytes) -> list[bytes] | None:
    """A consistency path contains the old tree's edges: the node that it starts from, and every left sibling."""
    low, high = 0, size
    is_left: list[bool] = []
    while high != old:
        middle = low + split(high - low)
        is_left.append(old > middle)
        low, high = (middle, high) if old > middle else (low, middle)
    nodes = [old_root, *path] if low == 0 else list(path)
    if len(nodes) != len(is_left) + 1:
        return None
    smallest, *siblings = nodes
    # The path has the sibling nearest to the leaves first, `is_left` the one nearest to the root.
    return [edge for edge, left in zip(reversed(siblings), is_left, strict=True) if left] + [smallest]
