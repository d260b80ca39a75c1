"""What the record has about one decision, without the bodies. Times are those of entries, in milliseconds."""

from dataclasses import dataclass, field
from typing import Literal

from .statement import Entry, Payload, millis

Account = Literal["governed", "rehearsal", "break_glass"]


@dataclass(frozen=True)
class Decided:
    digest: str
    seq: int
    at: int
    action: str
    provider: str | None
    tool: str | None
    args: str | None
    """A commitment."""
    mode: str
    account: Account
    is_cleared: bool
    """Whether the call may go out: ALLOW, or any verdict that a recorded shadow window made advisory."""
    quoted: int | None = None
    """What the quote was opened to; None where there is none or it is sealed."""


@dataclass(frozen=True)
class Observed:
    digest: str
    seq: int
    at: int
    status: str
    is_error: bool
    result: str | None


@dataclass(frozen=True)
class Standing:
    """What a statement's signature is worth at its place."""

    signer: str | None = None
    """Whose key it holds under; None if under none that counts."""
    has_ended: bool = False
    """It holds, and the key had ended."""

    @property
    def holds(self) -> bool:
        return self.signer is not None


@dataclass(frozen=True)
class Stated:
    digest: str
    """Of the body: the wrapper `received/v1`."""
    seq: int
    at: int
    standing: Standing
    action: str | None
    decision: str | None
    provider: str | None
    tool: str | None
    args: str | None
    result: str | None
    outcome: str
    fingerprint: str
    charged: int | None = None

    def is_by(self, provider: str | None) -> bool:
        """Whether its signer is that provider, and speaks for itself."""
        return self.standing.signer == provider and self.provider in (None, self.standing.signer)


@dataclass
class Matter:
    """A decision with everything that names it."""

    decided: Decided
    observed: Observed | None = None
    """Of several the first by entry counts."""
    stated: list[Stated] = field(default_factory=list)


def is_cleared(decision: Payload) -> bool:
    return bool(decision["verdict"] == "ALLOW" or decision["effect"] == "advisory")


def account_of(decision: Payload) -> Account:
    if "break_glass" in decision["marks"]:
        return "break_glass"
    return "rehearsal" if decision["verdict"] != "ALLOW" and decision["effect"] == "advisory" else "governed"


def decided_by(decision: Payload, entry: Entry) -> Decided:
    return Decided(
        digest=entry["body"], seq=entry["seq"], at=millis(entry["at"]), action=decision["action"],
        provider=decision["provider"], tool=decision["tool"], args=decision["args"], mode=decision["mode"],
        account=account_of(decision), is_cleared=is_cleared(decision),
    )  # fmt: skip


def observed_by(seen: Payload, entry: Entry) -> Observed:
    is_error = seen["is_error"] is True
    return Observed(entry["body"], entry["seq"], millis(entry["at"]), seen["status"], is_error, seen["result"])
