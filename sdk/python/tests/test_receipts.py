"""P5: a vendor that keeps its receipts finds out when the record was shortened or rewritten."""

import base64
import json
import tempfile
import time
import unittest
from pathlib import Path

from counterfoil_sdk.formats.envelope import sign
from counterfoil_sdk.receipts import ReceiptStore
from counterfoil_sdk.verify import KeySet, Refused

from .ledger import PINNED_KEYS, Ledger
from .world import EXECUTION_KEY, STRANGER

PINNED = KeySet.parse(PINNED_KEYS)
VECTORS = Path(__file__).resolve().parents[3] / "docs/vectors"


async def grown(ledger, count):
    return [json.dumps(await ledger.append()) for _ in range(count)]


class Receipts(unittest.IsolatedAsyncioTestCase):
    def folder(self):
        return Path(self.enterContext(tempfile.TemporaryDirectory()))

    async def held(self, count, kept):
        ledger, folder = Ledger(), self.folder()
        store = ReceiptStore(folder, PINNED)
        receipts = await grown(ledger, count)
        for seq in kept:
            store.keep(receipts[seq])
        return ledger, store, folder

    async def test_a_record_that_only_grew_holds_what_i_hold(self):
        for before, more in ((1, 1), (5, 3), (255, 2), (256, 300)):
            ledger, store, _ = await self.held(before, [0, before - 1])
            self.assertEqual(store.seen()["size"], before)
            await grown(ledger, more)
            checked = await store.check(ledger.fetch)
            self.assertEqual((checked.size, checked.found, checked.alarm), (before + more, min(before, 2), None))
            self.assertEqual(store.seen()["size"], before + more)

    async def test_a_record_that_shrank_raises_an_alarm_with_both_notes(self):
        ledger, store, folder = await self.held(5, [1, 4])
        shortened = Ledger()
        shortened.leaves = ledger.leaves[:3]

        checked = await store.check(shortened.fetch)

        self.assertEqual(checked.alarm.kind, "shrank")
        notes = [file.read_text().split("\n")[1] for file in folder.glob("*.note")]
        self.assertEqual(sorted(notes), ["3", "5"])
        self.assertEqual(store.seen()["size"], 5, "the larger note stays")

    async def test_a_checkpoint_that_is_published_a_moment_later_is_no_alarm(self):
        ledger, store, _ = await self.held(5, [4])
        before, asked = Ledger(), []
        before.leaves = ledger.leaves[:3]

        async def fetch(path):
            asked.append(path)
            return await (before if len(asked) == 1 else ledger).fetch(path)

        checked = await store.check(fetch)

        self.assertEqual((checked.size, checked.alarm), (5, None))

    async def test_a_record_that_forked_raises_an_alarm_at_the_same_size_and_beyond_it(self):
        for size in (5, 8):
            _, store, folder = await self.held(5, [1, 4])
            other = Ledger()
            await grown(other, size)
            self.assertEqual((await store.check(other.fetch)).alarm.kind, "forked")
            self.assertEqual(len(list(folder.glob("*.note"))), 2)

    async def test_receipts_of_two_histories_raise_an_alarm_whichever_is_shown(self):
        _, store, _ = await self.held(3, [0])
        other = Ledger()
        store.keep((await grown(other, 5))[4])
        alarm = (await store.check(other.fetch)).alarm
        self.assertEqual((alarm.kind, alarm.seq, len(alarm.notes)), ("missing", 0, 2))

    async def test_a_log_whose_tiles_do_not_add_up_to_its_checkpoint_raises_an_alarm(self):
        ledger, store, _ = await self.held(4, [0])
        await grown(ledger, 3)

        async def lying(path):
            data = bytearray(await ledger.fetch(path))
            if path.startswith("tile"):
                data[40] ^= 1
            return bytes(data)

        self.assertEqual((await store.check(lying)).alarm.kind, "forked")

    async def test_a_checkpoint_that_no_pinned_key_signed_is_none(self):
        ledger, store, _ = await self.held(3, [0])
        stranger = Ledger(log=STRANGER)
        stranger.leaves = ledger.leaves
        with self.assertRaises(Refused):
            await store.check(stranger.fetch)
        with self.assertRaises(Refused):
            store.keep("{}")

    async def test_an_execution_without_an_acceptance_is_overdue_after_ten_minutes(self):
        now = [time.time()]
        store = ReceiptStore(self.folder(), PINNED, lambda: now[0])
        statement = await sign({"typ": "execution/v1"}, EXECUTION_KEY)
        store.expect_acceptance(statement)
        now[0] += 9 * 60
        self.assertEqual(store.overdue(), [])
        now[0] += 2 * 60
        self.assertEqual(store.overdue(), [statement])

    async def test_an_acceptance_ends_the_waiting(self):
        receipt = json.loads((VECTORS / "receipts/execution.json").read_text("utf-8"))["receipt"]
        now = [time.time()]
        store = ReceiptStore(self.folder(), KeySet.parse((VECTORS / "jwks.json").read_bytes()), lambda: now[0])
        store.expect_acceptance(json.loads(base64.urlsafe_b64decode(receipt["statement"]["payload"]["bytes"] + "==")))
        now[0] += 11 * 60
        self.assertEqual(len(store.overdue()), 1)
        store.accept(json.dumps(receipt))
        self.assertEqual(store.overdue(), [])
