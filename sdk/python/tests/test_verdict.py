"""C2: unreachable, slow, malformed, unsigned, expired, or for another action: no."""

import asyncio
import json
import tempfile
import threading
import time
import unittest
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from counterfoil_sdk.execution import time_text
from counterfoil_sdk.verdict import NotCleared, NoVerdict, Outbox, Proposal, Verdicts
from counterfoil_sdk.verify import KeySet

from .ledger import PINNED_KEYS, Ledger, answer, decision
from .world import EXECUTION_KEY, PROJECT, STRANGER

ARGS = {"path": "/notes/a"}
PROPOSAL = Proposal("s-1", 1, {"name": "note_write", "provider": "notes"}, ARGS)


class Api:
    """Answers with what `respond(path)` gives: an object or text, a status, or None for a connection that just ends."""

    def __init__(self, respond):
        self.asked, self.skew = [], 0
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                api.asked.append((self.path, dict(self.headers.items()), body))
                made = respond(self.path)
                if made is None:
                    self.close_connection = True
                    return
                data = made if isinstance(made, str) else "{}" if isinstance(made, int) else json.dumps(made)
                self.send_response(made if isinstance(made, int) else 200)
                self.send_header("content-length", str(len(data.encode())))
                self.end_headers()
                self.wfile.write(data.encode())

            def log_message(self, *_):
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.verdicts = Verdicts(
            gateway=f"http://127.0.0.1:{self.server.server_port}", api_key="cfk_test", project=PROJECT, env="live",
            pinned=KeySet.parse(PINNED_KEYS), signer=EXECUTION_KEY, now=lambda: time.time() + self.skew,
        )  # fmt: skip

    def close(self):
        self.server.shutdown()
        self.server.server_close()


async def allow(arguments=ARGS, more=None, **changes):
    return answer(await Ledger().append(decision(arguments, **changes)), **(more or {}))


