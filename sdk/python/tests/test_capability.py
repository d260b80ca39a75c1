"""C1: no fresh capability, no execution. Every way to misuse one is refused with a reason of its own."""

import asyncio
import hashlib
import hmac
import os
import tempfile
import time
import unittest
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context

from counterfoil_sdk.capability import CapabilityRefusal, FileStore, Guard, MemoryStore, PostgresStore, RedisStore
from counterfoil_sdk.execution import time_text
from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url, from_base64url
from counterfoil_sdk.formats.envelope import envelope_digest
from counterfoil_sdk.verify import KeySet

from .ledger import DECISION_KEY, PINNED_KEYS, Ledger, decision
from .world import (
    ACTION, AUDIENCE, GATEWAY_KEYS, ISSUER, KEY, PROJECT, STRANGER, call, claims, jwk, key_set, memory, token,
)  # fmt: skip

PINNED = KeySet.parse(GATEWAY_KEYS)
ARGS = {"path": "/notes/été.txt", "n": 3, "tags": ["a"], "nested": '{"a":1}'}


def guard(**changes):
    usual = {
        "issuer": ISSUER, "provider": "notes", "project": PROJECT, "env": "live", "store": memory(), "keys": PINNED,
        "generation": "seen",
    }
    return Guard(**{**usual, **changes})


def slip(*, signing=None, answers=None, **changes):
    return token(claims("note_write", ARGS, answers=answers, **changes), **(signing or {}))


def presented(capability, tool="note_write", arguments=ARGS):
    return call(tool, arguments, capability)


def present(folder, calls):
    """One of two providers on one machine: presents every call again and again, and says how many were admitted."""

    async def every():
        one = guard(store=FileStore(folder))
        return await asyncio.gather(*(one.admit(params) for _ in range(16) for params in calls), return_exceptions=True)

    return sum(not isinstance(outcome, Exception) for outcome in asyncio.run(every()))


