"""Days: the first entry of a new day closes the one before, with its counts and the root of its end."""

from collections import Counter

from ..formats.canonical import signed_text
from .report import Fault
from .statement import Entry, Payload


class Days:
    def __init__(self) -> None:
        self._epoch: str | None = None
        self._first = 0
        self._counts: Counter[str] = Counter()

    def follow(self, entry: Entry, said: Payload | None, root: str) -> None:
        """`root` is that of all entries before this one, as base64."""
        if self._epoch not in (None, entry["epoch"]):
            if said is None or said["typ"] != "epoch/v1":
                raise Fault(f"the day {self._epoch} was not closed by an epoch entry")
            self._close(said, entry["seq"], root)
        elif entry["kind"] == "epoch":
            raise Fault("closes a day in the middle of it")
        self._epoch = entry["epoch"]
        self._counts[entry["kind"]] += 1

    def _close(self, said: Payload, seq: int, root: str) -> None:
        closing = {name: said[name] for name in ("epoch", "first", "last", "root", "counts")}
        follows = {"epoch": self._epoch, "first": self._first, "last": seq - 1, "root": root, "counts": dict(self._counts)}
        if closing != follows:
            stands, wanted = signed_text(closing).decode(), signed_text(follows).decode()
            raise Fault(f"closes its day as {stands}; the rest of the record gives {wanted}")
        self._first, self._counts = seq, Counter()
