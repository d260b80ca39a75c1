"""docker-compose.yml and Dockerfile, run without a container engine.

Both are parsed, and then the very commands, users and environment that they name are run on this machine, with volumes
as folders and, for Postgres, the machine's own programs. Started as root, each service runs as the user it names.

    compose.py <folder with the built programs>
"""

import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES = COMPOSE["services"]
AS_ROOT = os.geteuid() == 0
SECRET = re.compile(r"cf[kos]_[A-Za-z0-9_-]{20}")


def check(holds, what):
    if not holds:
        sys.exit(f"does not hold: {what}")


def the_files_agree():
    """What can be seen without running anything."""
    text = (ROOT / "docker-compose.yml").read_text() + (ROOT / "Dockerfile").read_text()
    check(not re.search(r"(?i)password\s*[:=]|kek\s*[:=]|token\s*[:=]", text), "no secret is written down")
    made = set(re.findall(r"useradd --uid (\d+)", text))
    copied = set(re.findall(r"COPY --from=build \S+/(\S+) /usr/local/bin/", text))
    built = set(re.findall(r"-p (\S+)", re.search(r"cargo build --release.*", text).group()))
    check(copied == built == {"counterfoil", "counterfoil-evidence", "counterfoil-gateway"}, f"{copied} {built}")
    for name, service in SERVICES.items():
        check("healthcheck" in service or service["restart"] == "no", f"{name} has a health check")
        for volume in service["volumes"]:
            check(volume.split(":")[0] in COMPOSE["volumes"], f"{volume} is declared")
        for other in service.get("depends_on", {}):
            check(other in SERVICES, f"{other} is there")
        for port in service.get("ports", []):
            check(port.startswith("127.0.0.1:"), f"{port} is published on this machine alone")
        if service["image"] == "counterfoil":
            user = service["user"].split(":")[0]
            check(user in made | {"0"}, f"the image has user {user}")
            check(service["cap_drop"] == ["ALL"] and service["read_only"], f"{name} has no more rights than it needs")
    mounted = {name for name, service in SERVICES.items() if any(v.startswith("socket:") for v in service["volumes"])}
    check(mounted == {"postgres", "init", "evidence-service"}, "who has the database's socket")


class Machine:
    """Volumes as folders, containers as processes."""

    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cf-compose-", dir="/tmp"))
        self.folder.chmod(0o755)
        self.running = {}
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in ("counterfoil", "counterfoil-evidence", "counterfoil-gateway"):
            # Copied, because another user may not enter the folder in which they were built.
            shutil.copy(programs / name, self.bin / name)
        self.postgres_programs = postgres_programs()
        self.paths = {}
        for service in SERVICES.values():
            for volume in service["volumes"]:
                name, inside = volume.split(":")
                (self.folder / name).mkdir(exist_ok=True)
                self.paths[inside] = str(self.folder / name)

    def outside(self, text):
        for inside, path in self.paths.items():
            text = text.replace(inside, path)
        if "postgres" in self.running:
            text = text.replace("/proc/1/", f"/proc/{self.running['postgres'].pid}/")
        return text

    def words(self, service, words):
        words = [self.outside(word) for word in words]
        user = service.get("user")
        if AS_ROOT and user and user != "0:0":
            uid, gid = user.split(":")
            words = ["setpriv", "--reuid", uid, "--regid", gid, "--clear-groups", "--", *words]
        return words

    def environment(self, service):
        path = f"{self.bin}:{self.postgres_programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {"PATH": path, **service.get("environment", {})}

    def start(self, name):
        service = SERVICES[name]
        log = open(self.folder / f"{name}.log", "ab")
        words = self.words(service, service["command"])
        self.running[name] = subprocess.Popen(
            words, env=self.environment(service), stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/"
        )
        self.wait_until_healthy(name)

    def run(self, name, words=None):
        """To its end, as `docker compose exec` or a service that runs once."""
        service = SERVICES[name]
        words = self.words(service, words or service["command"])
        return subprocess.run(words, env=self.environment(service), capture_output=True, text=True, cwd="/")

    def once(self, name):
        done = self.run(name)
        with open(self.folder / f"{name}.log", "a") as log:
            log.write(done.stdout + done.stderr)
        check(done.returncode == 0, f"{name} ends well: {done.stdout}{done.stderr}")

    def wait_until_healthy(self, name):
        test = SERVICES[name]["healthcheck"]["test"]
        words = {"CMD": test[1:], "CMD-SHELL": ["sh", "-c", test[1]]}[test[0]]
        until = time.monotonic() + 30
        while self.run(name, words).returncode != 0:
            said = (self.folder / f"{name}.log").read_text()
            check(self.running[name].poll() is None, f"{name} goes on running: {said[-2000:]}")
            check(time.monotonic() < until, f"{name} becomes healthy: {said[-2000:]}")
            time.sleep(0.2)

    def database(self):
        """What the image's entrypoint does before it runs the command, with the machine's own Postgres."""
        data, socket = self.paths["/var/lib/postgresql/data"], self.paths["/var/run/postgresql"]
        user = unprivileged() if AS_ROOT else None
        if user:
            SERVICES["postgres"]["user"] = f"{user.pw_uid}:{user.pw_gid}"
            os.chown(data, user.pw_uid, user.pw_gid)
            os.chown(socket, user.pw_uid, user.pw_gid)
        trust = SERVICES["postgres"]["environment"]["POSTGRES_HOST_AUTH_METHOD"]
        made = self.run("postgres", ["initdb", "-D", data, "-U", "postgres", "-A", trust, "-N"])
        check(made.returncode == 0, f"initdb: {made.stderr}")
        # Two settings that the image has built in.
        SERVICES["postgres"]["command"] += ["-D", data, "-k", socket]

    def stop(self):
        for process in reversed(self.running.values()):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder)


def unprivileged():
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    sys.exit("Postgres refuses root, and there is no user `postgres` or `nobody`")


def postgres_programs():
    asked = shutil.which("pg_config") and subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout
    usual = [f"/usr/lib/postgresql/{version}/bin" for version in (18, 17, 16, 15)]
    unpacked = str(ROOT / ".counterfoil/postgres/bin")
    for folder in [os.environ.get("PG_BIN"), (asked or "").strip(), *usual, unpacked]:
        if folder and os.path.exists(f"{folder}/initdb"):
            return folder
    sys.exit("no Postgres found; set PG_BIN")
