"""Reconciling again: every decision of the package with what names it, and the findings that must be there.

Memory holds what is open: a matter is judged and dropped once nothing more is due of honest parties. What names a dropped
one later makes it a suspect, and a second pass keeps suspects to the end.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Literal

from ..formats.shapes import code_order
from .matter import Matter, Observed, Stated, decided_by, observed_by
from .reconcile import Cleared, Terms, reconcile, stray
from .report import Found, Report, broken
from .statement import Entry, Payload, entry_hash, millis

_MINUTE = 60 * 1000
_HOUR = 60 * _MINUTE
# After a day without an observation nobody is waiting any more: no package says when a gateway's lease lapsed.
_LONGEST_CALL = 24 * _HOUR
# How long after its cause a finding may come. Younger causes are at the edge.
_FINDING_WITHIN = 15 * _MINUTE
# When a matter is judged at the latest.
_HORIZON = _LONGEST_CALL + _HOUR
_NAMED = 20
_FINDINGS_PER_KEY_AND_HOUR = 20
_ABOUT_ABSENCE = frozenset(("MISSING_EXECUTION", "OUTCOME_UNKNOWN"))

Due = Terms | Literal["unknown", "never"]
"""`unknown`: the provider has a key, and the registry that says more is not at hand. `never`: it has no key."""


@dataclass
class _Open:
    matter: Matter
    due: Due
    cleared: list[tuple[str, str]] = field(default_factory=list)
    """Clearances that stand: code, and the digest of what they say came."""

    @property
    def terms(self) -> Terms:
        return self.due if isinstance(self.due, Terms) else Terms(owes=False)

    def is_settled(self, now: int) -> bool:
        """Whether honest parties have nothing more to say."""
        matter = self.matter
        if not matter.decided.is_cleared:
            return True
        if matter.decided.mode == "gateway" and not matter.observed:
            return False
        if self.due == "never":
            return True
        return bool(matter.stated) and reconcile(matter, self.terms, now, is_watched=True).status != "waiting"


class _Cap:
    """How many findings forged and foreign statements get: the first twenty of each key and hour, by entry time."""

    def __init__(self) -> None:
        self._hour = 0
        self._counted: Counter[str | None] = Counter()

    def admits(self, key: str | None, at: int) -> bool:
        """Counts in the order of entries. All unknown keys count as one: None."""
        if at // _HOUR != self._hour:
            self._hour = at // _HOUR
            self._counted.clear()
        self._counted[key] += 1
        return self._counted[key] <= _FINDINGS_PER_KEY_AND_HOUR


class Book:
    def __init__(self, starts_at: int, kept: AbstractSet[str] | None) -> None:
        """`kept`: the decisions that a second pass keeps to the end; None in the first."""
        self._starts_at = starts_at
        self._kept = kept
        self.suspects: set[str] = set()
        self._open: dict[str, _Open] = {}
        # Entry times of open decisions, oldest first: entries never go back in time.
        self._by_age: dict[str, int] = {}
        # Kept decisions whose body was erased.
        self._erased: set[str] = set()
        # In the second pass, observations of decisions that do not stand yet, with their actions.
        self._early: dict[str, tuple[str, Observed]] = {}
        # Findings that stand: code and what they are about; and the same by their own digest.
        self._stand: set[tuple[str, str]] = set()
        self._stand_as: dict[str, tuple[str, str]] = {}
        # Findings that follow and did not stand when they were looked for.
        self._wanted: dict[tuple[str, str], Found] = {}
        self._forged, self._foreign = _Cap(), _Cap()
        # Statements beyond the cap: counted, not named.
        self._uncounted: set[str] = set()
        # Hashes that sessions were told, from where they were opened: what a vendor may name as the call before.
        self._told: dict[str, set[str]] = {}
        self._is_hidden = False
        # Whether a decision is among them: what its session was told is not known then.
        self._hides_decisions = False
        self._unjudged = 0
        self._last_at: int | None = None
        self._fault: str | None = None

    def decide(self, decision: Payload, entry: Entry, due: Due, report: Report) -> None:
        decided = decided_by(decision, entry)
        if self._is_previous_unknown(decision, entry):
            self._want(Found("UNKNOWN_PREVIOUS", decided.action, decided.digest, decided.seq, decided.at))
        action, observed = self._early.pop(entry["body"], (None, None))
        matter = Matter(decided, observed if action == decided.action else None)
        self._open[decided.digest] = _Open(matter, due)
        self._by_age[decided.digest] = decided.at
        self._settle(decided.digest, decided.at, report)

    def observe(self, seen: Payload, entry: Entry, report: Report) -> None:
        decision = seen["decision"]
        opened = self._open.get(decision)
        if opened is None:
            # A gateway that waited in vain for a commit says so, and its word may be numbered before the decision.
            self._suspect(decision)
            if self._kept is not None:
                self._early.setdefault(decision, (seen["action"], observed_by(seen, entry)))
        elif not opened.matter.observed and opened.matter.decided.action == seen["action"]:
            opened.matter.observed = observed_by(seen, entry)
            self._settle(decision, millis(entry["at"]), report)

    def state(self, stated: Stated, key: str | None, report: Report) -> None:
        """`key`: the thumbprint that the statement names; None if it is of no key of this project."""
        holds = stated.standing.holds
        if not holds and not self._forged.admits(key, stated.at):
            return
        named = self._named_by(stated)
        if named is None:
            self._suspect(stated.digest)
            is_admitted = not holds or self._foreign.admits(key, stated.at)
            if is_admitted and self._kept and self._starts_at == 0:
                self._want(stray(stated))
            return
        opened = self._open.get(named)
        if opened is None:
            self._suspect(named)
            return
        opened.matter.stated.append(stated)
        if holds and not stated.is_by(opened.matter.decided.provider):
            self._suspect(named)
            if not self._foreign.admits(key, stated.at):
                self._uncounted.add(stated.digest)
        self._settle(named, stated.at, report)

    def session(self, said: Payload, entry: Entry) -> None:
        """From here on it is known what this session is told; one that closes is told nothing more."""
        if said["event"] == "opened":
            self._told.setdefault(said["session"], set()).add(entry_hash(entry))
        else:
            self._told.pop(said["session"], None)

    def unsigned_catalog(self, entry: Entry) -> None:
        """A catalogue that no key signed which counted there."""
        self._want(Found("CATALOG_SIGNATURE", None, entry["body"], entry["seq"], millis(entry["at"])))

    def find(self, said: Payload, own: str, report: Report) -> None:
        code, statement = said["code"], said["statement"]
        report.findings[code] = report.findings.get(code, 0) + 1
        if statement is None:
            return
        self._stand.add((code, statement))
        self._stand_as[own] = (code, statement)
        self._wanted.pop((code, statement), None)

    def clear(self, said: Payload, entry: Entry) -> None:
        """A clearance closes a finding that stands, with what came late."""
        place, code = f"entry {entry['seq']}", said["code"]
        stands = self._stand_as.get(said["finding"])
        if stands is None:
            # Cleared here, found before the first entry of this package.
            if self._starts_at == 0:
                raise broken(f"{place}: clears a finding that does not stand")
            return
        found, about = stands
        if found != code:
            raise broken(f"{place}: clears {found} as {code}")
        opened = self._open.get(about)
        if opened:
            opened.cleared.append((code, said["statement"]))
        elif self._kept:
            raise broken(f"{place}: clears what nothing of that kind closes")
        else:
            self._suspect(about)

    def hide(self, entry: Entry) -> None:
        """A body that cannot be read here."""
        if entry["kind"] not in ("decision", "observation", "execution"):
            return
        self._is_hidden = True
        self._hides_decisions = self._hides_decisions or entry["kind"] == "decision"
        if entry["kind"] == "decision" and self._is_kept(entry["body"]):
            self._erased.add(entry["body"])

    def advance(self, now: int, report: Report) -> None:
        """Judges what is older than anybody waits; kept ones stay."""
        self._last_at = now
        while self._by_age:
            oldest, at = next(iter(self._by_age.items()))
            if now - at <= _HORIZON:
                return
            del self._by_age[oldest]
            if not self._is_kept(oldest):
                self._judge(self._open.pop(oldest), now, report)

    def close(self, now: int, report: Report) -> None:
        """After the last entry."""
        self._last_at = now
        for opened in self._open.values():
            self._judge(opened, now, report)
        self._open.clear()
        if self._unjudged:
            report.not_checked.append(
                f"whether {self._unjudged} calls without a statement were owed one: no registry was given"
            )
        # In the first pass a matter may have been dropped too early to say so.
        if self._fault is not None and not self.suspects:
            raise broken(self._fault)

    def omitted(self) -> Found | None:
        """The first finding that follows and stands nowhere."""
        last_at = self._last_at
        if last_at is None:
            return None
        overdue = (found for found in self._wanted.values() if found.since + _FINDING_WITHIN < last_at)
        sure = (found for found in overdue if not self._is_hidden_from(found))
        return min(sure, key=lambda found: (found.seq, code_order(found.code)), default=None)

    def _is_hidden_from(self, found: Found) -> bool:
        """Whether what it is about may be what cannot be read here."""
        if found.code == "UNKNOWN_PREVIOUS":
            return self._hides_decisions
        return self._is_hidden and found.code in _ABOUT_ABSENCE

    def _is_previous_unknown(self, decision: Payload, entry: Entry) -> bool:
        """Whether it names a hash that its session was never told; then its own is told. Of a session that was opened before
        the first entry nobody can say."""
        told = self._told.get(decision["session"]) if decision["mode"] == "hook" else None
        if told is None:
            return False
        named = decision["ask"] and decision["ask"]["prev"]
        is_unknown = named is not None and named not in told
        told.add(entry_hash(entry))
        return is_unknown

    def _named_by(self, stated: Stated) -> str | None:
        """The decision that a statement may be about, or None if there is none."""
        decision = stated.decision
        if decision is None:
            return None
        if opened := self._open.get(decision):
            return decision if stated.action == opened.matter.decided.action else None
        return decision if self._kept is None or decision in self._erased else None

    def _suspect(self, digest: str) -> None:
        if self._kept is None:
            self.suspects.add(digest)

    def _is_kept(self, digest: str) -> bool:
        return self._kept is not None and digest in self._kept

    def _want(self, found: Found) -> None:
        named = (found.code, found.statement)
        if named not in self._stand and found.statement not in self._uncounted:
            self._wanted[named] = found

    def _settle(self, digest: str, now: int, report: Report) -> None:
        """Judges and drops a matter of which nothing more is due."""
        if not self._is_kept(digest) and self._open[digest].is_settled(now):
            del self._by_age[digest]
            self._judge(self._open.pop(digest), now, report)

    def _judge(self, opened: _Open, now: int, report: Report) -> None:
        decided, observed = opened.matter.decided, opened.matter.observed
        is_watched = now - decided.at <= _LONGEST_CALL
        judged = reconcile(opened.matter, opened.terms, now, is_watched=is_watched)
        row = f"{judged.account} {judged.status}"
        report.calls[row] = report.calls.get(row, 0) + 1
        self._unjudged += opened.due == "unknown" and judged.status == "unsigned"
        is_unfinished = decided.is_cleared and decided.mode == "gateway" and not observed and is_watched
        if is_unfinished or judged.status == "waiting":
            report.open += 1
            if len(report.open_actions) < _NAMED:
                report.open_actions.append(decided.action)
        self._follow_clearances(opened, judged.clears)
        for found in judged.findings:
            is_unknown = found.code == "OUTCOME_UNKNOWN"
            self._want(replace(found, since=decided.at + _LONGEST_CALL) if is_unknown else found)

    def _follow_clearances(self, opened: _Open, closes: list[Cleared]) -> None:
        closed = {(one.code, one.by) for one in closes}
        for code, by in opened.cleared:
            # Without the registry nobody can say whether a statement was late.
            is_unknown = opened.due == "unknown" and code == "MISSING_EXECUTION"
            if not is_unknown and (code, by) not in closed and self._fault is None:
                self._fault = f"{opened.matter.decided.action}: {code} was cleared by what does not close it"
