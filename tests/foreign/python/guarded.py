"""A provider that is not ours: PyPI fastmcp over HTTP, which answers those alone who bring its token.

    guarded.py <port> <token>
"""
import sys

from fastmcp import FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

port, token = int(sys.argv[1]), sys.argv[2]
server = FastMCP("guarded", auth=StaticTokenVerifier({token: {"client_id": "counterfoil", "scopes": []}}))


@server.tool
def get_sum(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


@server.tool
def delete_sum(a: int) -> str:
    """Forgets a number."""
    return f"{a} is gone"


server.run(transport="http", host="127.0.0.1", port=port, show_banner=False, log_level="warning")
