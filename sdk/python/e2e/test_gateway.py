"""C1, C2, P3, P7: a real gateway, and the example provider behind it."""

import asyncio
import json
import os
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from counterfoil_sdk.execution import SigningKey
from counterfoil_sdk.formats.encoding import from_base64url
from counterfoil_sdk.formats.envelope import holds_under
from counterfoil_sdk.receipts import ReceiptStore
from counterfoil_sdk.verdict import NotCleared, NoVerdict, Proposal, Session, Verdicts
from counterfoil_sdk.verify import KeySet, verify_package, verify_receipt

from .deployment import PROGRAM, PROVIDER, Deployment

SEED = "21" * 32
ARGS = {"path": "/notes/a.txt", "text": '{"a": 1}'}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "e2e", "version": "1"}}


class RealGateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = Deployment(SEED)
        cls.addClassCleanup(cls.world.stop)
        cls.session = None
        cls.ask(0, "initialize", HELLO)

    @classmethod
    def get(cls, address):
        request = urllib.request.Request(address, headers={"authorization": f"Bearer {cls.world.api_key}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    @classmethod
    def ask(cls, number, method, params):
        headers = {
            "authorization": f"Bearer {cls.world.api_key}", "content-type": "application/json",
            "accept": "application/json, text/event-stream", **({"mcp-session-id": cls.session} if cls.session else {}),
        }  # fmt: skip
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        request = urllib.request.Request(f"{cls.world.gateway}/mcp/notes", body, headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            cls.session = cls.session or answer.headers.get("mcp-session-id")
            text = answer.read().decode()
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        return json.loads(data[0] if data else text)

    def around(self, message):
        """The provider without the gateway, as somebody who goes around it would start it."""
        env = {**os.environ, **self.world.env}
        hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}
        lines = [hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}, message]
        with subprocess.Popen(PROVIDER, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            child.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
            child.stdin.flush()
            answers = (json.loads(line) for line in child.stdout)
            answer = next(answer for answer in answers if answer.get("id") == message["id"])
            child.terminate()
        return answer

    def observation_after(self, seq, pinned):
        for _ in range(50):
            time.sleep(0.1)
            # The observation and the provider's statement follow the decision, in whichever order.
            for place in (seq + 1, seq + 2):
                try:
                    payload = verify_receipt(self.get(f"{self.world.evidence}/v1/receipts/{place}"), pinned).payload
                except urllib.error.HTTPError as error:
                    error.close()
                    continue
                if payload["typ"] == "observation/v1":
                    return payload
        self.fail("no observation")

    def acceptances(self):
        """What the provider's statements became: through the gateway, which passes the question on."""
        for _ in range(50):
            told = json.loads(self.get(f"{self.world.gateway}/v1/acceptances"))
            if told["acceptances"]:
                return told["acceptances"]
            time.sleep(0.1)
        return []

    def test_the_real_gateways_capability_is_accepted_and_both_halves_match(self):
        params = {"name": "note_write", "arguments": ARGS, "_meta": {"dev.counterfoil/want": "full"}}
        result = self.ask(1, "tools/call", params)["result"]
        self.assertEqual(result["content"][0]["text"], "wrote /notes/a.txt")
        (note,) = self.world.lines("notes.jsonl")
        action = note.pop("action")
        self.assertEqual(note, {**ARGS, "copies": 1})

        pinned = KeySet.parse(self.get(f"{self.world.evidence}{self.world.page}/jwks.json"))
        store = ReceiptStore(self.enterContext(tempfile.TemporaryDirectory()), pinned)
        decision = store.keep(json.dumps(result["_meta"]["dev.counterfoil/receipt"]["receipt"]))
        (statement,) = self.world.lines("executions.jsonl")
        said = statement["payload"]
        self.assertTrue(holds_under(statement, SigningKey.from_text(SEED).public_key))
        self.assertEqual(action, decision.payload["action"])
        self.assertEqual((said["decision"], said["capability"]), (decision.digest, decision.payload["capability"]))
        self.assertEqual(said["args"], decision.payload["args"], "both sides commit to the arguments alike")

        observation = self.observation_after(decision.entry["seq"], pinned)
        self.assertEqual((observation["status"], observation["result"]), ("returned", said["result"]), "and to the result")
        (accepted,) = self.acceptances()
        self.assertEqual((accepted["provider"], accepted["signature_valid"]), ("notes", True))
        wrapped = verify_receipt(json.dumps(accepted["receipt"]), pinned).payload
        self.assertEqual(wrapped["signer"]["thumbprint"], statement["signature"]["kid"])
        checked = asyncio.run(store.check(f"{self.world.evidence}{self.world.page}"))
        self.assertEqual((checked.found, checked.alarm), (1, None))

    def test_then_a_replay_and_a_call_around_the_gateway_are_refused(self):
        asked = next(line for line in self.world.lines("asked.jsonl") if line["method"] == "tools/call")
        self.assertEqual(self.around(asked)["error"]["data"]["reason"], "capability_used")
        direct = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "note_write", "arguments": ARGS}}
        self.assertEqual(self.around(direct)["error"]["data"]["reason"], "capability_missing")
        self.assertEqual(len(self.world.lines("notes.jsonl")), 1)

    def test_then_the_whole_record_verifies_as_the_program_says(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        keys, key = folder / "jwks.json", folder / "key"
        keys.write_bytes(self.get(f"{self.world.evidence}{self.world.page}/jwks.json"))
        key.touch(0o600)
        key.write_text(self.world.api_key)
        pinned = KeySet.parse(keys.read_bytes())
        for kind in ("", "--public", "--with-rules"):
            package = folder / f"package{kind}.zip"
            asked = [PROGRAM, "package", str(package), "--evidence", self.world.evidence, "--key-file", str(key)]
            subprocess.run([*asked, *filter(None, [kind])], check=True, stdout=subprocess.DEVNULL)
            told = subprocess.run([PROGRAM, "verify", package, "--trust", keys, "--json"], stdout=subprocess.PIPE, check=False)
            theirs, ours = json.loads(told.stdout), verify_package(package, pinned)

            answer = (ours.verdict.answer, ours.exit_code, ours.verdict.why)
            self.assertEqual(answer, ("UNANCHORED", 10, "all of it holds; only the log operator vouches for its end"))
            self.assertEqual((theirs["outcome"], told.returncode), answer[:2])
            for name in ("first", "size", "root", "verified", "withheld", "erased", "findings"):
                self.assertEqual(getattr(ours, name), theirs[name], f"{kind} {name}")
            calls = {f"{row['account']} {row['status']}": row["count"] for row in theirs["calls"]}
            self.assertEqual((ours.calls, ours.open), (calls, theirs["open"]["count"]), kind)
            self.assertEqual(len(ours.not_checked), len(theirs["not_checked"]), (ours.not_checked, theirs["not_checked"]))

            changed = bytearray(package.read_bytes())
            changed[len(changed) // 2] ^= 1
            self.assertEqual(verify_package(bytes(changed), pinned).exit_code, 40, "changed on the way")

    def test_then_what_the_rules_do_not_allow_never_reaches_the_provider(self):
        self.ask(2, "tools/call", {"name": "note_write", "arguments": {"path": "/elsewhere/a.txt", "text": "x"}})
        self.assertEqual(len(self.world.lines("notes.jsonl")), 1)

    def verdicts(self):
        return Verdicts(
            gateway=self.world.gateway, api_key=self.world.api_key, project=self.world.project, env="live",
            pinned=KeySet.parse(self.get(f"{self.world.evidence}{self.world.page}/jwks.json")), signer=SigningKey.from_text(SEED),
        )  # fmt: skip

    def test_vendor_that_asks_first_runs_what_is_allowed_once_and_nothing_else(self):
        verdicts, used, ran = self.verdicts(), [], []
        request = {"hash": "sha256:" + "0" * 64, "anchors": []}
        asyncio.run(verdicts.open(Session("run-1", {"external_id": "a-1"}, {"type": "service", "ref": "p-1"}, request)))
        before = len(self.world.lines("notes.jsonl"))

        def proposal(seq, path):
            return Proposal("run-1", seq, {"name": "note_write", "provider": "notes"}, {"path": path, "text": "x"}, disclose=True)

        def present(cleared):
            used.append(cleared)
            meta = {"dev.counterfoil/capability": cleared.decided.capability}
            params = {"name": "note_write", "arguments": proposal(0, "/notes/b.txt").arguments, "_meta": meta}
            return self.around({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

        answer = asyncio.run(verdicts.guard(proposal(0, "/notes/b.txt"), present))
        self.assertEqual(answer["result"]["content"][0]["text"], "wrote /notes/b.txt")
        self.assertEqual(present(used[0])["error"]["data"]["reason"], "capability_used")
        stated = [json.loads(from_base64url(one["receipt"]["statement"]["payload"]["bytes"])) for one in self.acceptances()]
        reported = [said["outcome"] for said in stated if said.get("action_id") == used[0].decided.action]
        self.assertEqual(reported, ["EXECUTED"])

        with self.assertRaises(NotCleared) as refused:
            asyncio.run(verdicts.guard(proposal(1, "/elsewhere/b.txt"), ran.append))
        self.assertEqual((refused.exception.decided.verdict, ran), ("STEP_UP", []))
        self.assertEqual(len(self.world.lines("notes.jsonl")), before + 1)

    def test_with_the_gateway_stopped_nothing_runs(self):
        verdicts, ran = self.verdicts(), []
        self.world.stop()
        with self.assertRaises(NoVerdict):
            asyncio.run(verdicts.guard(Proposal("run-1", 2, {"name": "note_write"}, ARGS), ran.append))
        self.assertEqual(ran, [])
