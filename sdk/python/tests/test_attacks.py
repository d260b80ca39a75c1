"""C1: the attack suite, against the example provider as a process of its own. Each is refused before the tool runs, with its
own reason."""

import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url

from .world import ISSUER, KEY, PROJECT, STRANGER, Gateway, call, claims, token

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/asgi_provider.py"
ARGS = {"path": "/notes/été.txt", "text": "x", "copies": 3}


def slip(*, signing=None, **changes):
    return token(claims("note_write", ARGS, **changes), **(signing or {}))


def presented(capability, arguments=ARGS, tool="note_write"):
    return call(tool, arguments, capability)


def forged():
    """Tokens that are none, or not ours."""
    head, body, signature = slip().split(".")
    none = base64url(b'{"alg":"none","kid":"x","typ":"toolcap+jwt"}')
    signed = f"{base64url(canonical({'alg': 'HS256', 'kid': KEY.kid, 'typ': 'toolcap+jwt'}))}.{body}"
    by_hmac = base64url(hmac.new(KEY.public_key.bytes, signed.encode(), hashlib.sha256).digest())
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    return {
        "no capability": ("capability_missing", None),
        "alg none": ("capability_malformed", f"{none}.{body}."),
        "HS256 with the public key": ("capability_malformed", f"{signed}.{by_hmac}"),
        "another alg": ("capability_header", slip(signing={"alg": "HS256"})),
        "another type": ("capability_header", slip(signing={"typ": "at+jwt"})),
        "a feed as a slip": ("capability_header", slip(signing={"typ": "toolgen+jwt"})),
        "an unknown critical header": ("capability_header", slip(signing={"crit": ["x"]})),
        "a key in the token": ("capability_header", slip(signing={"jku": "http://127.0.0.1/"})),
        "a path as key id": ("capability_header", slip(signing={"kid": "../../etc/passwd"})),
        "a stranger's key": ("capability_key", slip(signing={"key": STRANGER})),
        "a stranger under our key id": ("capability_signature", slip(signing={"key": STRANGER, "kid": KEY.kid})),
        "a changed signature": ("capability_signature", f"{head}.{body}.{flipped}"),
        "a fourth part": ("capability_malformed", f"{head}.{body}.{signature}.{signature}"),
        "padding": ("capability_malformed", f"{head}.{body}=.{signature}"),
        "oversized": ("capability_too_long", "a" * 4097),
        "a number": ("capability_malformed", 7),
        "a receipt": ("capability_malformed", {"typ": "receipt/v1"}),
        "a claim of no meaning": ("capability_malformed", token({**claims("note_write", ARGS), "extra": 1})),
    }


def misused():
    """Slips that are ours, for something else."""
    now = int(time.time())
    for_elsewhere = {
        "another issuer": ("capability_issuer", {"iss": "https://gw.example/p/9-zzzzzzzz"}),
        "another provider": ("capability_audience", {"aud": "urn:another"}),
        "another environment": ("capability_environment", {"env": "test"}),
        "bound to a certificate": ("capability_unsupported", {"cnf": {}}),
        "advisory": ("capability_unsupported", {"adv": True}),
        "expired": ("capability_time", {"iat": now - 40, "nbf": now - 45, "exp": now - 6}),
        "not yet": ("capability_time", {"iat": now + 20, "nbf": now + 15, "exp": now + 40}),
        "too long-lived": ("capability_life", {"iat": now, "nbf": now - 5, "exp": now + 61}),
        "of before a kill": ("capability_killed", {"gen": 2}),
    }
    for_others = {
        "another type": {**ARGS, "copies": "3"},
        "another number": {**ARGS, "copies": 3.5},
        "true for one": {**ARGS, "copies": True},
        "a look-alike": {**ARGS, "path": "/notes/e\u0301te\u0301.txt"},
        "an extra key": {**ARGS, "more": None},
        "a key less": {"path": ARGS["path"], "text": "x"},
        "a text that holds it": json.dumps(ARGS),
        "a list": [ARGS],
        "nothing": None,
    }
    return {
        **{what: (code, presented(slip(**changes))) for what, (code, changes) in for_elsewhere.items()},
        **{what: ("capability_arguments", presented(slip(), arguments)) for what, arguments in for_others.items()},
        "another tool": ("capability_tool", presented(slip(), tool="note_delete")),
        "another answer": (
            "capability_arguments",
            call("note_write", ARGS, slip(answers={"ask": {"action": "accept"}}), inputResponses={"ask": {"action": "decline"}}),
        ),
        "an answer that nobody asked for": (
            "capability_arguments",
            call("note_write", ARGS, slip(), inputResponses={"ask": {"action": "accept"}}),
        ),
    }


