"""A signed statement and its entry: what each is, and that they belong together.

Formats: docs/formats/envelope.md, docs/formats/entry.md. Shapes: formats/statements.json.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ..formats.canonical import parse_signed, signed_text
from ..formats.encoding import digest_of, from_base64url
from ..formats.keys import PublicKey
from ..formats.shapes import RECEIPT, Kind, demand, kind_of

Payload = dict[str, Any]
Entry = dict[str, Any]

MAX_BODY = 1536 * 1024 + 4096
"""A wrapped statement of 1.5 MiB and its signature; every kind has its own limit besides."""

# Bodies of these kinds hold nothing personal and can never be erased.
_NEVER_ERASED = frozenset(
    ("finding", "clearance", "resolution", "epoch", "tombstone", "key", "rules", "registry", "kill", "resume", "incident")
)
# A decision is at most this far ahead of its entry, and this far behind, in milliseconds.
_MOST_AHEAD = 2_000
_MOST_BEHIND = 15_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class StatementError(ValueError):
    pass


@dataclass(frozen=True)
class SignedStatement:
    payload: Payload
    kind: Kind
    signed: bytes
    """The canonical payload: what is signed."""
    kid: str
    sig: str

    def holds_under(self, key: PublicKey) -> bool:
        signature = from_base64url(self.sig)
        return signature is not None and key.verify(self.signed, signature)

    @property
    def entry_kind(self) -> str | None:
        """The kind that its entry must have."""
        return self.kind.entry.get(self.payload.get("form", ""))


def statement_of(envelope: Any, path: str) -> SignedStatement:
    """Reads an envelope that a strict reader let through."""
    demand(envelope, RECEIPT["statement"], path)
    payload, signature = envelope["payload"], envelope["signature"]
    kind = kind_of(payload.get("typ")) if isinstance(payload, dict) else None
    if kind is None:
        raise StatementError("statement of no kind that we know")
    demand(payload, kind.members, f"{path}.payload")
    signed = signed_text(payload)
    if len(signed) > kind.bytes:
        raise StatementError("statement is too large")
    return SignedStatement(payload, kind, signed, signature["kid"], signature["sig"])


def statement_in_body(body: str) -> SignedStatement:
    """A body as it is stored: canonical, and of a kind that we know."""
    return statement_of(parse_signed(body, MAX_BODY), "$")


def entry_of(value: Any, path: str) -> Entry:
    demand(value, RECEIPT["entry"], path)
    if value["v"] != 1:
        raise StatementError("entry of another version")
    return dict(value)


def entry_hash(entry: Entry) -> str:
    """The hash that the next entry's `prev` says."""
    return digest_of(signed_text(entry))


def genesis(project: str) -> str:
    """`prev` of a project's first entry."""
    return digest_of(f"counterfoil/genesis/v1\n{project}".encode())


def can_be_erased(kind: str) -> bool:
    return kind not in _NEVER_ERASED


def is_skewed(statement: SignedStatement, entry: Entry) -> bool:
    """Whether a decision is too far from its entry for the entry to have been accepted."""
    if statement.payload["typ"] != "decision/v1":
        return False
    return not -_MOST_AHEAD <= millis(entry["at"]) - millis(statement.payload["at"]) <= _MOST_BEHIND


def millis(time: str) -> int:
    """A time of our formats as milliseconds since 1970."""
    return (datetime.fromisoformat(time) - _EPOCH) // _MILLISECOND
