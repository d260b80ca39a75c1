"""P3, P9: what a provider signs, byte for byte; and keys that stay where they are."""

import base64
import json
import os
import tempfile
import unittest
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from counterfoil_sdk.execution import ExecutionFacts, SigningKey, decision_id, execution_statement, six_field_statement
from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url, from_base64url

from .world import EXECUTION_KEY, PROJECT

VECTORS = Path(__file__).resolve().parents[3] / "docs/vectors"
SEED = b"\x21" * 32
FIELDS = {
    "action_id": "act_1", "decision_id": decision_id("sha256:" + "0" * 64), "outcome": "EXECUTED", "result_hash": None,
    "error_code": None, "executed_at": "2026-11-30T11:20:00.138Z",
}  # fmt: skip


def vector(name):
    return json.loads((VECTORS / name).read_text("utf-8"))


def facts(**changes):
    case = vector("capability/note_write.json")
    claims = case["claims"]
    made = ExecutionFacts(
        project=PROJECT, provider="notes", tool=claims["call"]["t"], action=claims["txn"], decision=claims["dec"],
        capability=claims["jti"], seed=claims["os"], arguments=case["call_document"]["a"], outcome="EXECUTED",
        result_text='{"content":[{"type":"text","text":"ok"}],"isError":false,"_meta":{"a":1},"resultType":"complete"}',
        error_code=None, started_at=datetime.fromisoformat("2026-11-30T11:20:00.130Z"),
        executed_at=datetime.fromisoformat("2026-11-30T12:20:00.138+01:00"), nonce=base64url(b"\x03" * 16),
    )  # fmt: skip
    return replace(made, **changes)


class Executions(unittest.IsolatedAsyncioTestCase):
    async def test_an_execution_comes_out_as_the_published_bytes(self):
        wanted = base64.urlsafe_b64decode(vector("chain/execution.json")["statement"]["payload"]["bytes"] + "==")
        self.assertEqual(canonical(await execution_statement(facts(), EXECUTION_KEY)), wanted)

    async def test_an_execution_that_is_none_of_the_format_is_not_signed(self):
        for change in ({"project": "prj_1"}, {"outcome": "DONE"}, {"error_code": "a b"}, {"seed": "AA"}):
            with self.assertRaises(ValueError):
                await execution_statement(facts(**change), EXECUTION_KEY)

    async def test_the_six_field_form_signs_exactly_six_fields(self):
        signed = await six_field_statement({**FIELDS, "more": 1}, EXECUTION_KEY)
        signature = from_base64url(signed.pop("signature")["value"])
        self.assertEqual(signed, FIELDS)
        self.assertTrue(EXECUTION_KEY.public_key.verify(canonical(FIELDS), signature))

    async def test_a_key_is_read_from_a_file_the_environment_or_a_callback_and_shown_by_none(self):
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "key"
        file.write_text(SEED.hex() + "\n")
        file.chmod(0o600)
        os.environ["COUNTERFOIL_TEST_KEY"] = base64.b64encode(SEED).decode()
        jwk = json.dumps({"kty": "OKP", "crv": "Ed25519", "x": EXECUTION_KEY.public_key.x, "d": base64url(SEED)})
        keys = [SigningKey.from_file(file), SigningKey.from_environment("COUNTERFOIL_TEST_KEY"), SigningKey.from_text(jwk)]
        for key in keys:
            self.assertEqual(key.kid, EXECUTION_KEY.kid)
            self.assertEqual(repr(key), f"SigningKey({key.kid})")

        class Elsewhere:
            kid = EXECUTION_KEY.kid

            async def sign(self, message):
                return EXECUTION_KEY.sign(message)

        ours, theirs = [await six_field_statement(FIELDS, signer) for signer in (EXECUTION_KEY, Elsewhere())]
        self.assertEqual(ours, theirs)

        file.chmod(0o644)
        with self.assertRaisesRegex(ValueError, "can be read by others"):
            SigningKey.from_file(file)
        with self.assertRaisesRegex(ValueError, "32 bytes"):
            SigningKey.from_text("short123")
