"""Where used capabilities are remembered. A capability is consumed once, before the call runs.

Promised by every store here: of any number of racing presentations of one `jti`, one gets True. A store that raises is a
store that is away, and then nothing runs. Insert before execute means at most once: a crash in between leaves a call that
did not run, never one that ran twice.
"""

import inspect
import math
import os
import threading
import time
import warnings
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol

from ..formats.encoding import sha256


class UsedStore(Protocol):
    def consume(self, audience: str, jti: str, forget_at: float) -> bool | Awaitable[bool]:
        """True if this `jti` had not been used. Remember it until `forget_at`, in seconds since 1970."""


class MemoryStore:
    """For one process, and until it ends. Replicas do not see each other's, so it says so."""

    def __init__(self) -> None:
        warnings.warn("used capabilities are kept in memory; with a second replica use a shared store", stacklevel=2)
        self._used: dict[tuple[str, str], float] = {}
        self._swept_at = 0.0
        self._lock = threading.Lock()

    def consume(self, audience: str, jti: str, forget_at: float) -> bool:
        with self._lock:
            now = time.time()
            if now - self._swept_at > 60:
                self._used = {name: end for name, end in self._used.items() if end >= now}
                self._swept_at = now
            if (audience, jti) in self._used:
                return False
            self._used[audience, jti] = forget_at
            return True


class FileStore:
    """A folder, for every process of one machine: what a stdio provider needs.

    A gateway starts one child per agent and starts it again. A file that only one process can create is a slip that only one
    call can use.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._swept_at = 0.0

    def consume(self, audience: str, jti: str, forget_at: float) -> bool:
        now = time.time()
        if now - self._swept_at > 60:
            self._swept_at = now
            self._sweep(now)
        try:
            with open(self._folder / sha256(f"{audience} {jti}".encode()).hex(), "x") as file:
                file.write(str(forget_at))
        except FileExistsError:
            return False
        return True

    def _sweep(self, now: float) -> None:
        for path in self._folder.iterdir():
            # Another process may have swept it first. A file that is still empty was made this moment.
            try:
                text = path.read_text()
            except FileNotFoundError:
                continue
            if text and float(text) < now:
                path.unlink(missing_ok=True)


POSTGRES_TABLE = """create table if not exists counterfoil_used (
  audience text not null, jti text not null, forget_at bigint not null, primary key (audience, jti))"""

_INSERT = "insert into counterfoil_used (audience, jti, forget_at) values (%s, %s, %s) on conflict do nothing"
_PRUNE = """delete from counterfoil_used where (audience, jti) in
  (select audience, jti from counterfoil_used where forget_at < %s limit 1000)"""


class PostgresStore:
    """Over your own psycopg connection or pool of your making, sync or async.

    Pass the connection of the effect's own transaction, and both stand or fall together.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def consume(self, audience: str, jti: str, forget_at: float) -> bool:
        cursor = await _done(self._connection.execute(_INSERT, (audience, jti, math.ceil(forget_at))))
        return bool(cursor.rowcount == 1)


async def prune_postgres(connection: Any, now: float | None = None) -> int:
    """Forgets what no clock could still accept, a batch at a time. Returns how many."""
    cursor = await _done(connection.execute(_PRUNE, (math.floor(time.time() if now is None else now),)))
    return int(cursor.rowcount)


class RedisStore:
    """Over your own redis client, sync or async.

    A failover that loses the newest writes can let a slip pass twice: money and what cannot be undone need the SQL store.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def consume(self, audience: str, jti: str, forget_at: float) -> bool:
        name = f"counterfoil:used:{audience}:{jti}"
        return bool(await _done(self._client.set(name, "1", nx=True, pxat=math.ceil(forget_at * 1000))))


async def _done(made: Any) -> Any:
    return await made if inspect.isawaitable(made) else made
