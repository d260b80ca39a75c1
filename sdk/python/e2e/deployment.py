"""A whole deployment with the example provider behind its gateway: `counterfoil init`, then `counterfoil dev`."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

from counterfoil_sdk.execution import SigningKey

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("COUNTERFOIL_PROGRAM", str(ROOT / "target/debug/counterfoil"))
PROVIDER = [sys.executable, str(ROOT / "sdk/python/examples/provider.py")]

REGISTRY = """v = 1
[provider.notes]
capability = true
[provider.notes.tool.note_write]
service = "notes"
verb = "update"
nouns = [{ type = "path", at = "/path" }]
operation = "write"
data_class = "operational"
destination = "internal"
magnitude = "single"
reversibility = "costly"
"""
RULES = """@id("notes-write")
permit (principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/notes")
when { context.now < datetime("DEADLINE") };
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Deployment:
    def __init__(self, execution_key):
        self.folder = tempfile.TemporaryDirectory(prefix="counterfoil-e2e-")
        folder = Path(self.folder.name)
        gateway, evidence, internal = free_ports(3)
        place = [
            "--dir", str(folder / "deployment"), "--gateway-port", str(gateway), "--evidence-port", str(evidence),
            "--internal-port", str(internal),
        ]  # fmt: skip
        founded = json.loads(subprocess.run([PROGRAM, "init", "--json", *place], check=True, stdout=subprocess.PIPE).stdout)
        self.issuer, self.project, self.api_key = founded["issuer"], founded["project"], founded["api_key"]
        self.gateway, self.evidence = f"http://127.0.0.1:{gateway}", f"http://127.0.0.1:{evidence}"
        self.page = self.issuer[self.issuer.index("/p/") :]
        key = SigningKey.from_text(execution_key)
        (folder / "notes.jwk").write_text(json.dumps({"kty": "OKP", "crv": "Ed25519", "x": key.public_key.x}))
        importing = ["keys", "provider", "import", "notes", "--dir", str(folder / "deployment")]
        named = ["--file", str(folder / "notes.jwk"), "--fingerprint", key.kid]
        subprocess.run([PROGRAM, *importing, *named], check=True, stdout=subprocess.DEVNULL)
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.env = {
            "COUNTERFOIL_ISSUER": self.issuer, "COUNTERFOIL_PROJECT": self.project, "COUNTERFOIL_GATEWAY": self.gateway,
            "NOTES_FOLDER": str(self.notes), "NOTES_KEY": execution_key, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        self.write_plan(folder)
        command = [PROGRAM, "dev", "--config", str(folder / "counterfoil.toml"), *place]
        # Nobody answers here, so nobody waits.
        env = {**os.environ, "COUNTERFOIL_HOLD_WAIT_MS": "0"}
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.await_ready()

    def write_plan(self, folder):
        # What goes to the provider is kept, so that a test can say it again.
        command = ["sh", "-c", 'tee -a "$NOTES_FOLDER/asked.jsonl" | exec "$@"', "provider", *PROVIDER]
        deadline = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        members = ", ".join(f"{name} = {json.dumps(value)}" for name, value in self.env.items())
        plan = [
            'registry = "registry.toml"', 'rules = "rules.cedar"', "[provider.notes]", f"command = {json.dumps(command)}",
            f"env = {{ {members} }}",
        ]  # fmt: skip
        (folder / "registry.toml").write_text(REGISTRY)
        (folder / "rules.cedar").write_text(RULES.replace("DEADLINE", deadline))
        (folder / "counterfoil.toml").write_text("\n".join(plan) + "\n")

    def await_ready(self):
        ends_at = time.monotonic() + 40
        while time.monotonic() < ends_at and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.gateway}/readyz", timeout=2):
                    return
            except OSError:
                time.sleep(0.1)
        self.stop()
        raise RuntimeError("the gateway is not ready")

    def lines(self, name):
        path = self.notes / name
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        self.folder.cleanup()
