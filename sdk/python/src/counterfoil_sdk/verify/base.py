"""Where a package stands: both checkpoints under pinned keys, what the holder kept, and the small files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..formats.encoding import base64_text, from_base64
from ..formats.frontier import Frontier
from ..formats.keys import KeyRefused, KeySet
from ..formats.note import Checkpoint
from ..formats.shapes import RECEIPT, ShapeError, demand
from ..formats.strict_json import JsonError, Profile, parse
from .archive import Archive
from .contents import MANIFEST, PROVIDER_KEYS, TOMBSTONES, Registries, document_in, needed, text_in
from .receipt import Refused, Verified, signed_checkpoint, verify_receipt
from .report import ANCHORS, CHARGES, GRANTS, REPLAY, Ended, Report, broken, forked, unpinned
from .statement import entry_hash

_MAX_MANIFEST = 16 * 1024 * 1024


@dataclass(frozen=True)
class Trust:
    """What the holder brings. Nothing inside a package adds to it."""

    pinned: KeySet
    """Our keys, and those providers' keys (purpose `execution`) that the holder got from the providers themselves."""
    since: str | None
    """A checkpoint that the holder kept, as the signed note: the record must pass through it."""
    held: Sequence[bytes | str]
    """Receipts that the holder kept: each must stand in its place."""
    registry: Registries


class Base:
    def __init__(self, files: Archive, trust: Trust) -> None:
        self.note = text_in("new.checkpoint", needed(files, "new.checkpoint"))
        self.end = _checkpoint("new.checkpoint", self.note, trust.pinned)
        self.manifest, self.manifest_signature = _manifest(needed(files, "manifest.json"))
        self.tombstones: list[dict[str, Any]] = (
            document_in("tombstones", needed(files, "tombstones"), TOMBSTONES) if "tombstones" in files else []
        )
        self.jwks = _key_set(needed(files, "jwks.json"))
        providers = document_in("provider-keys.json", needed(files, "provider-keys.json"), PROVIDER_KEYS)
        self.provider_keys: list[dict[str, Any]] = providers["keys"]
        self.frontier = Frontier()
        """The tree before the first entry."""
        self.held_roots: dict[int, tuple[bytes, str]] = {}
        """Roots that the holder has seen signed, by size, with their notes."""
        self.held_entries: dict[int, tuple[str, str]] = {}
        """Hashes of entries that the holder has receipts for, with the notes they stand under."""
        self._incomplete: list[str] = []
        if "old.checkpoint" in files:
            self._starts_at(text_in("old.checkpoint", needed(files, "old.checkpoint")), files, trust.pinned)
        self._keep(trust)
        said = (self.manifest["iss"], self.manifest["first"], self.manifest["size"])
        if said != (trust.pinned.issuer, self.first, self.end.size):
            raise broken("manifest.json is of another package than its checkpoints")

    @property
    def first(self) -> int:
        """Number of the first entry."""
        return self.frontier.size

    def report(self) -> Report:
        before = [f"what was in force at entry {self.first}, where the package starts"] if self.first else []
        return Report(
            self.manifest["iss"],
            first=self.first,
            size=self.end.size,
            root=base64_text(self.end.root),
            incomplete=list(self._incomplete),
            not_checked=[ANCHORS, REPLAY, GRANTS, CHARGES, *before],
        )

    def _starts_at(self, note: str, files: Archive, pinned: KeySet) -> None:
        old, end = _checkpoint("old.checkpoint", note, pinned), self.end
        head, blank, newer = text_in("consistency", needed(files, "consistency")).partition("\n\n")
        if not blank:
            raise broken("consistency has no blank line")
        first, *lines = head.split("\n")
        if first != f"old {old.size}" or newer != self.note:
            raise broken("consistency is not between these two checkpoints")
        path = [data for data in map(from_base64, lines) if data is not None and len(data) == 32]
        if len(path) < len(lines):
            raise broken("consistency has a line that is no hash")
        if old.size == end.size and old.root != end.root:
            raise forked(note, self.note)
        frontier = Frontier.of_consistency(old.size, end.size, path, old.root, end.root)
        if frontier is None:
            raise broken("consistency: path does not lead from one root to the other")
        self.frontier = frontier

    def _keep(self, trust: Trust) -> None:
        """Takes in what the holder kept, and says what of it this package cannot reach."""
        if trust.since:
            kept = _checkpoint("the checkpoint that you hold", trust.since, trust.pinned)
            self._keep_root(kept.size, kept.root, trust.since)
        for receipt in trust.held:
            verified = _held(receipt, trust.pinned)
            seq, shown = verified.entry["seq"], verified.checkpoint
            root = from_base64(shown.root)
            assert root is not None, "it was written as base64"
            self._keep_root(shown.size, root, shown.note)
            if seq >= self.end.size:
                self._incomplete.append(f"you hold a receipt of entry {seq}, and the package ends before")
            self.held_entries[seq] = (entry_hash(verified.entry), shown.note)

    def _keep_root(self, size: int, root: bytes, note: str) -> None:
        if size > self.end.size:
            self._incomplete.append(f"you hold a checkpoint of {size} entries, the package ends before")
        if size < self.first:
            self._incomplete.append(f"you hold a checkpoint of {size} entries, the package starts after")
        other_root, other_note = self.held_roots.get(size, (root, note))
        if other_root != root:
            raise forked(other_note, note)
        if size == self.first and self.frontier.root() != root:
            raise forked(self.note, note)
        self.held_roots[size] = (root, note)


def _manifest(data: bytes) -> tuple[dict[str, Any], tuple[str, str]]:
    try:
        envelope = parse(data, Profile.STRICT, _MAX_MANIFEST)
        demand(envelope, RECEIPT["statement"], "$")
        demand(envelope["payload"], MANIFEST, "$.payload")
    except (JsonError, ShapeError) as error:
        raise broken(f"manifest.json: {error}") from None
    return envelope["payload"], (envelope["signature"]["kid"], envelope["signature"]["sig"])


def _key_set(data: bytes) -> KeySet:
    try:
        return KeySet.parse(data)
    except (JsonError, KeyRefused) as error:
        raise broken(f"jwks.json: {error}") from None


def _checkpoint(name: str, note: str, pinned: KeySet) -> Checkpoint:
    try:
        return signed_checkpoint(note, pinned)
    except Refused as refused:
        raise _named(name, refused) from None


def _held(receipt: bytes | str, pinned: KeySet) -> Verified:
    try:
        return verify_receipt(receipt, pinned)
    except Refused as refused:
        raise _named("a receipt that you hold", refused) from None


def _named(name: str, refused: Refused) -> Ended:
    why = f"{name}: {refused}"
    return broken(why) if refused.answer == "BROKEN" else unpinned(why)
