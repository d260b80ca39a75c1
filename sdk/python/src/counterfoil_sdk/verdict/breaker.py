"""After five questions that nobody answered: half a minute of no, then one probe."""

from collections.abc import Callable

_FAILURES = 5
_REST = 30  # seconds


class Breaker:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._failures = 0
        self._open_until = 0.0
        self._is_probing = False

    def take(self) -> bool:
        """Whether a question may be asked now."""
        if self._failures < _FAILURES:
            return True
        if self._now() < self._open_until or self._is_probing:
            return False
        self._is_probing = True
        return True

    def answered(self) -> None:
        self._failures, self._is_probing = 0, False

    def unanswered(self) -> None:
        self._failures += 1
        self._is_probing = False
        if self._failures >= _FAILURES:
            self._open_until = self._now() + _REST
