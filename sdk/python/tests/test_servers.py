"""C1, P3: behind the guard a server sees only what was admitted, and its answer leaves with a signed execution."""

import json
import logging
import re
import unittest

import anyio
import httpx2
import mcp_types
from fastmcp import Context as FastContext
from fastmcp import FastMCP
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from counterfoil_sdk.capability import Guard, current
from counterfoil_sdk.formats.canonical import bound_value, document_value
from counterfoil_sdk.formats.commitment import commit
from counterfoil_sdk.formats.encoding import from_base64url
from counterfoil_sdk.formats.envelope import holds_under
from counterfoil_sdk.servers.asgi import guarded
from counterfoil_sdk.servers.mcp import protect
from counterfoil_sdk.verify import KeySet

from .world import ACTION, EXECUTION_KEY, GATEWAY_KEYS, ISSUER, PROJECT, call, claims, memory, token

SEED = from_base64url("EIiJJtA4kt3i9xxgGwUUaA")
# A default that is absent, a text that holds JSON: what models change, the slip does not see.
ARGS = {"path": '{"a": 1}', "ratio": 1.0}
HELLO = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
}  # fmt: skip


def guard(**changes):
    usual = {
        "issuer": ISSUER, "provider": "notes", "project": PROJECT, "env": "live", "store": memory(), "generation": "seen",
        "keys": KeySet.parse(GATEWAY_KEYS), "signer": EXECUTION_KEY,
    }  # fmt: skip
    return Guard(**{**usual, **changes})


def slip(tool, arguments=ARGS):
    return token(claims(tool, arguments))


def furnished(server, ran, context_type=Context):
    @server.tool()
    def plain(path: str, ratio: float, depth: int = 7) -> dict[str, int]:
        ran.append((path, depth, current().claims.txn))
        return {"depth": depth}

    @server.tool()
    async def waits(path: str, ratio: float) -> str:
        await anyio.sleep(5)
        return "late"

    @server.tool()
    def fails(path: str, ratio: float) -> str:
        raise RuntimeError("broken")

    @server.tool()
    def large(path: str, ratio: float) -> str:
        return "x" * 1_100_000

    @server.tool()
    def binary(path: str, ratio: float):
        return mcp_types.ImageContent(type="image", data="AAEC", mime_type="image/png")

    @server.tool()
    async def reports(path: str, ratio: float, context: context_type) -> str:
        for step in range(3):
            await context.report_progress(step, 3)
        return "done"

    return server


