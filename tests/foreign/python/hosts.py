"""Real agent hosts, driven by a scripted model: configured by their own command, imported, and governed.

    hosts.py <folder with the built programs>

Hosts that are not on the path are named and passed over: `npm install @anthropic-ai/claude-code @openai/codex` brings them.
They think that they have a network; as root, `unshare -n` in front of the command takes it from them, and nothing is missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from packages import forget_database, free_ports, until_it_stands
from scripted_model import Model

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVER = ROOT / "tests/foreign/node/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
KEPT_TO_ITSELF = {"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
                  "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                  # Nobody answers held calls here.
                  "COUNTERFOIL_HOLD_WAIT_MS": "0"}

PROMPT = "Read the graph, then write to it."
TOOLS = "mcp__memory__read_graph,mcp__memory__create_entities"
CODEX = """model = "scripted"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "ANY_KEY"
wire_api = "responses"
"""


def claude_code(home, url):
    return {
        "name": "claude-code",
        "configure": [["claude", "mcp", "add", "--scope", "user", "memory", "--", "node", SERVER]],
        "run": ["claude", "-p", PROMPT, "--allowedTools", TOOLS],
        "env": {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-none"},
    }


def codex(home, url):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(CODEX.format(url=url))
    unasked = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return {
        "name": "codex",
        "configure": [["codex", "mcp", "add", "memory", "--", "node", SERVER]],
        "run": ["codex", "exec", *unasked, PROMPT],
        "env": {"ANY_KEY": "none"},
    }


def run(words, folder, env):
    done = subprocess.run([str(word) for word in words], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=180)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def tried(kind, counterfoil):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cf-host-"))
    home = folder / "home"
    home.mkdir()
    model = Model()
    host = kind(home, model.url)
    env = {**os.environ, **KEPT_TO_ITSELF, **host["env"], "HOME": str(home)}
    gateway, evidence, internal = free_ports()
    ports = ["--gateway-port", gateway, "--evidence-port", evidence, "--internal-port", internal]
    dev = None
    try:
        for words in host["configure"]:
            run(words, folder, env)
        run([counterfoil, "import", host["name"], "--gateway", f"http://127.0.0.1:{gateway}"], folder, env)
        log = open(folder / "log", "w+")
        dev = subprocess.Popen([counterfoil, "dev", *ports], cwd=folder, env=env, stdout=log, stderr=log)
        until_it_stands(dev, folder / "log")
        run(host["run"], folder, env)
    finally:
        if dev:
            dev.terminate()
            dev.wait(30)
        forget_database(folder / ".counterfoil")
        shutil.rmtree(folder)
    read, written = (model.saw + ["", ""])[:2]
    if "entities" not in read or "Held, not executed" not in written:
        sys.exit(f"{host['name']}: the model saw {model.saw}")
    print(f"{host['name']}: a read passes, a write is held")


if __name__ == "__main__":
    program = pathlib.Path(sys.argv[1]).resolve() / "counterfoil"
    for command, kind in (("claude", claude_code), ("codex", codex)):
        if shutil.which(command):
            tried(kind, program)
        else:
            print(f"{command} is not here")
