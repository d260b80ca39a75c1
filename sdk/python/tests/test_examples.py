"""C1: the example providers over HTTP run, admit a slip once, and refuse a call without one."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

from .world import ISSUER, PROJECT, Gateway, call, claims, token

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
ARGS = {"path": "/notes/a", "text": "x"}


class Examples(unittest.TestCase):
    def start(self, name, world):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        folder = self.enterContext(tempfile.TemporaryDirectory())
        env = {
            **os.environ, "COUNTERFOIL_ISSUER": ISSUER, "COUNTERFOIL_PROJECT": PROJECT, "COUNTERFOIL_GATEWAY": world.address,
            "NOTES_FOLDER": folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen([sys.executable, str(EXAMPLES / name), str(port)], env=env, **quiet)
        self.addCleanup(child.wait, 10)
        self.addCleanup(child.terminate)
        ends_at = time.monotonic() + 30
        while time.monotonic() < ends_at and child.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return f"http://127.0.0.1:{port}/mcp"
            except OSError:
                time.sleep(0.1)
        self.fail(f"{name} does not listen")

    def post(self, address, params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=20) as answer:
            text = answer.read().decode()
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        return json.loads(data[0] if data else text)

    def test_an_example_provider_runs_what_was_admitted_and_nothing_else(self):
        world = Gateway()
        self.addCleanup(world.close)
        for name in ("asgi_provider.py", "fastmcp_provider.py"):
            with self.subTest(name):
                address = self.start(name, world)
                params = call("note_write", ARGS, token(claims("note_write", ARGS)))
                self.assertEqual(self.post(address, params)["result"]["content"][0]["text"], "wrote /notes/a")
                self.assertEqual(self.post(address, params)["error"]["data"]["reason"], "capability_used")
                self.assertEqual(self.post(address, call("note_write", ARGS))["error"]["data"]["reason"], "capability_missing")
