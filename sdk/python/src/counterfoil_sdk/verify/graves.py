"""Absent bodies, and the tombstones that must bear them out.

A tombstone stands after what it covers, so the file `tombstones` says beforehand which there will be.
"""

from collections import defaultdict
from typing import Any

from .report import broken
from .statement import Entry, Payload


class Graves:
    def __init__(self, claims: list[dict[str, Any]]) -> None:
        self._claims = {claim["seq"]: claim for claim in reversed(claims)}
        # Days of the absent bodies that each claimed tombstone has to cover.
        self._days: defaultdict[int, set[str]] = defaultdict(set)
        # Claims that begin further on, the next one last.
        self._ahead = sorted((claim for claim in claims if claim["seq"] > claim["last"]), key=lambda claim: -claim["first"])
        self._open: list[dict[str, Any]] = []

    def covers(self, entry: Entry) -> bool:
        """Whether a tombstone is claimed for this entry's absent body. Asked by growing seq: one walk over the claims."""
        while self._ahead and self._ahead[-1]["first"] <= entry["seq"]:
            self._open.append(self._ahead.pop())
        self._open = [claim for claim in self._open if claim["last"] >= entry["seq"]]
        if not self._open:
            return False
        self._days[self._open[0]["seq"]].add(entry["epoch"])
        return True

    def bears_out(self, said: Payload, seq: int) -> None:
        """A tombstone as it stands in the record, against the claim and the days of what it covers."""
        days, claim = self._days.pop(seq, set()), self._claims.get(seq)
        first, last, epoch = said["first"], said["last"], said["epoch"]
        if claim and ((claim["first"], claim["last"]) != (first, last) or days - {epoch}):
            raise broken(f"tombstones: entry {seq} covers {first} to {last} of {epoch}, and nothing else")

    def unborne(self) -> list[str]:
        """Claims that excused something and that no entry bore out."""
        return [f"tombstones: entry {seq} is no tombstone of this package" for seq in self._days]
