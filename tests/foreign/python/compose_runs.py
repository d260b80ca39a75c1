"""The deployment of docker-compose.yml, started as it says and used as its comment says. See compose.py."""

import hashlib
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

from compose import AS_ROOT, SECRET, Machine, check, the_files_agree

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def call(key, tool, arguments):
    params = {"name": tool, "arguments": arguments, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "authorization": f"Bearer {key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    request = urllib.request.Request("http://127.0.0.1:8787/mcp/notes", body, headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)["result"]


def first_call(key):
    """A gateway follows the control plane: a new key opens it within seconds, not at once."""
    until = time.monotonic() + 10
    while True:
        try:
            return call(key, "note_read", {"path": "/notes/welcome.txt"})
        except urllib.error.HTTPError as error:
            check(error.code == 401 and time.monotonic() < until, f"the new key opens the gateway: {error}")
            time.sleep(0.2)


def verdict(result):
    return result["_meta"]["dev.counterfoil/receipt"]["verdict"]


def digests(folder):
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def secrets_are_apart(machine):
    """Neither service can read what is the other's."""
    deployment = machine.folder / "deployment"
    for service, foreign in (("gateway", ["evidence.kek", "evidence-keys.sealed", "disclosure-key.jwk"]),
                             ("evidence-service", ["gateway.kek", "gateway-keys.sealed", "gateway.toml", "service-token"])):
        for name in foreign:
            check((deployment / name).exists(), f"{name} was made")
            read = machine.run(service, ["cat", str(deployment / name)])
            check(read.returncode != 0, f"{service} cannot read {name}")


def ask(path, token, body=None):
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:8790{path}", body and json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)


def answers_at_the_console(machine, key):
    """An operator's token opens the console, and an agent's key finds nothing there."""
    words = ["counterfoil", "operators", "new", "ops-1", "--role", "operator", "--dir", "/var/lib/counterfoil"]
    made = machine.run("evidence-service", words)
    token = next((word for word in made.stdout.split() if word.startswith("cfo_")), None)
    check(token, f"a token is shown: {made.stdout}{made.stderr}")
    check(ask("/v1/holds", token)["holds"] == [], "nothing waits")
    try:
        ask("/v1/holds", key)
        check(False, "an agent's key opens nothing on the console")
    except urllib.error.HTTPError as error:
        check(error.code == 404, f"an agent's key finds nothing on the console: {error}")


def main(programs):
    the_files_agree()
    machine = Machine(programs)
    try:
        machine.database()
        machine.start("postgres")
        machine.once("init")
        before = digests(machine.folder / "deployment")
        machine.once("init")
        check(digests(machine.folder / "deployment") == before, "a second start changes nothing")
        if AS_ROOT:
            secrets_are_apart(machine)
        machine.start("evidence-service")
        machine.start("gateway")

        words = ["counterfoil", "keys", "new", "--dir", "/var/lib/counterfoil"]
        made = machine.run("evidence-service", words)
        found = SECRET.search(made.stdout)
        check(found, f"a key is shown: {made.stdout}{made.stderr}")
        key = next(word for word in made.stdout.split() if word.startswith("cfk_"))

        read = first_call(key)
        deleted = call(key, "note_delete", {"path": "/notes/welcome.txt"})
        check(verdict(read) == "ALLOW" and not read.get("isError"), f"a note is read: {read}")
        check(verdict(deleted) == "DENY", f"a note is kept: {deleted}")

        answers_at_the_console(machine, key)

        for log in machine.folder.glob("*.log"):
            check(not SECRET.search(log.read_text()), f"{log.name} holds no key")
        for process in machine.running.values():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            uid = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
            check(not AS_ROOT or uid != "0", f"{process.args} does not run as root")
    finally:
        machine.stop()
    print("docker-compose.yml holds")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
