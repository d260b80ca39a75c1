"""Reconciliation: decision, observation and execution of one call, matched three ways.

Promised: total and pure; two readers of one record come to the same answer, in whatever order it is handed in.
Not promised: that parties who agree say the truth.
Steps and table: docs/formats/reconciliation.md; each row is a case in docs/vectors/reconciliation.
"""

from dataclasses import dataclass, field
from typing import Literal

from ..formats.shapes import code_order
from .matter import Account, Decided, Matter, Observed, Stated
from .report import Found

Status = Literal[
    "matched", "late", "unsigned", "waiting", "missing", "outcome_unknown", "contradicted", "against_verdict"
]

DEFAULT_SIGN_WITHIN = 10 * 60 * 1000
"""How long a provider has to sign where its entry in the registry names no other time, in milliseconds."""

_RAN = ("EXECUTED", "FAILED")


@dataclass(frozen=True)
class Terms:
    """What the registry that was in force for the decision says of its provider."""

    owes: bool
    sign_within: int = DEFAULT_SIGN_WITHIN


@dataclass(frozen=True)
class Cleared:
    """A finding that, if it stands, is closed by what came."""

    code: str
    about: str
    by: str
    seq: int


@dataclass
class Reconciled:
    status: Status
    account: Account
    findings: list[Found] = field(default_factory=list)
    """In the order of the places of what they are about."""
    clears: list[Cleared] = field(default_factory=list)
    again_after: int | None = None
    """Where time alone can change the answer: when to ask again."""


@dataclass
class _Series:
    """The provider's own statements about one decision, repeats left out."""

    distinct: list[Stated] = field(default_factory=list)
    word: Stated | None = None
    """The provider's word: the first statement, or the EXECUTED that followed an ABANDONED."""
    given_up: Stated | None = None
    """The ABANDONED that an EXECUTED followed."""


def stray(stated: Stated) -> Found:
    """Step 1, for a statement that names no decision of this project."""
    return _about(stated.action, stated, "EXECUTION_WITHOUT_DECISION")


def reconcile(matter: Matter, terms: Terms, now: int, *, is_watched: bool) -> Reconciled:
    """Steps 2 to 5. `is_watched`: the gateway that decided may still observe. `now` by entry time, in milliseconds."""
    decided = matter.decided
    found = Reconciled("matched", decided.account)
    good: list[Stated] = []
    for stated in sorted(matter.stated, key=lambda stated: stated.seq):
        if objection := _objection(decided, stated):
            found.findings.append(_about(decided.action, stated, objection))
        else:
            good.append(stated)
    series = _series(decided, good, found)
    for stated in series.distinct:
        _compare(matter, stated, found)
    if decided.is_cleared:
        _cleared(matter, series, terms, now, found, is_watched=is_watched)
    else:
        _not_cleared(matter, series, found)
    found.findings.sort(key=lambda one: (one.seq, code_order(one.code)))
    return found


def _about(action: str | None, stated: Stated, code: str, since: int | None = None) -> Found:
    return Found(code, action, stated.digest, stated.seq, stated.at if since is None else since)


def _objection(decided: Decided, stated: Stated) -> str | None:
    """Step 2: a statement to which there is an objection counts as if it had not been made."""
    if not stated.standing.holds:
        return "REVOKED_KEY" if stated.standing.has_ended else "INVALID_VENDOR_SIGNATURE"
    return None if stated.is_by(decided.provider) else "WRONG_SIGNER"


def _series(decided: Decided, good: list[Stated], found: Reconciled) -> _Series:
    """The first half of step 3: several statements about one decision, in the order of their places."""
    series, fingerprints = _Series(), set[str]()
    for stated in good:
        # A retry says the same again: it counts once.
        if stated.fingerprint in fingerprints:
            continue
        fingerprints.add(stated.fingerprint)
        series.distinct.append(stated)
        word = series.word
        if word is None:
            series.word = stated
        elif (word.outcome, stated.outcome) == ("ABANDONED", "EXECUTED"):
            # Given up, and done after all: that is honest.
            series.given_up, series.word = word, stated
        else:
            code = "DUPLICATE_EXECUTION" if word.outcome == stated.outcome else "CONTRADICTING_EXECUTIONS"
            found.findings.append(_about(decided.action, stated, code))
    return series


def _compare(matter: Matter, stated: Stated, found: Reconciled) -> None:
    """The second half of step 3: arguments, result, charge. What one side does not give is not compared."""
    decided, observed = matter.decided, matter.observed
    is_other_tool = stated.tool not in (None, decided.tool)
    if is_other_tool or _differ(decided.args, stated.args):
        found.findings.append(_about(decided.action, stated, "ARGUMENTS_DIFFER"))
    if observed and _differ(observed.result, stated.result):
        found.findings.append(_about(decided.action, stated, "RESULT_DIFFERS", max(observed.at, stated.at)))
    if decided.quoted is not None and stated.charged is not None and stated.charged > decided.quoted:
        found.findings.append(_about(decided.action, stated, "CHARGE_MISMATCH"))


