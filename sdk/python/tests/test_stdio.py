"""C1, P3: the guard on the lines of standard input and output, alone and before a server of `mcp` 1.x."""

import io
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from counterfoil_sdk.formats.canonical import document_value
from counterfoil_sdk.formats.commitment import commit
from counterfoil_sdk.formats.encoding import from_base64url
from counterfoil_sdk.formats.envelope import holds_under
from counterfoil_sdk.servers.stdio import guarded

from .test_servers import HELLO, guard, request
from .world import ACTION, EXECUTION_KEY, ISSUER, PROJECT, Gateway, call, claims, token

HERE = Path(__file__).resolve().parents[1]
PYTHON = HERE / ".venv-mcp1/bin/python"
SEED = from_base64url("EIiJJtA4kt3i9xxgGwUUaA")
ARGS = {"path": "/notes/a", "text": '{"a": 1}'}


def slip(tool="note_write", arguments=ARGS):
    return token(claims(tool, arguments))


class Lines(unittest.IsolatedAsyncioTestCase):
    """A server of this test: it says what it is told to, and `seen` is what reached it."""

    async def run_through(self, *messages, answer=None, **changes):
        lines = (message if isinstance(message, bytes) else json.dumps(message).encode() for message in messages)
        out = io.BytesIO()
        self.door = guarded(guard(**changes), io.BytesIO(b"".join(line + b"\n" for line in lines)), out)
        seen = []
        async for line in self.door.stdin:
            seen.append(json.loads(line))
            if answer and "id" in seen[-1]:
                # In parts, as a buffered writer may.
                text = json.dumps({"jsonrpc": "2.0", "id": seen[-1]["id"], **answer}) + "\n"
                await self.door.stdout.write(text[:20])
                await self.door.stdout.write(text[20:])
                await self.door.stdout.flush()
        return seen, [json.loads(line) for line in out.getvalue().splitlines()]

    async def test_an_admitted_call_passes_as_it_came_and_its_answer_leaves_with_a_statement(self):
        asked = request("one", "tools/call", call("note_write", ARGS, slip()))
        seen, (said,) = await self.run_through(asked, answer={"result": {"content": []}})
        self.assertEqual(seen, [asked])
        statement = said["result"].pop("_meta")["dev.counterfoil/execution"]
        self.assertTrue(holds_under(statement, EXECUTION_KEY.public_key))
        self.assertEqual(statement["payload"]["outcome"], "EXECUTED")
        self.assertEqual(statement["payload"]["result"], commit(SEED, "result", document_value({"content": []})))

    async def test_what_was_not_admitted_is_answered_here_and_never_reaches_the_server(self):
        used = call("note_write", ARGS, slip())
        refused = {
            "capability_missing": call("note_write", ARGS),
            "capability_tool": call("note_write", ARGS, slip("note_list")),
            "capability_arguments": call("note_write", {**ARGS, "copies": 1}, slip()),
            "capability_used": used,
        }
        messages = [request(number, "tools/call", params) for number, params in enumerate([used, *refused.values()])]
        seen, said = await self.run_through(*messages, answer={"result": {}})
        self.assertEqual(seen, messages[:1])
        self.assertEqual([answer["error"]["data"]["reason"] for answer in said[1:]], list(refused))
        batch, (said,) = await self.run_through([request(1, "tools/call", used)])
        self.assertEqual((batch, said["error"]["data"]["reason"]), ([], "capability_batch"))

    async def test_a_line_with_two_readings_is_refused_and_the_next_one_is_read(self):
        wire = json.dumps(request(1, "tools/call", call("note_write", ARGS, slip())))
        twice = wire.replace('"id": 1', '"id": 1, "id": 2').encode()
        seen, said = await self.run_through(twice, b"\xff", b"", wire.replace('"note_write"', '"note_write\\ud800"', 1).encode(), request(3, "ping", {}))
        self.assertEqual([message["method"] for message in seen], ["ping"])
        self.assertEqual([answer["error"]["code"] for answer in said], [-32700] * 3)

    async def test_other_messages_pass_untouched_both_ways(self):
        seen, said = await self.run_through(request(1, "tools/list", {}), {"jsonrpc": "2.0", "method": "notifications/initialized"}, answer={"result": {"tools": []}})
        self.assertEqual(len(seen), 2)
        self.assertEqual(said, [{"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}])

    async def test_a_call_that_wants_no_answer_or_has_the_id_of_a_running_one_is_not_run(self):
        silent = {"jsonrpc": "2.0", "method": "tools/call", "params": call("note_write", ARGS, slip())}
        first, second = (request(7, "tools/call", call("note_write", ARGS, slip())) for _ in range(2))
        seen, said = await self.run_through(silent, first, second)
        self.assertEqual((seen, said), ([first], []))
        self.assertEqual(self.door.call(7).claims.txn, ACTION)
        self.assertIsNone(self.door.call("7"))

    async def test_errors_and_cancelled_calls_are_signed_as_what_they_were(self):
        signed = []
        note = {"on_execution": lambda statement: signed.append((statement["payload"]["outcome"], statement["payload"]["error_code"]))}
        asked = request(1, "tools/call", call("note_write", ARGS, slip()))
        await self.run_through(asked, answer={"error": {"code": -32000, "message": "no"}}, **note)
        other = request(2, "tools/call", call("note_write", ARGS, slip()))
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        await self.run_through(other, cancelled, **note)
        third = request(3, "tools/call", call("note_write", ARGS, slip()))
        await self.run_through(third, answer={"result": {"isError": True, "content": []}}, **note)
        self.assertEqual(signed, [("FAILED", "rpc_-32000"), ("ABANDONED", None), ("FAILED", "tool_error")])

    async def test_a_message_without_end_ends_the_session(self):
        with self.assertRaisesRegex(ValueError, "more than"):
            await self.run_through(b" " * (4 * 1024 * 1024 + 1))


class OlderServer(unittest.TestCase):
    """The example provider on `mcp` 1.x: scripts/test puts that line into a folder of its own."""

    def setUp(self):
        self.assertTrue(PYTHON.exists(), f"{PYTHON} is missing: scripts/test makes it, from requirements-mcp1.txt")
        world = Gateway()
        self.addCleanup(world.close)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        env = {
            **os.environ, "COUNTERFOIL_ISSUER": ISSUER, "COUNTERFOIL_PROJECT": PROJECT, "COUNTERFOIL_GATEWAY": world.address,
            "NOTES_FOLDER": str(self.folder), "NOTES_KEY": "21" * 32, "PYTHONPATH": str(HERE / "src"),
        }  # fmt: skip
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.child = self.enterContext(subprocess.Popen([PYTHON, HERE / "examples/stdio_provider.py"], env=env, **pipes))
        self.addCleanup(self.child.terminate)
        self.ask(0, "initialize", HELLO)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, number, method, params):
        self.say(request(number, method, params))
        return next(answer for answer in map(json.loads, self.child.stdout) if answer.get("id") == number)

    def test_a_server_of_the_older_line_runs_what_was_admitted_and_nothing_else(self):
        params = call("note_write", ARGS, slip())
        result = self.ask(1, "tools/call", params)["result"]
        self.assertEqual(result["content"][0]["text"], "wrote /notes/a")
        statement = result.pop("_meta")["dev.counterfoil/execution"]
        payload = statement["payload"]
        self.assertTrue(holds_under(statement, EXECUTION_KEY.public_key))
        self.assertEqual(payload["args"], commit(SEED, "args", document_value(ARGS)), "before the default was filled in")
        self.assertEqual(payload["result"], commit(SEED, "result", document_value(result)))
        self.assertEqual(self.ask(2, "tools/call", params)["error"]["data"]["reason"], "capability_used")
        self.assertEqual(self.ask(3, "tools/call", call("note_write", ARGS))["error"]["data"]["reason"], "capability_missing")
        (note,) = [json.loads(line) for line in (self.folder / "notes.jsonl").read_text("utf-8").splitlines()]
        self.assertEqual(note, {**ARGS, "copies": 1, "action": ACTION})
        self.assertEqual(self.ask(4, "tools/list", {})["result"]["tools"][0]["name"], "note_write")


