"""A provider that is not ours: PyPI fastmcp with one tool, over standard input and output, or over HTTP at a port.

    sums.py [<port>]
"""
import sys

from fastmcp import FastMCP

server = FastMCP("sums")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


if len(sys.argv) > 1:
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="warning")
else:
    server.run(show_banner=False)
