"""A provider that executes nothing without a fresh capability: an MCP server over standard input and output.

    COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT   as `counterfoil init` printed them
    COUNTERFOIL_GATEWAY                       where the gateway is reached
    NOTES_FOLDER                              where notes, used capabilities and our own statements are kept
    NOTES_KEY                                 our execution key, 32 bytes; without one nothing is signed
"""

import json
import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer

from counterfoil_sdk.capability import FileStore, Guard, current
from counterfoil_sdk.execution import SigningKey
from counterfoil_sdk.servers.mcp import protect

FOLDER = Path(os.environ["NOTES_FOLDER"])

server = MCPServer("notes")


def append(name: str, value: Any) -> None:
    with open(FOLDER / name, "a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


@server.tool()
def note_write(path: str, text: str, copies: int = 1) -> str:
    """Writes a note"""
    call = current()
    append("notes.jsonl", {"path": path, "text": text, "copies": copies, "action": call.claims.txn if call else None})
    return f"wrote {path}"


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
protect(server, guard)

if __name__ == "__main__":
    server.run("stdio")
