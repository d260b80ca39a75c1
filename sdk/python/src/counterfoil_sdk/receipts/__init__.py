"""Receipts that you keep, and what they let you find out.

Promised: `check` reads the log's newest checkpoint and tiles and raises an alarm if the record no longer begins with what you
saw: it shrank, it forked, or an entry that you hold is not in it. The two notes that contradict each other are saved first.
Not promised: that somebody else was shown the same log. Compare notes.
"""

from .contradiction import Alarm
from .store import Checked, ReceiptStore
from .tiles import Fetch

__all__ = ["Alarm", "Checked", "Fetch", "ReceiptStore"]
