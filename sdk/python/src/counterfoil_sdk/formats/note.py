"""Signed notes, checkpoints and tlog-proofs (C2SP).

Promised: a checkpoint that `read_checkpoint` returns is signed under its origin by the key that was asked for; lines of other
keys are ignored, a failing line of this key spoils the note. Not promised: that everybody was shown the same.
Format and cases: docs/formats/checkpoint.md, docs/vectors/checkpoints.
"""

import re
from dataclasses import dataclass
from enum import Enum

from .encoding import base64_text, from_base64, sha256
from .keys import PublicKey
from .signer import SigningKey

_ED25519 = b"\x01"
_MAX_NOTE = 64 * 1024
# White space spelled out: languages differ about \s.
_LINE = re.compile(r"— ([^\x00-\x20+\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+) ([A-Za-z0-9+/]+=*)")
_NUMBER = re.compile("0|[1-9][0-9]{0,15}")


class NoteError(ValueError):
    pass


@dataclass(frozen=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes


class Signature(Enum):
    HOLDS = "holds"
    FAILS = "fails"
    ABSENT = "absent"


def key_id(name: str, key: PublicKey) -> bytes:
    return sha256(name.encode(), b"\n", _ED25519, key.bytes)[:4]


def verifier_key(name: str, key: PublicKey) -> str:
    """`<name>+<8 hex key id>+<base64(0x01 ‖ key)>`"""
    return f"{name}+{key_id(name, key).hex()}+{base64_text(_ED25519 + key.bytes)}"


class Note:
    def __init__(self, note: str) -> None:
        if len(note.encode("utf-8", "surrogatepass")) > _MAX_NOTE:
            raise NoteError("note is larger than 64 KiB")
        if re.search("[\x00-\x09\x0b-\x1f]", note):
            raise NoteError("note has a control character")
        text, blank, signatures = note.rpartition("\n\n")
        if not blank or not signatures.endswith("\n"):
            raise NoteError("note is not signed")
        self.text = text + "\n"
        """What is signed, its last newline included."""
        self._lines = [_signature_line(line) for line in signatures[:-1].split("\n")]

    def signature(self, name: str, key: PublicKey) -> Signature:
        ours = [signature for who, number, signature in self._lines if (who, number) == (name, key_id(name, key))]
        if not ours:
            return Signature.ABSENT
        message = self.text.encode()
        return Signature.HOLDS if all(key.verify(message, signature) for signature in ours) else Signature.FAILS

    def checkpoint(self) -> Checkpoint:
        """Reads the body as a checkpoint, believing nothing."""
        lines = self.text[:-1].split("\n")
        if len(lines) < 3:
            raise NoteError("checkpoint does not read as origin, size, root")
        origin, size, root, *more = lines
        data = from_base64(root)
        is_number = _NUMBER.fullmatch(size) is not None and int(size) < 2**53
        if not origin or not is_number or data is None or len(data) != 32 or "" in more:
            raise NoteError("checkpoint does not read as origin, size, root")
        return Checkpoint(origin, int(size), data)


def read_checkpoint(note: str, key: PublicKey) -> Checkpoint:
    """The checkpoint of a note that this key signed."""
    parsed = Note(note)
    checkpoint = parsed.checkpoint()
    if parsed.signature(checkpoint.origin, key) is not Signature.HOLDS:
        raise NoteError("checkpoint is not signed by this key")
    return checkpoint


def sign_checkpoint(checkpoint: Checkpoint, key: SigningKey) -> str:
    """A signed checkpoint; for logs in tests, and for whoever runs one."""
    text = f"{checkpoint.origin}\n{checkpoint.size}\n{base64_text(checkpoint.root)}\n"
    line = key_id(checkpoint.origin, key.public_key) + key.sign(text.encode())
    return f"{text}\n— {checkpoint.origin} {base64_text(line)}\n"


@dataclass(frozen=True)
class LogProof:
    index: int
    path: tuple[bytes, ...]
    checkpoint: str
    """The signed note, as it was written."""


def parse_log_proof(text: str) -> LogProof:
    malformed = NoteError("proof does not read as a C2SP tlog-proof")
    head, blank, checkpoint = text.partition("\n\n")
    header, *lines = head.split("\n")
    # An `extra` line is allowed, unauthenticated, and of no use to us.
    if lines and lines[0].startswith("extra "):
        lines = lines[1:]
    if not blank or header != "c2sp.org/tlog-proof@v1" or not lines:
        raise malformed
    index = lines[0].removeprefix("index ")
    path = [from_base64(line) for line in lines[1:]]
    if not lines[0].startswith("index ") or not _NUMBER.fullmatch(index):
        raise malformed
    if any(data is None or len(data) != 32 for data in path):
        raise malformed
    return LogProof(int(index), tuple(data for data in path if data is not None), checkpoint)


def _signature_line(line: str) -> tuple[str, bytes, bytes]:
    found = _LINE.fullmatch(line)
    data = from_base64(found.group(2)) if found else None
    if not found or data is None or len(data) < 5:
        raise NoteError("a signature line of the note is malformed")
    return found.group(1), data[:4], data[4:]
