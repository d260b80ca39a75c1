"""P7: every published case comes out as it says. A folder or a case that nobody knows how to run is a failure."""

import base64
import json
import unittest
from pathlib import Path

from counterfoil_sdk.capability import call_hash
from counterfoil_sdk.execution import read_execution
from counterfoil_sdk.formats import commitment, encoding, note, tree
from counterfoil_sdk.formats.canonical import canonical, document_value
from counterfoil_sdk.formats.envelope import envelope_digest
from counterfoil_sdk.formats.keys import KeyRefused, KeySet, PublicKey
from counterfoil_sdk.formats.shapes import ShapeError
from counterfoil_sdk.formats.signer import SigningKey
from counterfoil_sdk.formats.strict_json import JsonError, Profile, parse
from counterfoil_sdk.verify import Promise, Refused, entry_hash, verify_package, verify_receipt

from .situations import reconciliation_case
from .zipped import files_of, zipped

DOCS = Path(__file__).resolve().parents[3] / "docs"
VECTORS = DOCS / "vectors"
OURS = (VECTORS / "jwks.json").read_bytes()
# Rules are evaluated by the gateway, export streams are followed by the program.
ELSEWHERE = {"export", "make", "policy"}


class Cases(unittest.TestCase):
    def test_every_folder_of_cases_is_known(self):
        folders = {path.name for path in VECTORS.iterdir() if path.is_dir()}
        self.assertEqual(folders - ELSEWHERE, set(RUNNERS))

    def test_every_case_comes_out_as_it_says(self):
        for folder, run in RUNNERS.items():
            files = sorted((VECTORS / folder).glob("*.json"))
            self.assertGreater(len(files), 0, folder)
            for file in files:
                with self.subTest(f"{folder}/{file.name}"):
                    run(self, json.loads(file.read_text("utf-8")))

    def test_the_formats_in_this_package_are_the_published_ones(self):
        ours = Path(__file__).parents[1] / "src/counterfoil_sdk/formats/statements.json"
        self.assertEqual(ours.read_bytes(), (DOCS / "formats/examples/statements.json").read_bytes())

    def canonical_case(self, case):
        raw = base64.b64decode(case["base64"]) if "base64" in case else case["text"]
        try:
            found = canonical(parse(raw, Profile(case["profile"]))).decode()
        except JsonError as error:
            self.assertEqual(error.path, case["refused_at"])
        else:
            self.assertEqual(found, case["canonical"])

    def commitment_case(self, case):
        action = bytes.fromhex(case["seed"])
        seed = {"action": action, "provider": commitment.provider_seed(action)}[case["salted_from"]]
        self.assertEqual(encoding.base64url(commitment.salt(seed, case["name"])), case["salt"])
        if "document" in case:
            self.assertEqual(document_value(case["document"]), case["value"])
        if "value" in case:
            named = (case["name"], case["value"])
            self.assertEqual(commitment.disclosure(case["salt"], *named), case["disclosure"])
            self.assertEqual(commitment.commit(seed, *named), case["commitment"])

    def capability_case(self, case):
        self.assertTrue({"call_document", "sub_key", "token"} & set(case), "nothing to judge")
        claims = case.get("claims", {})
        if call := case.get("call_document"):
            answers = {"input_responses": call["i"]} if "i" in call else {}
            wanted = claims["call"]["h"] if claims else case["h"]
            self.assertEqual(call_hash(call["aud"], call["t"], call["a"], **answers), wanted)
        if "sub_key" in case:
            named = canonical([claims.get("aud", case.get("aud")), case["principal"]])
            sub = encoding.base64url(encoding.hmac_sha256(bytes.fromhex(case["sub_key"]), named))
            self.assertEqual(sub, claims.get("sub", case.get("sub")))
        if "token" in case:
            signed = ".".join(encoding.base64url(canonical(part)) for part in (case["header"], claims))
            signature = SigningKey(b"\x12" * 32).sign(signed.encode())
            self.assertEqual(f"{signed}.{encoding.base64url(signature)}", case["token"])

    def chain_case(self, case):
        if "statement" not in case:
            start = encoding.digest_of(f"counterfoil/genesis/v1\n{case['project']}".encode())
            self.assertEqual(start, case["prev"])
            return
        entry = case["entry"]
        self.assertEqual(canonical(case["statement"]["payload"]).decode(), case["canonical_payload"])
        self.assertEqual(envelope_digest(case["statement"]), case["digest"])
        self.assertEqual(entry["body"], case["digest"])
        self.assertEqual(canonical(entry).decode(), case["canonical_entry"])
        self.assertEqual(entry_hash(entry), case["entry_hash"])
        self.assertEqual(tree.leaf_hash(canonical(entry)).hex(), case["leaf_hash"])

    def tree_case(self, case):
        leaves = [tree.leaf_hash(data.encode()) for data in case["leaf_data"]]
        size, root = len(leaves), base64.b64decode(case["root"])

        def node(level, at):
            return tree.node_hash(node(level - 1, at * 2), node(level - 1, at * 2 + 1)) if level else leaves[at]

        self.assertEqual(tree.root_of(size, node), root)
        for at, texts in enumerate(case["paths"]):
            path = [base64.b64decode(text) for text in texts]
            self.assertEqual(tree.inclusion_path(at, size, node), path)
            self.assertTrue(tree.verify_inclusion(leaves[at], at, size, path, root))
            self.assertFalse(tree.verify_inclusion(tree.leaf_hash(b"other"), at, size, path, root))
        for old, texts in case["consistency"].items():
            path, old_root = [base64.b64decode(text) for text in texts], tree.root_of(int(old), node)
            self.assertEqual(tree.consistency_path(int(old), size, node), path)
            self.assertTrue(tree.verify_consistency(int(old), size, path, old_root, root))
            self.assertFalse(tree.verify_consistency(int(old), size, path, tree.leaf_hash(b"other"), root))

    def checkpoint_case(self, case):
        key = PublicKey.parse(case["log_key"])
        self.assertEqual(note.verifier_key(case["vkey"].split("+")[0], key), case["vkey"])
        try:
            read = note.read_checkpoint(case["note"], key)
            said = {"origin": read.origin, "size": read.size, "root": encoding.base64_text(read.root)}
        except note.NoteError:
            said = None
        self.assertEqual(said, case["checkpoint"])

    def execution_case(self, case):
        if "refused_because" in case:
            with self.assertRaises((JsonError, ShapeError)):
                read_execution(case["text"], case["form"])
            return
        read = read_execution(case["text"], case["form"])
        wanted = (case["action"], case["decision"], case["fingerprint"])
        self.assertEqual((read.action, read.decision, read.fingerprint), wanted)
        self.assertEqual(read.holds_under(PublicKey.parse(case["key"])), case["holds"])

    def key_set_case(self, case):
        try:
            KeySet.parse(json.dumps(case["jwks"]))
            accepted = True
        except (KeyRefused, JsonError):
            accepted = False
        self.assertEqual(accepted, case["accepted"])

    def receipt_case(self, case):
        as_text = json.dumps(case.get("receipt"), ensure_ascii=False)
        raw = base64.b64decode(case["receipt_base64"]) if "receipt_base64" in case else as_text
        pinned = KeySet.parse(json.dumps(case["jwks"]) if "jwks" in case else OURS)
        try:
            verify_receipt(raw, pinned)
            answer, code = "VERIFIED", 0
        except Refused as refusal:
            answer, code = refusal.answer, refusal.exit_code
        self.assertEqual(answer, case.get("answer", "VERIFIED"))
        self.assertEqual(code, {"VERIFIED": 0, "BROKEN": 40, "UNPINNED": 50}[answer])

    def package_case(self, case):
        def registry(_, provider):
            said = case["registry"].get(provider)
            return said and Promise(said["signs"], said["sign_within"])

        pinned = KeySet.parse(json.dumps(case["jwks"]))
        report = verify_package(zipped(files_of(case)), pinned, since=case["since"], registry=registry)
        self.assertEqual((report.verdict.answer, report.exit_code), (case["answer"], case["exit"]), report.verdict.why)


RUNNERS = {
    "canonical-json": Cases.canonical_case,
    "commitments": Cases.commitment_case,
    "capability": Cases.capability_case,
    "chain": Cases.chain_case,
    "trees": Cases.tree_case,
    "checkpoints": Cases.checkpoint_case,
    "executions": Cases.execution_case,
    "key-sets": Cases.key_set_case,
    "receipts": Cases.receipt_case,
    "malformed-receipts": Cases.receipt_case,
    "packages": Cases.package_case,
    "reconciliation": reconciliation_case,
}