class Attacks(unittest.TestCase):
    def setUp(self):
        self.world = Gateway()
        self.addCleanup(self.world.close)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.providers = [self.start(), self.start()]
        for address in self.providers:
            self.await_listening(address)

    def start(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        env = {
            **os.environ, "COUNTERFOIL_ISSUER": ISSUER, "COUNTERFOIL_PROJECT": PROJECT, "COUNTERFOIL_GATEWAY": self.world.address,
            "NOTES_FOLDER": str(self.folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen([sys.executable, EXAMPLE, str(port)], env=env, **quiet)
        self.addCleanup(child.wait, 10)
        self.addCleanup(child.terminate)
        return "127.0.0.1", port

    def await_listening(self, address):
        ends_at = time.monotonic() + 30
        while time.monotonic() < ends_at:
            try:
                return socket.create_connection(address, 1).close()
            except OSError:
                time.sleep(0.1)
        self.fail("the example does not listen")

    def post(self, body, replica=0, **headers):
        host, port = self.providers[replica]
        usual = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        request = urllib.request.Request(f"http://{host}:{port}/mcp", body.encode(), {**usual, **headers})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        return json.loads(data[0] if data else text)

    def outcome(self, params, replica=0, **headers):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self.post(json.dumps(message), replica, **headers)
        return answer["error"]["data"]["reason"] if "error" in answer else answer["result"]["content"][0]["text"]

    def notes(self):
        file = self.folder / "notes.jsonl"
        return len(file.read_text("utf-8").splitlines()) if file.exists() else 0

    def test_every_attack_on_the_example_provider_is_refused_with_its_own_reason(self):
        attacks = {what: (code, presented(capability)) for what, (code, capability) in forged().items()} | misused()
        self.assertGreaterEqual(len(attacks), 38)
        for what, (code, params) in attacks.items():
            with self.subTest(what):
                self.assertEqual(self.outcome(params), code)
        self.assertEqual(self.outcome(presented(slip()), **{"tool-capability": slip()}), "capability_twice")
        batch = json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": presented(slip())}])
        self.assertEqual(self.post(batch)["error"]["data"]["reason"], "capability_batch")
        for text in ('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', '{"n":9007199254740993}'):
            self.assertEqual(self.post(text)["error"]["code"], -32700, "a text with two readings")
        self.assertEqual(self.notes(), 0, "no tool ran")

        used = presented(slip())
        self.assertEqual(self.outcome(used), "wrote /notes/été.txt")
        self.assertEqual(self.outcome(used), "capability_used")
        self.assertEqual(self.outcome(used, replica=1), "capability_used", "and on another replica")
        shutil.rmtree(self.folder / "used")
        self.assertEqual(self.outcome(presented(slip())), "capability_store")
        self.assertEqual(self.notes(), 1)

    def test_after_a_kill_the_slips_of_before_it_are_refused(self):
        self.assertEqual(self.outcome(presented(slip())), "wrote /notes/été.txt")
        self.world.gen = 4
        self.assertEqual(self.outcome(presented(slip(gen=4))), "wrote /notes/été.txt", "a newer one says so itself")
        self.assertEqual(self.outcome(presented(slip())), "capability_killed")
