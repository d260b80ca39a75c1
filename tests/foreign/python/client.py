"""An MCP client that is not ours: PyPI mcp 2.x in its `auto` mode, as agent hosts use it.

Reads {url, key, calls: {name: {tool, arguments, full}}} and prints {revision, tools, answers: {name: result or error}}.
"""
import asyncio, json, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


async def call(client, wanted):
    meta = {"dev.counterfoil/want": "full"} if wanted.get("full") else None
    try:
        result = await client.call_tool(wanted["tool"], wanted["arguments"], meta=meta)
    except MCPError as error:
        return {"error": {"code": error.error.code, "message": error.error.message, "data": error.error.data}}
    return {"result": result.model_dump(by_alias=True, mode="json", exclude_none=True)}


async def main():
    plan = json.load(sys.stdin)
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {plan['key']}"}) as http:
        async with Client(streamable_http_client(plan["url"], http_client=http)) as client:
            tools = await client.list_tools()
            answers = {name: await call(client, wanted) for name, wanted in plan["calls"].items()}
            print(json.dumps({"revision": client.protocol_version, "tools": [tool.name for tool in tools.tools], "answers": answers}))


asyncio.run(main())
