"""One JSON-RPC message at the door, and its answer on the way out."""

import json
from dataclasses import dataclass
from typing import Any

from ..capability import EXECUTION, REFUSED, Admitted, CapabilityRefusal, Guard
from ..formats.canonical import bound_value


@dataclass(frozen=True)
class Other:
    """Not a tool call."""


@dataclass(frozen=True)
class Passed:
    id: str | int
    call: Admitted


@dataclass(frozen=True)
class Turned:
    answer: dict[str, Any]


@dataclass(frozen=True)
class Dropped:
    """A tool call that wants no answer: it is neither run nor answered."""


Judged = Other | Passed | Turned | Dropped


async def judge(message: Any, guard: Guard, header: str | None) -> Judged:
    if isinstance(message, list):
        return Turned(_answer(None, CapabilityRefusal("capability_batch"))) if any(map(is_tool_call, message)) else Other()
    if not is_tool_call(message):
        return Other()
    number = message.get("id")
    if not isinstance(number, (str, int)) or isinstance(number, bool):
        return Dropped()
    try:
        return Passed(number, await guard.admit(message.get("params"), header))
    except CapabilityRefusal as refusal:
        return Turned(_answer(number, refusal))


def with_execution(result: dict[str, Any], statement: dict[str, Any] | None) -> dict[str, Any]:
    if statement is None:
        return result
    meta = result.get("_meta")
    return {**result, "_meta": {**(meta if isinstance(meta, dict) else {}), EXECUTION: statement}}


async def answered_text(text: str, number: str | int, call: Admitted) -> str:
    """The answer with our statement in it. A text without a single reading leaves as it came; so does any other text."""
    try:
        message = json.loads(text)
    except ValueError:
        return text
    if not isinstance(message, dict) or "method" in message or message.get("id") != number:
        return text
    result = message.get("result")
    if not isinstance(result, dict):
        error = message.get("error")
        await call.failed(f"rpc_{error.get('code')}" if isinstance(error, dict) else "error")
        return text
    if bound_value(text) == "none:no_canonical_form":
        await call.executed(result, text)
        return text
    return json.dumps({**message, "result": with_execution(result, await call.executed(result))}, ensure_ascii=False)


def is_tool_call(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") == "tools/call"


def _answer(number: str | int | None, refusal: CapabilityRefusal) -> dict[str, Any]:
    error = {"code": REFUSED, "message": str(refusal), "data": {"reason": refusal.code}}
    return {"jsonrpc": "2.0", "id": number, "error": error}
