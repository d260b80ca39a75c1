"""The guard in front of servers: `mcp` (MCP SDK 2.x, FastMCP) and `asgi` (any HTTP application)."""