def request(number, method, params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Servers(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        # The servers log the tool that fails here on purpose.
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def demand_execution(self, answer, tool, outcome, arguments=ARGS):
        result = dict(answer["result"])
        statement = result.pop("_meta")["dev.counterfoil/execution"]
        payload = statement["payload"]
        self.assertTrue(holds_under(statement, EXECUTION_KEY.public_key))
        self.assertEqual((payload["tool"], payload["outcome"]), (tool, outcome))
        self.assertEqual(payload["args"], commit(SEED, "args", document_value(arguments)))
        bound = bound_value(json.dumps(result), ("resultType",))
        self.assertEqual(payload["result"], None if bound == "none:too_large" else commit(SEED, "result", bound))

    async def speak(self, low_level, conversation):
        """Runs a server over streams, as a gateway over a pipe does."""
        async with create_client_server_memory_streams() as (ours, theirs), anyio.create_task_group() as group:
            group.start_soon(low_level.run, *theirs, low_level.create_initialization_options())

            async def send(message):
                await ours[1].send(SessionMessage(mcp_types.jsonrpc_message_adapter.validate_python(message)))

            async def ask(number, method, params):
                await send(request(number, method, params))
                self.heard = []
                while True:
                    answer = json.loads((await ours[0].receive()).message.model_dump_json(by_alias=True, exclude_unset=True))
                    if answer.get("id") == number:
                        return answer
                    self.heard.append(answer)

            await ask(0, "initialize", HELLO)
            await send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            await conversation(ask, send)
            group.cancel_scope.cancel()

    async def conversation(self, ask, send):
        used = call("plain", ARGS, slip("plain"))
        self.demand_execution(await ask(1, "tools/call", used), "plain", "EXECUTED")
        self.assertEqual(self.ran, [(ARGS["path"], 7, ACTION)])
        self.demand_execution(await ask(2, "tools/call", call("fails", ARGS, slip("fails"))), "fails", "FAILED")
        self.demand_execution(await ask("three", "tools/call", call("large", ARGS, slip("large"))), "large", "EXECUTED")
        self.demand_execution(await ask(5, "tools/call", call("binary", ARGS, slip("binary"))), "binary", "EXECUTED")
        surplus = {**ARGS, "surplus": [1.5, None]}
        self.demand_execution(await ask(6, "tools/call", call("binary", surplus, slip("binary", surplus))), "binary", self.surplus, surplus)
        watched = call("reports", ARGS, slip("reports"))
        watched["_meta"]["progressToken"] = "p"
        self.demand_execution(await ask(7, "tools/call", watched), "reports", "EXECUTED")
        self.assertEqual([said["params"]["progress"] for said in self.heard if said["method"] == "notifications/progress"], [0, 1, 2])
        self.assertEqual(len((await ask(4, "tools/list", {}))["result"]["tools"]), 6)

        self.ran.clear()
        refused = {
            "capability_used": used,
            "capability_missing": call("plain", ARGS),
            "capability_tool": call("plain", ARGS, slip("fails")),
            "capability_arguments": call("plain", {**ARGS, "depth": 7}, slip("plain")),
        }
        for number, (code, params) in enumerate(refused.items(), 10):
            error = (await ask(number, "tools/call", params))["error"]
            self.assertEqual((error["code"], error["data"]), (4030, {"reason": code}))
        await send({"jsonrpc": "2.0", "method": "tools/call", "params": call("plain", ARGS, slip("plain"))})
        await ask(99, "ping", {})
        self.assertEqual(self.ran, [])

    async def test_an_mcp_server_behind_the_guard(self):
        # A name that the function does not have is dropped, and refused by FastMCP: the slip was for it either way.
        self.ran, self.surplus = [], "EXECUTED"
        server = furnished(MCPServer("notes"), self.ran)
        protect(server, guard())
        await self.speak(server._lowlevel_server, self.conversation)

    async def test_a_fastmcp_server_behind_the_guard(self):
        self.ran, self.surplus = [], "FAILED"
        server = furnished(FastMCP("notes"), self.ran, FastContext)
        protect(server, guard())
        async with server._lifespan_manager():
            await self.speak(server._mcp_server, self.conversation)

    async def test_a_cancelled_call_leaves_a_statement_that_it_was_abandoned(self):
        signed = []
        server = furnished(MCPServer("notes"), [])
        protect(server, guard(on_execution=lambda statement: signed.append(statement["payload"]["outcome"])))

        async def conversation(ask, send):
            await send(request(1, "tools/call", call("waits", ARGS, slip("waits"))))
            await ask(2, "ping", {})
            await anyio.sleep(0.1)
            await send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
            await ask(3, "ping", {})
            await anyio.sleep(0.1)

        await self.speak(server._lowlevel_server, conversation)
        self.assertEqual(signed, ["ABANDONED"])

    async def test_an_answer_leaves_although_nobody_could_sign_for_it(self):
        class Away:
            kid = EXECUTION_KEY.kid

            def sign(self, _):
                raise ConnectionError("the key service is away")

        server = furnished(MCPServer("notes"), [])
        protect(server, guard(signer=Away()))

        async def conversation(ask, _):
            with self.assertWarnsRegex(UserWarning, "could not be signed: the key service is away"):
                answer = await ask(1, "tools/call", call("plain", ARGS, slip("plain")))
            self.assertEqual(answer["result"]["structuredContent"], {"depth": 7})

        await self.speak(server._lowlevel_server, conversation)

    async def test_a_server_without_a_chain_is_not_protected_silently(self):
        with self.assertRaises(TypeError):
            protect(object(), guard())

    async def post(self, client, body, **headers):
        content = body if isinstance(body, str) else json.dumps(body)
        usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        answer = await client.post("/mcp", content=content, headers={**usual, **headers})
        found = re.search("^data: (.+)$", answer.text, re.MULTILINE)
        return json.loads(found.group(1) if found else answer.text)

    async def test_what_cannot_be_seen_does_not_pass_to_an_asgi_application(self):
        reached, sent = [], []

        async def app(scope, receive, send):
            reached.append(scope["type"])

        async def receive():
            return {"type": "http.request", "body": json.dumps(request(1, "tools/call", call("plain", ARGS))).encode()}

        async def send(message):
            sent.append(message)

        front = guarded(app, guard())
        await front({"type": "websocket", "headers": []}, receive, send)
        self.assertEqual((reached, sent[-1]["type"]), ([], "websocket.close"))
        for method in ("PUT", "PATCH", "POST", "QUERY"):
            await front({"type": "http", "method": method, "headers": []}, receive, send)
            self.assertIn(b"capability_missing", sent[-1]["body"])
        self.assertEqual(reached, [])
        await front({"type": "http", "method": "GET", "headers": []}, receive, send)
        await front({"type": "lifespan"}, receive, send)
        self.assertEqual(reached, ["http", "lifespan"])

    async def test_an_asgi_application_behind_the_guard(self):
        for is_json in (True, False):
            ran = []
            app = furnished(MCPServer("notes"), ran).streamable_http_app(stateless_http=True, json_response=is_json)
            transport = httpx2.ASGITransport(app=guarded(app, guard()))
            async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
                used = request(1, "tools/call", call("plain", ARGS, slip("plain")))
                self.demand_execution(await self.post(client, used), "plain", "EXECUTED")
                self.assertEqual((await self.post(client, used))["error"]["data"]["reason"], "capability_used")
                by_header = request(2, "tools/call", call("plain", ARGS))
                self.demand_execution(await self.post(client, by_header, **{"tool-capability": slip("plain")}), "plain", "EXECUTED")
                self.assertEqual((await self.post(client, '{"a":1,"a":2}'))["error"]["code"], -32700)
                batch = [request(3, "tools/call", call("plain", ARGS, slip("plain")))]
                self.assertEqual((await self.post(client, batch))["error"]["data"]["reason"], "capability_batch")
                self.assertEqual(len(ran), 2)
