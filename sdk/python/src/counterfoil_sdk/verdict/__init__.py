"""For vendors that call tools from their own code: ask first, and take silence for a no.

Promised: `guard` runs the work only on a decision that says ALLOW (or a recorded advisory one), is signed and recorded under
keys that you pinned, is not old, and is about exactly this tool and these arguments, once. Unreachable, slow, malformed,
unsigned, expired, or for another action: no, as an exception. There is no option that turns this off.
Not promised: that code which does not ask is stopped. Runs on asyncio.
Wire: docs/decisions/the-verdict-answer-carries-its-receipt.md.
"""

from .client import Proposal, Session, Verdicts
from .decision import Cleared, Decided
from .outbox import Outbox, Report
from .refusal import NotCleared, NoVerdict

__all__ = ["Cleared", "Decided", "NoVerdict", "NotCleared", "Outbox", "Proposal", "Report", "Session", "Verdicts"]