def _differ(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one != other


def _not_cleared(matter: Matter, series: _Series, found: Reconciled) -> None:
    """Step 4: what ran all the same is named, whether the provider says so or the gateway saw it being sent."""
    code, action, observed = "EXECUTED_AGAINST_VERDICT", matter.decided.action, matter.observed
    ran = [_about(action, stated, code) for stated in series.distinct if stated.outcome in _RAN]
    if observed and observed.status != "not_sent":
        ran.append(Found(code, action, observed.digest, observed.seq, observed.at))
    found.findings += ran
    found.status = "against_verdict" if ran else "matched"


def _cleared(
    matter: Matter, series: _Series, terms: Terms, now: int, found: Reconciled, *, is_watched: bool
) -> None:
    """Step 5: the table."""
    decided, observed, saw = matter.decided, matter.observed, _saw(matter)
    began = decided.at if saw == "nobody" else observed.at if observed else None
    deadline = None if began is None else began + terms.sign_within
    is_past = deadline is not None and now > deadline
    match saw, series.word:
        case "no_result", _:
            pass
        case "nothing_ran", word:
            if word and word.outcome == "EXECUTED":
                _contradict(matter, word, found)
        case "success", Stated() as word:
            _success(matter, series, word, deadline, found, is_past=is_past)
        case _, Stated():
            pass
        case "nothing_yet", None if not is_watched:
            _missed(decided, "OUTCOME_UNKNOWN", "outcome_unknown", now, found)
        case _, None if not terms.owes:
            found.status = "unsigned"
        case _, None if deadline is not None and is_past:
            _missed(decided, "MISSING_EXECUTION", "missing", deadline, found)
        case _:
            found.status, found.again_after = "waiting", deadline
    if saw in ("success", "unclear", "nobody") and terms.owes and deadline is not None:
        _late(decided, series, deadline, found)
    known: list[Observed | Stated] = [*([observed] if observed else []), *series.distinct[:1]]
    if known:
        first = min(known, key=lambda one: one.seq)
        found.clears.append(Cleared("OUTCOME_UNKNOWN", decided.digest, first.digest, first.seq))


_Saw = Literal["success", "unclear", "nothing_ran", "no_result", "nothing_yet", "nobody"]
# `unclear`: an error result, no answer in time, an agent that went away. `nobody`: hook mode.
_SAW: dict[str, _Saw] = {
    "returned": "success", "timeout": "unclear", "cancelled": "unclear", "refused": "nothing_ran",
    "not_sent": "nothing_ran", "error": "no_result", "asked": "no_result",
}  # fmt: skip


def _saw(matter: Matter) -> _Saw:
    """The left column."""
    if matter.decided.mode == "hook":
        return "nobody"
    if not matter.observed:
        return "nothing_yet"
    saw = _SAW[matter.observed.status]
    return "unclear" if saw == "success" and matter.observed.is_error else saw


def _success(
    matter: Matter, series: _Series, word: Stated, deadline: int | None, found: Reconciled, *, is_past: bool
) -> None:
    """The provider's word against a result that came back."""
    if word.outcome == "EXECUTED":
        # What was given up and done after the deadline had been contradicted until then.
        if series.given_up and deadline is not None and word.at > deadline:
            _contradict(matter, series.given_up, found)
    elif word.outcome == "ABANDONED" and not is_past:
        # ABANDONED then EXECUTED is honest, so the second half may still come.
        found.status, found.again_after = "waiting", deadline
    else:
        _contradict(matter, word, found)


def _contradict(matter: Matter, word: Stated, found: Reconciled) -> None:
    since = max(matter.observed.at, word.at) if matter.observed else word.at
    found.status = "contradicted"
    found.findings.append(_about(matter.decided.action, word, "STATEMENT_CONTRADICTS_OBSERVATION", since))


def _missed(decided: Decided, code: str, status: Status, since: int, found: Reconciled) -> None:
    """A finding about what is not there names the decision."""
    found.status = status
    found.findings.append(Found(code, decided.action, decided.digest, decided.seq, since))


def _late(decided: Decided, series: _Series, deadline: int, found: Reconciled) -> None:
    """A first statement after the deadline closes MISSING_EXECUTION and is named for being late."""
    if not series.distinct or series.distinct[0].at <= deadline:
        return
    first = series.distinct[0]
    found.findings.append(_about(decided.action, first, "LATE_EXECUTION"))
    found.clears.append(Cleared("MISSING_EXECUTION", decided.digest, first.digest, first.seq))
    if found.status == "matched":
        found.status = "late"
