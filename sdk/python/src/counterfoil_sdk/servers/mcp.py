"""The guard in an MCP server of the SDK's 2.x line, or in FastMCP on top of it.

    protect(server, guard)

Promised: the server sees a `tools/call` only after its capability was used up; what is hashed is `params.arguments` as the
transport read them, before any model fills defaults, drops names or decodes texts; what is signed is the result that is
sent. Over every transport of the server. Not promised: anything about tools that are called in process.
"""

import json
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError

from ..capability import REFUSED, CapabilityRefusal, Guard
from .message import with_execution


def protect(server: Any, guard: Guard) -> None:
    """Stands outermost in the server's own chain; raises TypeError where there is none."""
    low_level = next((found for name in ("_lowlevel_server", "_mcp_server") if (found := getattr(server, name, None))), server)
    chain = getattr(low_level, "middleware", None)
    if not isinstance(chain, list):
        raise TypeError("this server has no chain of middleware; put `guarded` of servers.asgi before it")
    chain.insert(0, _Door(guard))


class _Door:
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def __call__(self, context: Any, call_next: Any) -> Any:
        if context.method != "tools/call":
            return await call_next(context)
        if context.request_id is None:
            # Wants no answer: it is neither run nor answered.
            return None
        try:
            call = await self._guard.admit(context.params, _header(context))
        except CapabilityRefusal as refusal:
            raise MCPError(REFUSED, str(refusal), {"reason": refusal.code}) from refusal
        try:
            with call.running():
                result = await call_next(context)
        except MCPError as error:
            await call.failed(f"rpc_{error.code}")
            raise
        except Exception:
            await call.failed("exception")
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await call.abandoned()
            raise
        wire = _wire(result)
        return with_execution(wire, await call.executed(wire))


def _wire(result: Any) -> dict[str, Any]:
    if isinstance(result, dict):
        return result
    # A middleware that answered by itself; shaped as the SDK shapes it.
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True)) if result is not None else {}


def _header(context: Any) -> str | None:
    headers = getattr(getattr(context, "request", None), "headers", None)
    return headers.get("tool-capability") if headers is not None else None
