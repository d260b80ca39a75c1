"""A call whose capability was used up, until its end: then the provider's own statement about it is signed.

Without an execution key nothing is signed, and `executed` and `failed` give None.
"""

import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..execution import Envelope, ExecutionFacts, Outcome, Seen, Signer, execution_statement
from .token import Claims

EXECUTION = "dev.counterfoil/execution"

_CURRENT: "ContextVar[Admitted | None]" = ContextVar("counterfoil_call", default=None)


def current() -> "Admitted | None":
    """The call that is being carried out, inside a handler."""
    return _CURRENT.get()


@dataclass(frozen=True)
class Executions:
    """Who signs, and who is told."""

    project: str
    provider: str
    signer: Signer | None
    seen: Callable[[], Seen | None] | None
    on_execution: Callable[[Envelope], None] | None
    now: Callable[[], float]


class Admitted:
    def __init__(self, claims: Claims, arguments: Any, started_at: datetime, executions: Executions) -> None:
        self.claims = claims
        self.arguments = arguments
        self.started_at = started_at
        self._executions = executions

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, `current()` names this call."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    async def executed(self, result: Any, text: str | None = None) -> Envelope | None:
        """The JSON-RPC result, and its text as it leaves on the wire."""
        outcome, code = _outcome(result)
        return await self._sign(outcome, json.dumps(result, ensure_ascii=False) if text is None else text, code)

    async def failed(self, error_code: str) -> Envelope | None:
        """The call ended in a protocol error, or in an exception."""
        return await self._sign("FAILED", None, re.sub("[^A-Za-z0-9_.-]", "_", error_code)[:64] or "error")

    async def abandoned(self) -> Envelope | None:
        """Whoever asked went away; what became of the call is not known."""
        return await self._sign("ABANDONED", None, None)

    async def _sign(self, outcome: Outcome, result_text: str | None, error_code: str | None) -> Envelope | None:
        how = self._executions
        if how.signer is None:
            return None
        facts = ExecutionFacts(
            project=how.project,
            provider=how.provider,
            tool=self.claims.call["t"],
            action=self.claims.txn,
            decision=self.claims.dec,
            capability=self.claims.jti,
            seed=self.claims.os,
            arguments=self.arguments,
            outcome=outcome,
            result_text=result_text,
            error_code=error_code,
            started_at=self.started_at,
            executed_at=datetime.fromtimestamp(how.now(), UTC),
            seen=how.seen() if how.seen else None,
        )
        try:
            statement = await execution_statement(facts, how.signer)
        except Exception as error:
            # The call was carried out: that nobody could sign for it is reported, and does not swallow its answer.
            warnings.warn(f"an execution of {facts.tool} could not be signed: {error}", stacklevel=2)
            return None
        if how.on_execution:
            how.on_execution(statement)
        return statement


def _outcome(result: Any) -> tuple[Outcome, str | None]:
    """A result that asks back executed nothing yet; one that says `isError` failed by its own word."""
    if isinstance(result, dict) and result.get("resultType") == "input_required":
        return "NOT_ATTEMPTED", None
    if isinstance(result, dict) and result.get("isError") is True:
        return "FAILED", "tool_error"
    return "EXECUTED", None
