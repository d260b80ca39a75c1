"""The two ways to hear no."""

from typing import TYPE_CHECKING, Literal, NoReturn

if TYPE_CHECKING:
    from .decision import Decided

NoVerdictCode = Literal[
    "unanswered", "resting", "rejected", "malformed", "unsigned", "expired", "other_action", "replayed"
]
"""`unanswered`: nobody answered in time, three times. `resting`: nobody answered five times in a row, so nobody is asked for a
while. The rest is an answer that proves nothing."""


class NoVerdict(Exception):
    """There is no verdict: do nothing."""

    def __init__(self, code: NoVerdictCode, detail: str) -> None:
        super().__init__(f"no verdict ({code}): {detail}")
        self.code = code


class NotCleared(Exception):
    """There is one, and it does not clear the call. `decided` says what it asks for."""

    def __init__(self, decided: "Decided") -> None:
        super().__init__(f"not cleared: {decided.verdict} ({decided.reason})")
        self.decided = decided


def no(code: NoVerdictCode, detail: str) -> NoReturn:
    raise NoVerdict(code, detail) from None
