"""What verification of a package found, for people and programs."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Answer = Literal["UNANCHORED", "INCOMPLETE", "OMITTED", "FORKED", "BROKEN", "UNPINNED"]
"""COMPLETE_SINCE (0) needs witnesses, which packages of this version do not carry."""

EXIT_CODES: dict[Answer, int] = {
    "UNANCHORED": 10, "INCOMPLETE": 20, "OMITTED": 21, "FORKED": 30, "BROKEN": 40, "UNPINNED": 50,
}  # fmt: skip

ANCHORS = "that the record ends here: no witness and no tick is in the package"
REPLAY = "that rules and facts give these verdicts: nothing was evaluated again"
GRANTS = "that the grants were those in force: only their digests are here"
CHARGES = "that nothing was charged above its quote: amounts are sealed"
ABSENCES = "that no statement is missing: some are withheld or erased"


@dataclass(frozen=True)
class Found:
    """A disagreement: what a `finding/v1` has to say."""

    code: str
    action: str | None
    """None only where the statement names no id of ours."""
    statement: str
    """Digest of the body that it is about."""
    seq: int
    since: int
    """The entry time, or the deadline, from which on it is one; milliseconds."""


@dataclass(frozen=True)
class Verdict:
    answer: Answer
    why: str
    """The first thing that decides it, as a sentence without a full stop."""
    notes: tuple[str, ...] = ()
    """For FORKED: two signed notes that contradict each other."""
    found: Found | None = None
    """For OMITTED: the finding that stands nowhere."""


@dataclass(frozen=True)
class ProviderPin:
    provider: str
    thumbprint: str
    pinned_by: Literal["holder", "operator"]
    """`operator`: the log operator alone vouches; it could have imported a key of its own under the provider's name."""


@dataclass
class Report:
    issuer: str
    verdict: Verdict = Verdict("INCOMPLETE", "nothing was read")
    first: int = 0
    """Number of the first entry."""
    size: int = 0
    """One more than the number of the last."""
    root: str | None = None
    """Standard base64; None where no checkpoint was read."""
    verified: int = 0
    """Entries whose body is there and was checked."""
    withheld: int = 0
    """Entries with a body of somebody else that is not shown."""
    erased: int = 0
    """Entries whose body was erased, under a tombstone."""
    calls: dict[str, int] = field(default_factory=dict)
    """Calls by account and how they ended: `governed matched`."""
    findings: dict[str, int] = field(default_factory=dict)
    """Findings that stand in the record, by code."""
    open: int = 0
    """Calls at the edges that are not over yet."""
    open_actions: list[str] = field(default_factory=list)
    """The first twenty of them."""
    providers: list[ProviderPin] = field(default_factory=list)
    incomplete: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    """Sentences about what was not checked, and why."""

    @property
    def exit_code(self) -> int:
        """As the program `counterfoil verify` exits."""
        return EXIT_CODES[self.verdict.answer]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "exit": self.exit_code}


class Ended(Exception):
    """Verification ends before the end."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.why)
        self.verdict = verdict


def broken(why: str) -> Ended:
    return Ended(Verdict("BROKEN", why))


def unpinned(why: str) -> Ended:
    return Ended(Verdict("UNPINNED", why))


def incomplete(why: str) -> Ended:
    return Ended(Verdict("INCOMPLETE", why))


def forked(*notes: str) -> Ended:
    return Ended(Verdict("FORKED", "two notes of one log contradict each other", notes))


class Fault(Exception):
    """The first thing that is not right about one entry."""

    def __init__(self, why: str, kind: Literal["broken", "unknown", "untrusted"] = "broken") -> None:
        super().__init__(why)
        self.kind = kind
        """`unknown`: no entry before introduced its key. Nobody whom the holder trusts vouches for the last two."""