class Capabilities(unittest.IsolatedAsyncioTestCase):
    async def reason(self, params, header=None, **changes):
        told = []
        try:
            await guard(on_refusal=lambda refusal: told.append(refusal.code), **changes).admit(params, header)
            return "admitted"
        except CapabilityRefusal as refusal:
            self.assertEqual(told, [refusal.code], "every refusal is reported")
            return refusal.code

    async def refused(self, one, params, code):
        with self.assertRaises(CapabilityRefusal) as caught:
            await one.admit(params)
        self.assertEqual(caught.exception.code, code)

    async def test_an_honest_call_is_admitted(self):
        self.assertEqual(await self.reason(presented(slip())), "admitted")
        self.assertEqual(await self.reason({"name": "note_list"}, token(claims("note_list", {}))), "admitted")
        self.assertEqual(await self.reason(call("note_write", ARGS), slip()), "admitted", "the header alone is enough")

    async def test_a_slip_that_is_none_is_refused(self):
        none = base64url(b'{"alg":"none","kid":"x","typ":"toolcap+jwt"}')
        head, body, signature = slip().split(".")
        bits = bytearray(from_base64url(signature))
        bits[5] ^= 1
        signed = ".".join(
            base64url(canonical(part)) for part in ({"alg": "HS256", "typ": "toolcap+jwt", "kid": KEY.kid}, claims("note_write", ARGS))
        )
        hs256 = f"{signed}.{base64url(hmac.new(KEY.public_key.bytes, signed.encode(), hashlib.sha256).digest())}"
        cases = {
            "capability_missing": [None],
            "capability_malformed": [
                "", "a.b", f"{head}.{body}.{signature}.{signature}", f"{none}.{body}.", hs256, 7, {"typ": "receipt/v1"},
                f"{head}.{body}=.{signature}", token({**claims("note_write", ARGS), "extra": 1}), slip(gen=True), slip(iat=1.5),
            ],
            "capability_too_long": ["a" * 4097],
            "capability_header": [
                slip(signing=header)
                for header in (
                    {"typ": "at+jwt"}, {"alg": "HS256"}, {"crit": ["x"]}, {"jku": "http://127.0.0.1/"}, {"kid": "../../etc/passwd"},
                )
            ],
            "capability_key": [slip(signing={"key": STRANGER})],
            "capability_signature": [
                f"{head}.{body}.{base64url(bytes(bits))}", slip(signing={"key": STRANGER, "kid": KEY.kid}),
            ],
        }  # fmt: skip
        for code, slips in cases.items():
            for item in slips:
                self.assertEqual(await self.reason(presented(item)), code, str(item)[:60])

    async def test_a_slip_for_another_place_is_refused(self):
        for changes, code in (
            ({"iss": "https://gw.example/p/9-zzzzzzzz"}, "capability_issuer"),
            ({"aud": "urn:another"}, "capability_audience"),
            ({"aud": [AUDIENCE]}, "capability_malformed"),
            ({"env": "test"}, "capability_environment"),
            ({"cnf": {}}, "capability_unsupported"),
            ({"adv": True}, "capability_unsupported"),
        ):
            self.assertEqual(await self.reason(presented(slip(**changes))), code)
        self.assertEqual(await self.reason(presented(slip(adv=True)), advisory="run"), "admitted")
        self.assertEqual(await self.reason(presented(slip()), slip()), "capability_twice")

    async def test_a_slip_outside_its_life_is_refused(self):
        now = int(time.time())
        for iat, exp, code in (
            (now - 40, now - 6, "capability_time"),
            (now - 40, now - 4, "admitted"),
            (now + 20, now + 40, "capability_time"),
            (now, now + 61, "capability_life"),
            (now, now, "capability_life"),
        ):
            self.assertEqual(await self.reason(presented(slip(iat=iat, nbf=iat - 5, exp=exp))), code)
        hour_ago = time_text(datetime.now(UTC) - timedelta(hours=1))
        retired = KeySet.parse(key_set(jwk(KEY, "capability", until=hour_ago)))
        self.assertEqual(await self.reason(presented(slip()), keys=retired), "capability_time")

    async def test_a_slip_for_other_arguments_is_refused(self):
        others = [
            {**ARGS, "n": "3"}, {**ARGS, "n": 3.5}, {**ARGS, "extra": None}, {**ARGS, "nested": {"a": 1}}, {**ARGS, "n": True},
            {**ARGS, "path": "/notes/e\u0301te\u0301.txt"}, {"path": ARGS["path"]}, [ARGS], None,
        ]  # fmt: skip
        for other in others:
            self.assertEqual(await self.reason(presented(slip(), "note_write", other)), "capability_arguments", other)
        self.assertEqual(await self.reason(presented(slip(), "note_write", {**ARGS, "n": 3.0})), "admitted", "one number")
        self.assertEqual(await self.reason(presented(slip(), "note_delete")), "capability_tool")
        for unbound in ({"a": "\ud800"}, {"a": 2**53}, {"a": float("nan")}):
            self.assertEqual(await self.reason(presented(slip(), "note_write", unbound)), "capability_not_bindable")
        asked = slip(answers={"ask": {"action": "accept"}})
        given = call("note_write", ARGS, asked, inputResponses={"ask": {"action": "decline"}})
        self.assertEqual(await self.reason(given), "capability_arguments")
        self.assertEqual(await self.reason(call("note_write", ARGS, asked)), "capability_arguments")
        given["inputResponses"]["ask"]["action"] = "accept"
        self.assertEqual(await self.reason(given), "admitted")

    async def test_a_slip_is_used_once_here_and_on_another_replica(self):
        shared = memory()
        one, other = guard(store=shared), guard(store=shared)
        params = presented(slip())
        await one.admit(params)
        await self.refused(one, params, "capability_used")
        await self.refused(other, params, "capability_used")

    async def test_of_racing_presentations_one_is_admitted(self):
        shared = memory()
        guards = [guard(store=shared), guard(store=shared)]
        slips = [presented(slip()) for _ in range(50)]
        racing = [guards[at % 2].admit(slips[at % 50]) for at in range(1600)]
        outcomes = await asyncio.gather(*racing, return_exceptions=True)
        self.assertEqual(sum(not isinstance(outcome, Exception) for outcome in outcomes), 50)

    async def test_of_racing_presentations_to_two_processes_one_is_admitted(self):
        calls = [presented(slip()) for _ in range(50)]
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(2, get_context("spawn")) as pool:
            counts = list(pool.map(present, [folder] * 2, [calls] * 2))
        self.assertEqual(sum(counts), 50, f"{counts} of 1600 presentations")

    async def test_a_refused_call_uses_nothing_up(self):
        one, capability = guard(), slip()
        await self.refused(one, presented(capability, "note_write", {}), "capability_arguments")
        await one.admit(presented(capability))

    async def test_without_a_store_nothing_runs(self):
        class Away:
            async def consume(self, *_):
                raise ConnectionError("refused")

        class Silent:
            def consume(self, *_):
                return None

        with self.assertRaises(TypeError):
            guard(store=None)
        self.assertEqual(await self.reason(presented(slip()), store=Away()), "capability_store")
        self.assertEqual(await self.reason(presented(slip()), store=Silent()), "capability_used")

    async def test_the_shared_stores_say_yes_once(self):
        rows = set()

        class Cursor:
            def __init__(self, rowcount):
                self.rowcount = rowcount

        class Postgres:
            async def execute(self, _, values):
                is_new = values[:2] not in rows
                rows.add(values[:2])
                return Cursor(int(is_new))

        class Redis:
            def set(self, name, _, *, nx, pxat):
                is_new = nx and pxat > 0 and name not in rows
                rows.add(name)
                return True if is_new else None

        for store in (PostgresStore(Postgres()), RedisStore(Redis())):
            self.assertIs(await store.consume("a", "j", 1), True)
            self.assertIs(await store.consume("a", "j", 1), False)
        with warnings.catch_warnings(record=True, action="always") as said:
            MemoryStore()
        self.assertIn("replica", str(said[0].message))

    async def test_a_folder_remembers_across_processes_and_forgets_what_no_clock_accepts(self):
        folder, later = self.enterContext(tempfile.TemporaryDirectory()), time.time() + 60
        self.assertIs(FileStore(folder).consume("a", "1", later), True)
        self.assertIs(FileStore(folder).consume("a", "1", later), False)
        self.assertIs(FileStore(folder).consume("b", "1", 1), True)
        with ThreadPoolExecutor() as pool:
            racing = list(pool.map(lambda _: FileStore(folder).consume("a", "2", later), range(40)))
        self.assertEqual(sum(racing), 1)
        self.assertEqual(len(os.listdir(folder)), 2, "what had ended was swept")

    async def test_a_slip_of_before_a_kill_is_refused(self):
        one = guard()
        await one.admit(presented(slip(gen=4)))
        await self.refused(one, presented(slip(gen=3)), "capability_killed")

    async def test_a_key_of_another_purpose_signs_no_capability(self):
        keys = KeySet.parse(key_set(jwk(KEY, "decision")))
        self.assertEqual(await self.reason(presented(slip()), keys=keys), "capability_key")


    async def test_in_mode_proof_a_slip_alone_is_not_enough(self):
        pinned = KeySet.parse(PINNED_KEYS)
        made = claims("note_write", ARGS)

        async def receipt(key=DECISION_KEY, **changes):
            return await Ledger().append(decision(**{"action": ACTION, "capability": made["jti"], **changes}), key)

        async def answer(receipt, dec=None):
            digest = envelope_digest(receipt["statement"]) if receipt else made["dec"]
            params = presented(token({**made, "dec": dec or digest}))
            if receipt:
                params["_meta"]["dev.counterfoil/receipt"] = receipt
            return await self.reason(params, proof=pinned)

        self.assertEqual(await answer(await receipt()), "admitted")
        self.assertEqual(await answer(await receipt(verdict="DENY", reason="no_rule", effect="advisory")), "admitted")
        for forged in (
            None, await receipt(verdict="DENY", reason="no_rule"), await receipt(key=STRANGER), await receipt(capability=None),
            await receipt(action="act_019355a0c1007000800000000000b002"),
        ):  # fmt: skip
            self.assertEqual(await answer(forged), "capability_receipt")
        self.assertEqual(await answer(await receipt(), dec="sha256:" + "0" * 64), "capability_receipt")
