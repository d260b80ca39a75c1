"""A provider that is not ours: PyPI fastmcp over standard input and output, with one tool."""
from fastmcp import FastMCP

server = FastMCP("sums")


@server.tool
def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


server.run(show_banner=False)
