"""A provider that executes nothing without a fresh capability: a server of `mcp` 1.x over standard input and output.

    COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT   as `counterfoil init` printed them
    COUNTERFOIL_GATEWAY                       where the gateway is reached
    NOTES_FOLDER                              where notes, used capabilities and our own statements are kept
    NOTES_KEY                                 our execution key, 32 bytes; without one nothing is signed
"""

import json
import os
from pathlib import Path
from typing import Any

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.stdio import stdio_server

from counterfoil_sdk.capability import FileStore, Guard
from counterfoil_sdk.execution import SigningKey
from counterfoil_sdk.servers.stdio import guarded

FOLDER = Path(os.environ["NOTES_FOLDER"])

server = FastMCP("notes")


def append(name: str, value: Any) -> None:
    with open(FOLDER / name, "a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


guard = Guard(
    issuer=os.environ["COUNTERFOIL_ISSUER"],
    project=os.environ["COUNTERFOIL_PROJECT"],
    gateway=os.environ["COUNTERFOIL_GATEWAY"],
    provider="notes",
    env="live",
    store=FileStore(FOLDER / "used"),
    signer=SigningKey.from_environment("NOTES_KEY") if "NOTES_KEY" in os.environ else None,
    on_execution=lambda statement: append("executions.jsonl", statement),
)
door = guarded(guard)


@server.tool()
def note_write(path: str, text: str, context: Context, copies: int = 1) -> str:  # type: ignore[type-arg]
    """Writes a note"""
    call = door.call(context.request_context.request_id)
    append("notes.jsonl", {"path": path, "text": text, "copies": copies, "action": call.claims.txn if call else None})
    return f"wrote {path}"


async def main() -> None:
    low_level = server._mcp_server
    async with stdio_server(door.stdin, door.stdout) as streams:
        await low_level.run(*streams, low_level.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
