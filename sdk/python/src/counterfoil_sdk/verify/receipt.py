"""One receipt: statement, entry and proof, under the keys that a reader pinned.

Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
"""

from dataclasses import dataclass
from typing import Any, Literal

from ..formats.canonical import canonical
from ..formats.encoding import base64_text, digest_of
from ..formats.keys import KeyRefused, KeySet
from ..formats.note import Checkpoint, Note, NoteError, Signature, parse_log_proof
from ..formats.shapes import RECEIPT, ShapeError, demand
from ..formats.strict_json import JsonError, Profile, parse
from ..formats.tree import leaf_hash, verify_inclusion
from .statement import Entry, SignedStatement, StatementError, entry_hash, entry_of, genesis, is_skewed, statement_of

UNREADABLE = (JsonError, ShapeError, NoteError, KeyRefused, StatementError)
"""What is wrong with a text that does not read as its format."""

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
    except UNREADABLE as error:
        raise Refused("BROKEN", str(error)) from error


def verify_chain(receipts: list[bytes | str], pinned: KeySet) -> list[Verified]:
    """Receipts of entries that follow each other, in their order: each verifies, and each names the hash of the one before."""
    chain: list[Verified] = []
    for receipt in receipts:
        verified = verify_receipt(receipt, pinned)
        if chain:
            _demand_follows(verified.entry, chain[-1].entry)
        chain.append(verified)
    return chain


def signed_checkpoint(text: str, pinned: KeySet) -> Checkpoint:
    """A note as a checkpoint of this issuer's log, signed by a pinned log key."""
    try:
        note = Note(text)
        checkpoint = note.checkpoint()
    except NoteError as error:
        raise Refused("BROKEN", str(error)) from error
    _need(checkpoint.origin == pinned.origin, f"checkpoint is of log `{checkpoint.origin}`, not of `{pinned.origin}`")
    demand_log_signature(note, pinned)
    return checkpoint


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
    # The proof alone may have line breaks.
    envelope = parse(canonical(receipt["statement"]), Profile.STRICT, _MAX_RECEIPT)
    statement = statement_of(envelope, "$.statement")
    entry = entry_of(parse(canonical(receipt["entry"]), Profile.STRICT), "$.entry")
    digest = digest_of(canonical(envelope))
    _signed_by_pinned(statement, entry, pinned)
    _entry_is_of(entry, statement, digest)
    return Verified(statement.payload, digest, entry, _included(entry, receipt["proof"], pinned))


def _signed_by_pinned(statement: SignedStatement, entry: Entry, pinned: KeySet) -> None:
    kid, kind = statement.kid, statement.kind
    signer = pinned.by_kid(kid)
    if signer is None:
        raise Refused("UNPINNED", f"signed by key `{kid}`, which is not pinned")
    _need(signer.purpose == kind.purpose, f"needs a key of purpose {kind.purpose}; this one is for {signer.purpose}")
    _need(signer.counts_at(entry["at"]), f"key `{kid}` did not count at {entry['at']}")
    _need(statement.holds_under(signer.key), "signature of the statement does not hold")
    issuer = statement.payload.get("iss", pinned.issuer)
    if issuer != pinned.issuer:
        raise Refused("UNPINNED", f"issued by `{issuer}`, not by the pinned `{pinned.issuer}`")


def _entry_is_of(entry: Entry, statement: SignedStatement, digest: str) -> None:
    _need(entry["project"] == statement.payload["project"], "entry belongs to another project than the statement")
    _need(entry["body"] == digest, "entry names another statement")
    _need(entry["kind"] == statement.entry_kind, "entry is of another kind than the statement")
    _need(entry["epoch"] == entry["at"][:10], "entry.epoch is not the day of entry.at")
    is_start = entry["seq"] > 0 or entry["prev"] == genesis(entry["project"])
    _need(is_start, "first entry does not follow the start of its project's chain")
    _need(not is_skewed(statement, entry), "decision is more than 2 s ahead of its entry, or 15 s behind")


def _included(entry: Entry, text: str, pinned: KeySet) -> CheckpointShown:
    proof = parse_log_proof(text)
    _need(proof.index == entry["seq"], "proof is for another place than the entry's")
    checkpoint = signed_checkpoint(proof.checkpoint, pinned)
    leaf = leaf_hash(canonical(entry))
    holds = verify_inclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root)
    _need(holds, "entry is not in the tree of the checkpoint")
    return CheckpointShown(checkpoint.origin, checkpoint.size, base64_text(checkpoint.root), proof.checkpoint)


def _demand_follows(entry: Entry, before: Entry) -> None:
    place, due, end = f"entry {entry['seq']}", before["seq"] + 1, entry_hash(before)
    _need(entry["seq"] == due, f"{place} stands where entry {due} is due")
    _need(entry["prev"] == end, f"{place}: its prev is `{entry['prev']}`, the hash of entry {before['seq']} is `{end}`")
    _need(entry["project"] == before["project"], f"{place} is of another project")
    _need(entry["at"] >= before["at"], f"{place}: its time is before that of the entry before")
