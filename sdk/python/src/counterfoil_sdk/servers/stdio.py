"""The guard between a server and its standard streams, one message a line: `mcp` 1.x, and whatever else speaks so.

    door = guarded(guard)
    async with stdio_server(door.stdin, door.stdout) as streams:
        await server.run(*streams, server.create_initialization_options())

Promised: the server sees a `tools/call` only after its capability was used up, and a line with two readings is refused; what
is hashed is `params.arguments` as they stand in the line, before any model fills defaults, drops names or decodes texts;
what is signed is the result as the server wrote it. A call that is cancelled leaves a statement that it was abandoned, and
one with the id of a running call is not run. Messages keep their order.
Not promised: `current()`, since such a server runs its tools in tasks of its own: ask `door.call(request_id)`.
"""

import json
import sys
from typing import Any, BinaryIO

import anyio
import anyio.to_thread

from ..capability import Admitted, Guard
from ..formats.strict_json import JsonError, Profile, parse
from .message import Dropped, Passed, Turned, answered_text, is_tool_call, judge

# As long as a message may be at the gateway.
_LARGEST_MESSAGE = 4 * 1024 * 1024

Id = str | int


def guarded(guard: Guard, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> "Door":
    """Over the process's own streams where none are given."""
    return Door(guard, stdin or sys.stdin.buffer, stdout or sys.stdout.buffer)


class Door:
    def __init__(self, guard: Guard, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self._guard = guard
        self._input = stdin
        self._output = anyio.wrap_file(stdout)
        self._turn = anyio.Lock()
        self._open: dict[Id, Admitted] = {}
        self.stdin = _Incoming(self)
        """What the server reads: an asynchronous iterator of lines."""
        self.stdout = _Outgoing(self)
        """What the server writes: `write` and `flush`, asynchronous."""

    def call(self, request_id: Id) -> Admitted | None:
        """The call under way with that id."""
        return self._open.get(request_id)

    async def receive(self) -> str | None:
        """The next line for the server; None at the end."""
        while line := await self._read():
            if len(line) > _LARGEST_MESSAGE and not line.endswith(b"\n"):
                # What follows is the rest of it, and no message.
                raise ValueError(f"a message of more than {_LARGEST_MESSAGE} bytes")
            if line.strip() and await self._passes(line):
                return line.decode()
        return None

    async def _read(self) -> bytes:
        # Whoever ends the server does not wait for another line.
        return await anyio.to_thread.run_sync(self._input.readline, _LARGEST_MESSAGE + 1, abandon_on_cancel=True)

    async def send(self, line: str) -> None:
        """One line of the server's, an answer with its statement."""
        number = _answered(line)
        call = None if number is None else self._open.pop(number, None)
        if number is not None and call is not None:
            line = await answered_text(line, number, call)
        await self._write(line)

    async def _passes(self, line: bytes) -> bool:
        try:
            message = parse(line, Profile.FOREIGN, _LARGEST_MESSAGE)
        except JsonError as error:
            data = {"path": error.path, "reason": error.reason}
            refusal = {"code": -32700, "message": str(error), "data": data}
            await self._write(json.dumps({"jsonrpc": "2.0", "id": None, "error": refusal}))
            return False
        if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
            await self._abandon(message.get("params"))
        if is_tool_call(message) and _id_of(message) in self._open:
            return False
        judged = await judge(message, self._guard, None)
        if isinstance(judged, Turned):
            await self._write(json.dumps(judged.answer))
        elif isinstance(judged, Passed):
            self._open[judged.id] = judged.call
        return not isinstance(judged, (Turned, Dropped))

    async def _abandon(self, params: Any) -> None:
        number = _id_of({"id": params.get("requestId")}) if isinstance(params, dict) else None
        call = None if number is None else self._open.pop(number, None)
        if call:
            await call.abandoned()

    async def _write(self, line: str) -> None:
        async with self._turn:
            await self._output.write(line.encode("utf-8", "surrogatepass") + b"\n")
            await self._output.flush()


class _Incoming:
    def __init__(self, door: Door) -> None:
        self._door = door

    def __aiter__(self) -> "_Incoming":
        return self

    async def __anext__(self) -> str:
        line = await self._door.receive()
        if line is None:
            raise StopAsyncIteration
        return line


class _Outgoing:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._rest = ""

    async def write(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            await self._door.send(line)

    async def flush(self) -> None:
        """Each line is flushed when it is whole."""


def _id_of(message: dict[str, Any]) -> Id | None:
    number = message.get("id")
    return number if isinstance(number, (str, int)) and not isinstance(number, bool) else None


def _answered(line: str) -> Id | None:
    """The id of the call that a line answers."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return _id_of(message) if isinstance(message, dict) and "method" not in message else None