class Verdict(unittest.IsolatedAsyncioTestCase):
    def api(self, respond):
        made = Api(respond)
        self.addCleanup(made.close)
        return made

    async def outcome(self, made):
        """Asks once; the work must not run unless the outcome is None."""
        ran = []
        try:
            await self.api(lambda _: made).verdicts.guard(PROPOSAL, ran.append)
        except NoVerdict as error:
            self.assertEqual(ran, [])
            return error.code
        except NotCleared as error:
            self.assertEqual(ran, [])
            return error.decided.verdict
        self.assertEqual(len(ran), 1)
        return None

    async def refused(self, waiting, code):
        with self.assertRaises(NoVerdict) as caught:
            await waiting
        self.assertEqual(caught.exception.code, code)

    async def test_an_allow_that_is_signed_recent_and_ours_runs_and_is_reported(self):
        made = await allow()
        api = self.api(lambda path: made if path == "/v1/actions" else {"ok": True})
        action = await api.verdicts.guard(PROPOSAL, lambda cleared: cleared.decided.action)
        self.assertEqual(action, made["action_id"])
        (_, headers, _), (path, _, body) = api.asked
        self.assertEqual(headers["Authorization"], "Bearer cfk_test")
        self.assertEqual((path, body["outcome"], body["signature"]["kid"]), ("/v1/executions", "EXECUTED", EXECUTION_KEY.kid))

    async def test_work_that_fails_is_reported_as_failed(self):
        made = await allow()
        api = self.api(lambda path: made if path == "/v1/actions" else 403)

        async def work(_):
            raise RuntimeError("broken")

        with self.assertRaisesRegex(RuntimeError, "broken"):
            await api.verdicts.guard(PROPOSAL, work)
        self.assertEqual(api.asked[-1][2]["outcome"], "FAILED")

    async def test_every_other_verdict_runs_nothing(self):
        for verdict in ("DENY", "STEP_UP", "MODIFY", "DEFER"):
            self.assertEqual(await self.outcome(await allow(verdict=verdict, reason="no_rule")), verdict)
            rehearsal = await allow(verdict=verdict, reason="no_rule", effect="advisory")
            self.assertIsNone(await self.outcome(rehearsal), "a recorded rehearsal runs")
        unknown = await allow(verdict="STEP_UP", tool=None, args=None, reason="no_such_tool")
        self.assertEqual(await self.outcome(unknown), "STEP_UP")

    async def test_an_answer_that_proves_nothing_is_a_no(self):
        moved = [time_text(datetime.now(UTC) + timedelta(seconds=seconds)) for seconds in (-66, 30)]
        denied = await allow(verdict="DENY", reason="no_rule")
        cases = {
            "malformed": [
                "nonsense", "[]", '{"a":1,"a":2}', await allow(more={"action_id": "act_other"}),
                await allow(more={"decision": {"verdict": "ALLOW"}}),
                {**denied, "decision": {**denied["decision"], "verdict": "ALLOW"}},
            ],
            "unsigned": [
                "{}", {"decision": {"verdict": "ALLOW"}}, await allow(more={"dev.counterfoil/receipt": None}),
                answer(await Ledger().append(decision(ARGS), STRANGER)), answer(await Ledger(log=STRANGER).append(decision(ARGS))),
            ],
            "expired": [await allow(at=at) for at in moved],
            "other_action": [
                await allow(tool="note_read"), await allow(provider="mail"), await allow(env="test"), await allow(mode="gateway"),
                await allow({"path": "/notes/b"}), await allow(args=None), await allow(tool=None, args=None),
            ],
            "rejected": [403],
        }  # fmt: skip
        for code, answers in cases.items():
            for made in answers:
                self.assertEqual(await self.outcome(made), code, str(made)[:80])

    async def test_one_decision_answers_one_call(self):
        made = await allow()
        verdicts = self.api(lambda _: made).verdicts
        await verdicts.decide(PROPOSAL)
        await verdicts.decide(PROPOSAL)
        await self.refused(verdicts.decide(Proposal("s-1", 2, PROPOSAL.tool, ARGS)), "replayed")

    async def test_who_is_asked_again_is_asked_the_same_question(self):
        made, count = await allow(), iter(range(9))
        api = self.api(lambda _: 503 if next(count) < 2 else made)
        await api.verdicts.decide(PROPOSAL)
        keys = [headers["Idempotency-Key"] for _, headers, _ in api.asked]
        self.assertEqual((len(keys), len(set(keys))), (3, 1))

    async def test_nobody_there_is_a_no_and_soon_without_asking(self):
        api = self.api(lambda _: None)
        for seq in range(5):
            await self.refused(api.verdicts.decide(Proposal("s-1", seq, PROPOSAL.tool, ARGS)), "unanswered")
        self.assertEqual(len(api.asked), 15)
        await self.refused(api.verdicts.decide(PROPOSAL), "resting")
        self.assertEqual(len(api.asked), 15)

        api.skew = 31
        two = [api.verdicts.decide(PROPOSAL), api.verdicts.decide(Proposal("s-1", 9, PROPOSAL.tool, ARGS))]
        codes = [error.code for error in await asyncio.gather(*two, return_exceptions=True)]
        self.assertEqual(sorted(codes), ["resting", "unanswered"], "one probe")
        await self.refused(api.verdicts.decide(PROPOSAL), "resting")

    async def test_a_probe_that_was_given_up_is_followed_by_another(self):
        api = self.api(lambda _: None)
        for seq in range(5):
            await self.refused(api.verdicts.decide(Proposal("s-1", seq, PROPOSAL.tool, ARGS)), "unanswered")
        api.skew = 31
        probe = asyncio.ensure_future(api.verdicts.decide(PROPOSAL))
        await asyncio.sleep(0.02)
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
        await self.refused(api.verdicts.decide(PROPOSAL), "resting")
        api.skew = 62
        await self.refused(api.verdicts.decide(PROPOSAL), "unanswered")

    async def test_a_gateway_that_never_answers_costs_three_deadlines(self):
        done, began = threading.Event(), time.monotonic()
        api = self.api(lambda _: done.wait(20) and None)
        # Before the server is closed, which waits for its threads.
        self.addCleanup(done.set)
        await self.refused(api.verdicts.decide(PROPOSAL), "unanswered")
        self.assertLess(time.monotonic() - began, 8)

    async def test_a_statement_waits_in_the_outbox_until_it_was_taken(self):
        made, away = await allow(), [True]
        api = self.api(lambda path: made if path == "/v1/actions" else 403 if away[0] else {"ok": True})
        outbox = Outbox(self.enterContext(tempfile.TemporaryDirectory()))
        outbox.put(await api.verdicts.statement(await api.verdicts.decide(PROPOSAL), "ABANDONED"))
        report = await outbox.flush(api.verdicts)
        self.assertEqual((report.sent, report.waiting), (0, 1))
        away[0] = False
        report = await outbox.flush(api.verdicts)
        self.assertEqual((report.sent, report.waiting), (1, 0))
