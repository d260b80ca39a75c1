"""Clients that are not ours, one after another, each at every provider of a plan: PyPI mcp 2.x, and PyPI fastmcp.

Reads {key, cells: [{provider, url, tool, arguments}]} and prints {client: {provider: {revision, tools, result} or {error}}}.
"""
import asyncio, json, sys
import fastmcp, httpx2, mcp
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client


def shown(revision, tools, result):
    plain = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {"revision": revision, "tools": [tool.name for tool in tools], "result": plain}


async def with_mcp(mode, cell, headers):
    async with httpx2.AsyncClient(headers=headers) as http:
        async with mcp.Client(streamable_http_client(cell["url"], http_client=http), mode=mode) as client:
            tools = await client.list_tools()
            result = await client.call_tool(cell["tool"], cell["arguments"])
            return shown(client.protocol_version, tools.tools, result)


async def with_fastmcp(mode, cell, headers):
    async with fastmcp.Client(StreamableHttpTransport(cell["url"], headers=headers), mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool_mcp(cell["tool"], cell["arguments"])
        return shown(client.protocol_version, tools, result)


CLIENTS = {
    "python mcp auto": (with_mcp, "auto"),
    "python mcp legacy": (with_mcp, "legacy"),
    "python fastmcp": (with_fastmcp, "auto"),
}


async def main():
    plan = json.load(sys.stdin)
    headers = {"Authorization": f"Bearer {plan['key']}"}
    said = {}
    for name, (use, mode) in CLIENTS.items():
        said[name] = {}
        for cell in plan["cells"]:
            try:
                said[name][cell["provider"]] = await use(mode, cell, headers)
            except Exception as error:
                said[name][cell["provider"]] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(said))


asyncio.run(main())
