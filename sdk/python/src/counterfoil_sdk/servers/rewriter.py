"""The body of an HTTP answer on its way out: one JSON document, or a stream of server-sent events."""

import re

from ..capability import Admitted
from .message import answered_text

_END_OF_EVENT = re.compile(rb"\r?\n\r?\n")


class Rewriter:
    def __init__(self, content_type: str, number: str | int, call: Admitted) -> None:
        self._is_stream = content_type.startswith("text/event-stream")
        self._is_document = content_type.startswith("application/json")
        self._number = number
        self._call = call
        self._rest = b""

    async def push(self, data: bytes) -> bytes:
        """What may leave now."""
        if not self._is_stream and not self._is_document:
            return data
        self._rest += data
        if self._is_document:
            return b""
        out = b""
        while found := _END_OF_EVENT.search(self._rest):
            event, self._rest = self._rest[: found.end()], self._rest[found.end() :]
            out += await self._event(event)
        return out

    async def end(self) -> bytes:
        rest, self._rest = self._rest, b""
        if self._is_document and rest:
            return await self._answered(rest)
        return rest

    async def _event(self, event: bytes) -> bytes:
        lines = event.rstrip(b"\r\n").splitlines()
        data = b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
        text = await self._answered(data) if data else data
        if text == data:
            return event
        others = [line for line in lines if not line.startswith(b"data:")]
        return b"\n".join([*others, b"data: " + text, b"", b""])

    async def _answered(self, data: bytes) -> bytes:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        return (await answered_text(text, self._number, self._call)).encode("utf-8", "surrogatepass")
