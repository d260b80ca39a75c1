"""C1: of any number of presentations one executes, over stores that several machines share: a real Postgres, a real Redis."""

import asyncio
import json
import os
import subprocess
import time
import unittest
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context
from pathlib import Path

import psycopg
import redis
import redis.asyncio
from counterfoil_sdk.capability import POSTGRES_TABLE, CapabilityRefusal, PostgresStore, RedisStore, prune_postgres
from tests.test_capability import guard, presented, slip
from tests.world import AUDIENCE

SERVERS = Path(__file__).resolve().parents[3] / "scripts/stores"
CAPABILITIES, ROUNDS, CONNECTIONS = 50, 16, 4


@asynccontextmanager
async def postgres_effect(folder):
    """The effect of a call and the use of its capability, in one transaction on one connection."""
    connection = await psycopg.AsyncConnection.connect(host=folder, user="postgres", dbname="postgres", autocommit=True)

    async def call(params):
        async with connection.transaction():
            admitted = await guard(store=PostgresStore(connection)).admit(params)
            await connection.execute("insert into effects (jti) values (%s)", (admitted.claims.jti,))

    async with connection:
        yield call


@asynccontextmanager
async def redis_effect(socket):
    client = redis.asyncio.Redis(unix_socket_path=socket)

    async def call(params):
        admitted = await guard(store=RedisStore(client)).admit(params)
        await client.hincrby("effects", admitted.claims.jti, 1)

    async with client:
        yield call


EFFECTS = {"postgres": postgres_effect, "redis": redis_effect}


def provide(kind, address, calls):
    """One of two providers: presents every call again and again, and says how many it carried out, and every refusal."""

    async def through_one_connection(rounds):
        outcomes = []
        async with EFFECTS[kind](address) as call:
            for params in [params for _ in range(rounds) for params in calls]:
                try:
                    await call(params)
                    outcomes.append("executed")
                except CapabilityRefusal as refusal:
                    outcomes.append(refusal.code)
        return outcomes

    async def every():
        ran = await asyncio.gather(*(through_one_connection(ROUNDS // CONNECTIONS) for _ in range(CONNECTIONS)))
        return [outcome for outcomes in ran for outcome in outcomes]

    return asyncio.run(every())


class SharedStores(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        # Killed with this process, whatever happens to it: it lives as long as its standard input.
        cls.servers = subprocess.Popen([SERVERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.stop)
        line = cls.servers.stdout.readline()
        if not line:
            raise RuntimeError("scripts/stores started nothing: Postgres and redis-server are needed, see scripts/machine.sh")
        cls.address = json.loads(line)
        with psycopg.connect(host=cls.address["postgres"], user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute(POSTGRES_TABLE)
            connection.execute("create table effects (jti text not null)")

    @classmethod
    def stop(cls):
        cls.servers.stdin.close()
        cls.servers.wait(30)
        cls.servers.stdout.close()

    def race(self, kind):
        calls = [presented(slip()) for _ in range(CAPABILITIES)]
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            ran = list(pool.map(provide, [kind] * 2, [self.address[kind]] * 2, [calls] * 2))
        outcomes = [outcome for outcomes in ran for outcome in outcomes]
        self.assertEqual(len(outcomes), 1600)
        self.assertEqual(outcomes.count("executed"), CAPABILITIES)
        self.assertEqual(outcomes.count("capability_used"), 1600 - CAPABILITIES)

    def test_1600_presentations_of_50_capabilities_to_two_processes_execute_50_times_with_postgres(self):
        self.race("postgres")
        with psycopg.connect(host=self.address["postgres"], user="postgres", dbname="postgres") as connection:
            counted = connection.execute("select count(*), count(distinct jti) from effects").fetchone()
        self.assertEqual(counted, (50, 50))

    def test_1600_presentations_of_50_capabilities_to_two_processes_execute_50_times_with_redis(self):
        self.race("redis")
        with redis.Redis(unix_socket_path=self.address["redis"]) as client:
            self.assertEqual([int(count) for count in client.hvals("effects")], [1] * CAPABILITIES)

    async def test_an_effect_that_fails_leaves_its_capability_unused_where_both_are_one_transaction(self):
        params = presented(slip())
        where = {"host": self.address["postgres"], "user": "postgres", "dbname": "postgres", "autocommit": True}
        async with await psycopg.AsyncConnection.connect(**where) as connection:
            one = guard(store=PostgresStore(connection))
            with self.assertRaises(ZeroDivisionError):
                async with connection.transaction():
                    await one.admit(params)
                    raise ZeroDivisionError
            await one.admit(params)
            with self.assertRaises(CapabilityRefusal):
                await one.admit(params)

    async def test_sync_and_async_clients_agree_and_what_no_clock_accepts_is_forgotten(self):
        where, later = {"host": self.address["postgres"], "user": "postgres", "dbname": "postgres", "autocommit": True}, time.time() + 60
        with psycopg.connect(**where) as plain, redis.Redis(unix_socket_path=self.address["redis"]) as client:
            async with (
                await psycopg.AsyncConnection.connect(**where) as other,
                redis.asyncio.Redis(unix_socket_path=self.address["redis"]) as second,
            ):
                for one, two in ((PostgresStore(plain), PostgresStore(other)), (RedisStore(client), RedisStore(second))):
                    self.assertIs(await one.consume(AUDIENCE, "a", later), True)
                    self.assertIs(await two.consume(AUDIENCE, "a", later), False)
                    self.assertIs(await two.consume("urn:other", "a", later), True)
                    self.assertIs(await two.consume(AUDIENCE, "b", time.time() - 5), True)
                self.assertEqual(await prune_postgres(other), 1)
            self.assertIsNone(client.get(f"counterfoil:used:{AUDIENCE}:b"))

    async def test_a_store_that_is_away_is_a_no(self):
        gone = os.path.join(self.address["postgres"], "gone")
        async with await psycopg.AsyncConnection.connect(host=self.address["postgres"], user="postgres", dbname="postgres") as closed:
            await closed.close()
        for store in (PostgresStore(closed), RedisStore(redis.asyncio.Redis(unix_socket_path=gone))):
            with self.assertRaises(CapabilityRefusal) as caught:
                await guard(store=store).admit(presented(slip()))
            self.assertEqual(caught.exception.code, "capability_store")
