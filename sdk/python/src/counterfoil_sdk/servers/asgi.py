"""The guard before an ASGI application, on the bytes of the request.

    app = guarded(app, guard)

Promised: the application sees a `tools/call` only after its capability was used up, and a body is read once, strictly: one
with two readings is refused. Not promised: a signed execution in an answer that leaves by another request (resumption).
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from ..capability import Guard
from ..formats.strict_json import JsonError, Profile, parse
from .message import Dropped, Passed, Turned, judge
from .rewriter import Rewriter

# As long as a message may be at the gateway.
_LARGEST_BODY = 4 * 1024 * 1024
# Every other method may carry a message, so it is read.
_WITHOUT_CALLS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


def guarded(app: Application, guard: Guard) -> Application:
    async def front(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            # Its messages would pass unseen.
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http" or scope["method"] in _WITHOUT_CALLS:
            await app(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            await _reply(send, 413, _error(-32600, "body too large", None))
            return
        try:
            message = parse(body, Profile.FOREIGN, _LARGEST_BODY)
        except JsonError as error:
            await _reply(send, 400, _error(-32700, str(error), {"path": error.path, "reason": error.reason}))
            return
        judged = await judge(message, guard, _header(scope))
        if isinstance(judged, Turned):
            await _reply(send, 400 if judged.answer["id"] is None else 200, judged.answer)
        elif isinstance(judged, Dropped):
            await _reply(send, 202, None)
        elif isinstance(judged, Passed):
            with judged.call.running():
                await app(scope, _again(body, receive), _Outgoing(send, judged).send)
        else:
            await app(scope, _again(body, receive), send)

    return front


class _Outgoing:
    def __init__(self, send: Send, passed: Passed) -> None:
        self._send = send
        self._passed = passed
        self._rewriter: Rewriter | None = None

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name, value) for name, value in message["headers"] if name.lower() != b"content-length"]
            content_type = next((value.decode("latin-1") for name, value in headers if name.lower() == b"content-type"), "")
            self._rewriter = Rewriter(content_type, self._passed.id, self._passed.call)
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body" and self._rewriter:
            more = message.get("more_body", False)
            data = await self._rewriter.push(message.get("body", b""))
            message = {**message, "body": data if more else data + await self._rewriter.end()}
        await self._send(message)


async def _body(receive: Receive) -> bytes | None:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += bytes(message.get("body", b""))
        if len(body) > _LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more, then whatever else comes."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> dict[str, Any]:
        return waiting.pop() if waiting else await receive()

    return replay


def _header(scope: dict[str, Any]) -> str | None:
    found = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"tool-capability"]
    # Two of them are no token.
    return ",".join(found) if found else None


def _error(code: int, text: str, data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text, "data": data}}


async def _reply(send: Send, status: int, answer: Any) -> None:
    body = b"" if answer is None else json.dumps(answer).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
