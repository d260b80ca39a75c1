"""Answers of people at a place in the chain: what they let go out, once and no longer than they say, and what they grant."""

from dataclasses import dataclass, field

from .matter import is_cleared
from .report import Fault
from .statement import Entry, Payload, millis

# No hold outlives a day, nor does an answer lift one for longer. Milliseconds.
_LONGEST_HOLD = 24 * 60 * 60 * 1000


@dataclass
class _Approval:
    at: int
    said: Payload | None
    """None where the body is gone: its digest is enough to have been one."""
    given: set[str] = field(default_factory=set)
    """Grants that it names and that were given."""


class Answers:
    def __init__(self, *, is_whole: bool) -> None:
        """`is_whole`: the package starts at entry 0, so that every answer is in it."""
        self._is_whole = is_whole
        # Until then an answer may stand before the first entry that is here.
        self._blind_until: int | None = None
        # Approvals that nothing used yet, by digest, oldest first.
        self._unused: dict[str, _Approval] = {}

    def follow(self, said: Payload | None, entry: Entry) -> None:
        """Takes over an answer; raises `Fault` for a call that goes out, or a grant that is given, by one that does not say so."""
        now = millis(entry["at"])
        self._forget(now)
        if said is None:
            if entry["kind"] == "answer":
                self._unused[entry["body"]] = _Approval(now, None)
            return
        match said["typ"]:
            case "answer/v1" if said["answer"] != "deny":
                self._unused[entry["body"]] = _Approval(now, said)
            case "kill/v1" if "scope" not in said:
                # Holds that a kill took stay gone.
                self._unused.clear()
            case "decision/v1" if is_cleared(said):
                self._gate(said, now)
            case "grant/v1" if said["event"] == "given":
                self._give(said)

    def _gate(self, decision: Payload, now: int) -> None:
        named = decision["answers"]
        if named is None:
            if decision["reason"] == "approved":
                raise Fault("lets a call go out as approved, and names no answer")
            return
        found = self._unused.pop(named["answer"], None)
        if found is None and self._is_whole:
            raise Fault("lets a call go out by an answer that does not stand before it, or was used")
        if found is None or found.said is None:
            return
        said = found.said
        about = (named["hold"], named["decision"], decision["action"])
        if (said["hold"], said["decision"], said["action"]) != about:
            raise Fault("lets a call go out by an answer to another call")
        if now > millis(said["until"]):
            raise Fault("lets a call go out by an answer whose time had passed")

    def _give(self, grant: Payload) -> None:
        if grant["answer"] is None:
            raise Fault("gives a grant that no answer gave")
        found = self._unused.get(grant["answer"])
        if found is None and self._is_whole:
            raise Fault("gives a grant by an answer that does not stand before it, or was used")
        if found is None or found.said is None:
            return
        if grant["grant"] not in set(found.said["grants"]) - found.given:
            raise Fault("gives a grant that its answer does not name")
        found.given.add(grant["grant"])
        if grant["until"] != found.said["until"]:
            raise Fault("gives a grant until another time than its answer says")

    def _forget(self, now: int) -> None:
        if self._blind_until is None:
            self._blind_until = now + _LONGEST_HOLD
        self._is_whole = self._is_whole or now > self._blind_until
        while self._unused:
            oldest, approval = next(iter(self._unused.items()))
            if now - approval.at <= _LONGEST_HOLD:
                return
            del self._unused[oldest]
