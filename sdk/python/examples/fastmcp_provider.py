"""The same provider on FastMCP, over HTTP: python fastmcp_provider.py 8000

Environment as in provider.py; the gateway or a proxy of yours reaches it at /mcp.
"""

import os
import sys
from pathlib import Path

from fastmcp import FastMCP

from counterfoil_sdk.capability import FileStore, Guard
from counterfoil_sdk.servers.mcp import protect

server = FastMCP("notes")


@server.tool
def note_write(path: str, text: str) -> str:
    """Writes a note"""
    return f"wrote {path}"


guard = Guard(
    issuer=os.environ["COUNTERFOIL_ISSUER"],
    project=os.environ["COUNTERFOIL_PROJECT"],
    gateway=os.environ["COUNTERFOIL_GATEWAY"],
    provider="notes",
    env="live",
    store=FileStore(Path(os.environ["NOTES_FOLDER"]) / "used"),
)
protect(server, guard)

if __name__ == "__main__":
    server.run("http", host="127.0.0.1", port=int(sys.argv[1]), stateless_http=True, show_banner=False)
