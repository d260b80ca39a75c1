"""The client of the verdict API."""

import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from ..execution import Outcome, Signer, six_field_statement, time_text
from ..formats.canonical import document_value
from ..formats.keys import KeySet
from ..formats.strict_json import JsonError
from .decision import Asked, Cleared, Decided, cleared, read_decision
from .refusal import NotCleared, NoVerdict, no
from .transport import Transport

T = TypeVar("T")

# So many decisions are remembered, that none is used for two calls.
_REMEMBERED = 10_000


@dataclass(frozen=True)
class Session:
    external_id: str
    agent: dict[str, str]
    """external_id, name, version."""
    principal: dict[str, str]
    """type (`human` or `service`) and ref. Opaque: an e-mail address is refused."""
    original_request: dict[str, Any]
    """hash and anchors."""


@dataclass(frozen=True)
class Proposal:
    session: str
    seq: int
    """Unique in its session."""
    tool: dict[str, str]
    """name, and perhaps provider and server."""
    arguments: Any = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)
    """What the gateway sees of the arguments, nothing by default; it reads nouns and declared fields from it."""
    disclose: bool = False
    """Sends the arguments themselves. A capability can be bound to nothing less: without, an ALLOW comes without one."""
    signals: dict[str, Any] = field(default_factory=dict)


class Verdicts:
    """gateway: where it is reached. api_key: `cfk_…`. pinned: your keys, decision and log keys among them.

    signer: the vendor's execution key, for reports. now: seconds since 1970.
    """

    def __init__(
        self,
        *,
        gateway: str,
        api_key: str,
        project: str,
        env: Literal["live", "test"],
        pinned: KeySet,
        signer: Signer | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._transport = Transport(gateway, api_key, now)
        self._project, self._env, self._pinned = project, env, pinned
        self._signer, self._now = signer, now
        # Decision id → session and seq that it answered.
        self._answered: dict[str, tuple[str, int]] = {}

    async def open(self, session: Session) -> None:
        body = {**asdict(session), "started_at": self._time()}
        await self._transport.ask("POST", "/v1/sessions", body, {"external_id": session.external_id})

    async def close(self, session: str) -> None:
        await self._transport.ask("POST", f"/v1/sessions/{quote(session, safe='')}/close", {}, {"session": session})

    async def decide(self, proposal: Proposal) -> Decided:
        """A verified decision, whatever it says; or `NoVerdict`."""
        identity = {
            "session": proposal.session,
            "seq": proposal.seq,
            "tool": proposal.tool,
            "args_hash": document_value(proposal.arguments),
            "signals": proposal.signals,
        }
        body = {
            "session_external_id": proposal.session,
            "seq": proposal.seq,
            "tool": proposal.tool,
            "args_redacted": proposal.shown,
            "args_hash": identity["args_hash"],
            "signals": proposal.signals,
            "requested_at": self._time(),
        }
        if proposal.disclose:
            body["arguments"] = proposal.arguments if proposal.arguments is not None else {}
        answer = await self._transport.ask("POST", "/v1/actions", body, identity)
        asked = Asked(self._project, self._env, proposal.tool["name"], proposal.tool.get("provider"), proposal.arguments)
        decided = read_decision(answer, asked, self._pinned, self._now())
        self._demand_first(decided, (proposal.session, proposal.seq))
        return decided

    async def guard(self, proposal: Proposal, work: Callable[[Cleared], T | Awaitable[T]]) -> T:
        """Runs the work if, and only if, it was cleared; reports what came of it."""
        decided = await self.decide(proposal)
        yes = cleared(decided)
        if yes is None:
            raise NotCleared(decided)
        try:
            made = work(yes)
            result: T = await made if inspect.isawaitable(made) else made
        except Exception:
            await self._report_quietly(decided, "FAILED", None, "exception")
            raise
        await self._report_quietly(decided, "EXECUTED", result, None)
        return result

    async def statement(
        self, decided: Decided, outcome: Outcome, result: Any = None, error_code: str | None = None
    ) -> dict[str, Any]:
        """The signed statement alone: keep it with your own commit, send it later with `send`."""
        if self._signer is None:
            raise TypeError("a report needs an execution key (`signer`)")
        fields = {
            "action_id": decided.action,
            "decision_id": decided.decision_id,
            "outcome": outcome,
            "result_hash": None if result is None else document_value(result),
            "error_code": error_code,
            "executed_at": self._time(),
        }
        return await six_field_statement(fields, self._signer)

    async def send(self, statement: dict[str, Any]) -> None:
        identity = [statement[name] for name in ("action_id", "decision_id", "outcome", "result_hash")]
        await self._transport.ask("POST", "/v1/executions", statement, identity)

    async def _report_quietly(self, decided: Decided, outcome: Outcome, result: Any, error_code: str | None) -> None:
        """The work is done: that nobody could be told does not undo it. For certainty use `statement` and `Outbox`."""
        if self._signer is None:
            return
        try:
            statement = await self.statement(decided, outcome, result, error_code)
        except JsonError:
            statement = await self.statement(decided, outcome, None, error_code)
        try:
            await self.send(statement)
        except NoVerdict:
            return

    def _demand_first(self, decided: Decided, place: tuple[str, int]) -> None:
        if self._answered.setdefault(decided.decision_id, place) != place:
            no("replayed", "this decision answered another call before")
        if len(self._answered) > _REMEMBERED:
            del self._answered[next(iter(self._answered))]

    def _time(self) -> str:
        return time_text(datetime.fromtimestamp(self._now(), UTC))
