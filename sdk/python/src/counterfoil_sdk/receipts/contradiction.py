"""Whether a log still begins with what somebody holds of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ..formats.canonical import canonical
from ..formats.note import Checkpoint
from ..formats.tree import (
    Node,
    consistency_path,
    inclusion_path,
    leaf_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from ..verify import Verified
from .tiles import Tiles


@dataclass(frozen=True)
class Alarm:
    kind: Literal["shrank", "forked", "missing"]
    """Smaller than it was; not a continuation; an entry that we hold stands elsewhere."""
    notes: tuple[str, str]
    """The signed notes that cannot both be true of one log."""
    seq: int | None = None
    """Where, for `missing`."""


@dataclass(frozen=True)
class HeldNote:
    note: str
    checkpoint: Checkpoint


async def contradiction(
    held: HeldNote | None, newest: HeldNote, receipts: Sequence[Verified], tiles: Tiles
) -> Alarm | None:
    size, root = newest.checkpoint.size, newest.checkpoint.root
    if held is not None:
        old, old_root = held.checkpoint.size, held.checkpoint.root

        def continues(node: Node) -> bool:
            # A tree that its own tiles do not add up to proves nothing either way, and is a contradiction of its own.
            is_whole = root_of(size, node) == root
            return is_whole and verify_consistency(old, size, consistency_path(old, size, node), old_root, root)

        if size < old:
            return Alarm("shrank", (held.note, newest.note))
        if not await tiles.compute(continues):
            return Alarm("forked", (held.note, newest.note))
    for receipt in receipts:
        seq, leaf, note = receipt.entry["seq"], leaf_hash(canonical(receipt.entry)), receipt.checkpoint.note
        if seq >= size:
            return Alarm("shrank", (note, newest.note), seq)
        path = await tiles.compute(partial(inclusion_path, seq, size))
        if not verify_inclusion(leaf, seq, size, path, root):
            return Alarm("missing", (note, newest.note), seq)
    return None
