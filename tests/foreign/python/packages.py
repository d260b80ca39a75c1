"""Both packages, packed, installed from the packed files with no network, and used: version, dev, an orderly end.

    packages.py <folder with the built programs>
"""

import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Nothing is fetched, and nobody's settings count.
QUIET = {**os.environ, "npm_config_offline": "true", "npm_config_audit": "false", "npm_config_fund": "false",
         "npm_config_update_notifier": "false", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(*words, cwd=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=QUIET, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def free_ports():
    held = [socket.socket() for _ in range(3)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    return [str(each.getsockname()[1]) for each in held]


def dev_stands_and_ends(program, folder):
    """`counterfoil dev` as a newcomer would start it, and a polite kill of what they started."""
    folder.mkdir()
    gateway, evidence, internal = free_ports()
    ports = ["--gateway-port", gateway, "--evidence-port", evidence, "--internal-port", internal]
    log = open(folder / "log", "w+")
    started = subprocess.Popen([str(program), "dev", *ports], cwd=folder, env=QUIET, stdout=log, stderr=log,
                               stdin=subprocess.DEVNULL)
    try:
        until_it_stands(started, folder / "log")
        started.terminate()
        if started.wait(30) != 0:
            sys.exit(f"dev ended with {started.returncode}: {(folder / 'log').read_text()}")
    finally:
        started.kill()
        forget_database(folder / ".counterfoil")


def until_it_stands(started, log):
    until = time.monotonic() + 60
    while "Ctrl-C stops everything" not in log.read_text():
        if started.poll() is not None or time.monotonic() > until:
            sys.exit(f"dev does not stand: {log.read_text()}")
        time.sleep(0.2)


def forget_database(deployment):
    """As root the database lies outside the folder, in one that is named after it."""
    name = hashlib.sha256(os.fsencode(deployment.resolve())).hexdigest()[:16]
    shutil.rmtree(f"/var/tmp/counterfoil-{name}", ignore_errors=True)


def npm(binary, work):
    packed = work / "npm"
    run("node", ROOT / "packaging/npm/pack.mjs", binary, "linux-x64", packed)
    site = work / "site"
    site.mkdir()
    (site / "package.json").write_text('{"private": true}')
    run("npm", "install", "--ignore-scripts", *sorted(packed.glob("*.tgz")), cwd=site)
    said = run("npx", "--no-install", "counterfoil", "--version", cwd=site)
    dev_stands_and_ends(site / "node_modules/.bin/counterfoil", work / "npm-dev")

    shutil.rmtree(site / "node_modules/@counterfoil")
    without = subprocess.run([site / "node_modules/.bin/counterfoil"], capture_output=True, text=True)
    if without.returncode != 1 or "no package @counterfoil/" not in without.stderr:
        sys.exit(f"without its binary the launcher says: {without.stderr}")
    return said


def wheel(binary, work):
    packed = work / "wheel"
    run(sys.executable, ROOT / "packaging/python/wheel.py", binary, "linux-x64", packed)
    venv.create(work / "venv", with_pip=True)
    run(work / "venv/bin/pip", "install", "-q", *packed.glob("*.whl"))
    program = work / "venv/bin/counterfoil"
    said = run(program, "--version")
    run(work / "venv/bin/pip", "uninstall", "-q", "-y", "counterfoil")
    if program.exists():
        sys.exit("uninstalled, and still there")
    return said


def main(programs):
    work = pathlib.Path(tempfile.mkdtemp(prefix="cf-packages-"))
    try:
        binary = work / "counterfoil"
        shutil.copy(programs / "counterfoil", binary)
        if shutil.which("strip"):
            # Debug symbols are most of it, and packing them takes longest.
            run("strip", binary)
        direct = run(binary, "--version")
        for name, said in (("npm", npm(binary, work)), ("wheel", wheel(binary, work))):
            if said != direct:
                sys.exit(f"{name} says {said}, not {direct}")
    finally:
        shutil.rmtree(work)
    print("both packages hold")


if __name__ == "__main__":
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        print("only linux-x64 is packed here")
    else:
        main(pathlib.Path(sys.argv[1]).resolve())
