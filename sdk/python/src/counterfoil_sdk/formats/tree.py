"""RFC 6962 trees: roots, and the two proofs that a log owes its readers.

Cases: docs/vectors/trees.
"""

from collections.abc import Callable, Iterator, Sequence

from .encoding import sha256

Node = Callable[[int, int], bytes]
"""Hash of the complete subtree of 2^level leaves that starts at leaf index·2^level."""


def leaf_hash(data: bytes) -> bytes:
    return sha256(b"\x00", data)


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01", left, right)


def root_of(size: int, node: Node) -> bytes:
    """The root of the first `size` leaves."""
    return _span(0, size, node) if size else sha256()


def inclusion_path(index: int, size: int, node: Node) -> list[bytes]:
    return _path(index, 0, size, node)


def verify_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """The path has the leaf's sibling first."""
    if not 0 <= index < size:
        return False
    siblings = iter(path)
    try:
        computed = _climb(leaf, index, size, siblings)
    except StopIteration:
        return False
    return next(siblings, None) is None and computed == root


def consistency_path(old: int, size: int, node: Node) -> list[bytes]:
    return [] if old in (0, size) else _subproof(old, 0, size, node, whole=True)


def verify_consistency(old: int, size: int, path: Sequence[bytes], old_root: bytes, root: bytes) -> bool:
    """Whether a tree of `size` with `root` begins with the tree of `old` with `old_root` (RFC 9162, section 2.1.4.2)."""
    if old > size:
        return False
    if old in (0, size):
        return not path and (old == 0 or old_root == root)
    proof = list(path) if old & (old - 1) else [old_root, *path]
    low, high = old - 1, size - 1
    while low & 1:
        low, high = low >> 1, high >> 1
    if not proof:
        return False
    before = after = proof[0]
    for sibling in proof[1:]:
        if high == 0:
            return False
        if low & 1 or low == high:
            before, after = node_hash(sibling, before), node_hash(sibling, after)
            while low and not low & 1:
                low, high = low >> 1, high >> 1
        else:
            after = node_hash(after, sibling)
        low, high = low >> 1, high >> 1
    return high == 0 and before == old_root and after == root


def split(size: int) -> int:
    """Largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _span(start: int, size: int, node: Node) -> bytes:
    if size & (size - 1) == 0:
        return node(size.bit_length() - 1, start // size)
    left = split(size)
    return node_hash(_span(start, left, node), _span(start + left, size - left, node))


def _path(index: int, start: int, size: int, node: Node) -> list[bytes]:
    if size == 1:
        return []
    left = split(size)
    if index < left:
        return [*_path(index, start, left, node), _span(start + left, size - left, node)]
    return [*_path(index - left, start + left, size - left, node), _span(start, left, node)]


def _subproof(old: int, start: int, size: int, node: Node, *, whole: bool) -> list[bytes]:
    if old == size:
        return [] if whole else [_span(start, size, node)]
    left = split(size)
    if old <= left:
        return [*_subproof(old, start, left, node, whole=whole), _span(start + left, size - left, node)]
    return [*_subproof(old - left, start + left, size - left, node, whole=False), _span(start, left, node)]


def _climb(leaf: bytes, index: int, size: int, siblings: Iterator[bytes]) -> bytes:
    if size == 1:
        return leaf
    left = split(size)
    if index < left:
        return node_hash(_climb(leaf, index, left, siblings), next(siblings))
    below = _climb(leaf, index - left, size - left, siblings)
    return node_hash(next(siblings), below)
