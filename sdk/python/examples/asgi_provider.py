"""The same provider as an ASGI application, guarded on the bytes of its requests: python asgi_provider.py 8000

Environment as in provider.py; the gateway or a proxy of yours reaches it at /mcp.
"""

import json
import os
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer

from counterfoil_sdk.capability import FileStore, Guard
from counterfoil_sdk.servers.asgi import guarded

FOLDER = Path(os.environ["NOTES_FOLDER"])

server = MCPServer("notes")


@server.tool()
def note_write(path: str, text: str) -> str:
    """Writes a note"""
    with open(FOLDER / "notes.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps({"path": path, "text": text}) + "\n")
    return f"wrote {path}"


guard = Guard(
    issuer=os.environ["COUNTERFOIL_ISSUER"],
    project=os.environ["COUNTERFOIL_PROJECT"],
    gateway=os.environ["COUNTERFOIL_GATEWAY"],
    provider="notes",
    env="live",
    store=FileStore(FOLDER / "used"),
)
app = guarded(server.streamable_http_app(stateless_http=True), guard)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
