"""Receipts, checked offline under keys that you pinned.

Promised: `verify_receipt` returns only if the statement, its entry and its proof hold together under your key set. Otherwise
it raises `Refused`: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right, but no key
that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that nothing was left
out of the log, or that everybody is shown the same log: for that keep receipts, see `receipts`.
Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from .formats.canonical import canonical, document_value
from .formats.commitment import commitment
from .formats.encoding import base64_text, digest_of
from .formats.envelope import Envelope, envelope_digest, holds_under
from .formats.keys import KeyRefused, KeySet, PublicKey
from .formats.note import Note, NoteError, Signature, parse_log_proof
from .formats.shapes import RECEIPT, Kind, ShapeError, demand, kind_of
from .formats.strict_json import JsonError, Profile, parse
from .formats.tree import leaf_hash, verify_inclusion

__all__ = [
    "JsonError", "KeyRefused", "KeySet", "Profile", "PublicKey", "Refused", "Verified",
    "canonical", "commitment", "document_value", "entry_hash", "parse", "verify_receipt",
]  # fmt: skip

Entry = dict[str, Any]

# A decision is at most this far ahead of its entry, and this far behind.
_MOST_AHEAD = timedelta(seconds=2)
_MOST_BEHIND = timedelta(seconds=15)
# A wrapped statement of 1.5 MiB, its proof, and room.
_MAX_RECEIPT = 2 * 1024 * 1024


@dataclass(frozen=True)
class CheckpointShown:
    origin: str
    size: int
    root: str
    """Standard base64."""
    note: str


@dataclass(frozen=True)
class Verified:
    """What a receipt shows."""

    payload: dict[str, Any]
    digest: str
    """Of the statement's envelope."""
    entry: Entry
    checkpoint: CheckpointShown


class Refused(Exception):
    def __init__(self, answer: Literal["BROKEN", "UNPINNED"], why: str) -> None:
        super().__init__(why)
        self.answer = answer

    @property
    def exit_code(self) -> int:
        """As the program `counterfoil verify` exits."""
        return 40 if self.answer == "BROKEN" else 50


def verify_receipt(receipt: bytes | str, pinned: KeySet) -> Verified:
    try:
        return _verified(receipt, pinned)
    except (JsonError, ShapeError, NoteError, KeyRefused) as error:
        raise Refused("BROKEN", str(error)) from error


def entry_hash(entry: Entry) -> str:
    """The hash that the next entry's `prev` says."""
    return digest_of(canonical(entry))


def demand_log_signature(note: Note, pinned: KeySet) -> None:
    """A pinned log key must have signed; a line of any pinned key that fails spoils the note."""
    lines = [(key.purpose, note.signature(pinned.origin, key.key)) for key in pinned.keys]
    known = [(purpose, signature) for purpose, signature in lines if signature is not Signature.ABSENT]
    if not known:
        raise Refused("UNPINNED", "checkpoint is not signed by a pinned log key")
    _need(all(signature is Signature.HOLDS for _, signature in known), "signature of the checkpoint does not hold")
    _need(any(purpose == "log" for purpose, _ in known), "checkpoint is signed by a key of another purpose than log")


def _need(holds: bool, why: str) -> None:
    if not holds:
        raise Refused("BROKEN", why)


def _verified(text: bytes | str, pinned: KeySet) -> Verified:
    receipt = parse(text, Profile.RECEIPT, _MAX_RECEIPT)
    demand(receipt, RECEIPT, "$")
    statement, entry = receipt["statement"], receipt["entry"]
    # The proof alone may have line breaks.
    parse(canonical(statement), Profile.STRICT, _MAX_RECEIPT)
    parse(canonical(entry), Profile.STRICT)

    payload = statement["payload"]
    kind = kind_of(payload.get("typ")) if isinstance(payload, dict) else None
    if kind is None:
        raise Refused("BROKEN", "statement of no kind that we know")
    demand(payload, kind.members, "$.statement.payload")
    _need(len(canonical(payload)) <= kind.bytes, "statement is too large")

    _signed_by_pinned(statement, kind, entry, pinned)
    _entry_is_of(entry, statement, kind)
    return Verified(payload, entry["body"], entry, _included(entry, receipt["proof"], pinned))


def _signed_by_pinned(statement: Envelope, kind: Kind, entry: Entry, pinned: KeySet) -> None:
    kid = statement["signature"]["kid"]
    signer = pinned.by_kid(kid)
    if signer is None:
        raise Refused("UNPINNED", f"signed by key `{kid}`, which is not pinned")
    _need(signer.purpose == kind.purpose, f"needs a key of purpose {kind.purpose}; this one is for {signer.purpose}")
    counts = (signer.valid_from or "") <= entry["at"] <= (signer.valid_until or "9999")
    _need(counts, f"key `{kid}` did not count at {entry['at']}")
    _need(holds_under(statement, signer.key), "signature of the statement does not hold")
    issuer = statement["payload"].get("iss", pinned.issuer)
    if issuer != pinned.issuer:
        raise Refused("UNPINNED", f"issued by `{issuer}`, not by the pinned `{pinned.issuer}`")


def _entry_is_of(entry: Entry, statement: Envelope, kind: Kind) -> None:
    payload = statement["payload"]
    _need(entry["v"] == 1, "entry of another version")
    _need(entry["project"] == payload["project"], "entry belongs to another project than the statement")
    _need(entry["body"] == envelope_digest(statement), "entry names another statement")
    _need(entry["kind"] == kind.entry.get(payload.get("form", "")), "entry is of another kind than the statement")
    _need(entry["epoch"] == entry["at"][:10], "entry.epoch is not the day of entry.at")
    start = digest_of(f"counterfoil/genesis/v1\n{entry['project']}".encode())
    _need(entry["seq"] > 0 or entry["prev"] == start, "first entry does not follow the start of its project's chain")
    behind = datetime.fromisoformat(entry["at"]) - datetime.fromisoformat(payload["at"])
    is_near = -_MOST_AHEAD <= behind <= _MOST_BEHIND
    _need(entry["kind"] != "decision" or is_near, "decision is more than 2 s ahead of its entry, or 15 s behind")


def _included(entry: Entry, text: str, pinned: KeySet) -> CheckpointShown:
    proof = parse_log_proof(text)
    _need(proof.index == entry["seq"], "proof is for another place than the entry's")
    note = Note(proof.checkpoint)
    checkpoint = note.checkpoint()
    _need(checkpoint.origin == pinned.origin, f"checkpoint is of log `{checkpoint.origin}`, not of `{pinned.origin}`")
    demand_log_signature(note, pinned)
    leaf = leaf_hash(canonical(entry))
    holds = verify_inclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root)
    _need(holds, "entry is not in the tree of the checkpoint")
    return CheckpointShown(checkpoint.origin, checkpoint.size, base64_text(checkpoint.root), proof.checkpoint)
