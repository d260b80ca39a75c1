"""P1, P2, P6, P7: whole packages as zip files: what is read, what is refused, and that no byte can be changed unseen."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from counterfoil_sdk.formats.canonical import canonical, parse_signed
from counterfoil_sdk.formats.encoding import digest_of
from counterfoil_sdk.formats.strict_json import JsonError, Profile, parse
from counterfoil_sdk.verify import KeySet, Promise, Refused, verify_chain, verify_package
from counterfoil_sdk.verify.__main__ import main
from counterfoil_sdk.verify.archive import Archive
from counterfoil_sdk.verify.contents import registries_in

from .ledger import PINNED_KEYS, Ledger
from .zipped import deflated, files_of, zipped

VECTORS = Path(__file__).resolve().parents[3] / "docs/vectors"


def case(name):
    return json.loads((VECTORS / f"packages/{name}.json").read_text("utf-8"))


HONEST = case("honest")
FILES = files_of(HONEST)
PINNED = KeySet.parse(json.dumps(HONEST["jwks"]))
FIRST = FILES[0][0]


def registry(*_):
    return Promise(signs=True, within=600)


def changed(**change):
    return zipped(FILES, changes={FIRST: change})


def one(name):
    return zipped([(name, b"[]")])


BAD_ZIPS = {
    "nothing at all": (b"", "ends early"),
    "text": (b"not a zip file, and longer than its end would be", "does not end"),
    "a comment": (zipped(FILES, comment=b"hello"), "does not end"),
    "something before the first file": (b"#!/bin/sh" + zipped(FILES), "not where it says"),
    "a file twice": (zipped([*FILES, FILES[0]]), "stands twice"),
    "a path": (one("../tombstones"), "name that no file"),
    "a folder": (one("anchors/"), "name that no file"),
    "a hidden name": (one("anchors/.x"), "name that no file"),
    "a deeper path": (one("a/b/c"), "name that no file"),
    "a name that goes on in another line": (one("tombstones\n"), "name that no file"),
    "two spellings of one name": (zipped([("tombstones", b"[]"), ("Tombstones", b"[]")]), "stands twice"),
    "another checksum": (changed(sum=7), "another checksum"),
    "encryption": (changed(flags=0x801), "encrypted"),
    "another method": (changed(method=12, data=b"[]"), "method 12"),
    "zip64 sizes": (changed(size=0xFFFFFFFF), "zip64"),
    "more disks than one": (zipped(FILES, disk=1), "not where it says"),
    "another number of files": (zipped(FILES, count=3), "not where it says|not as long"),
    "more data than declared": (changed(size=1), "longer than declared"),
    "less data than declared": (changed(size=9_000_000), "shorter than declared"),
    "stored data of another size": (changed(method=0, size=9_000_000), "another size than its own"),
    "data that does not unpack": (changed(data=b"no deflate stream"), "does not unpack"),
    "data that ends early": (changed(data=deflated(FILES[0][1])[:-9]), "does not unpack"),
    "something behind the data": (changed(data=deflated(FILES[0][1]) + b"more"), "does not unpack"),
    "two names for one file": (changed(own_name=FIRST[:-1] + "z"), "says otherwise"),
    "a file inside another": (zipped(FILES, changes={FILES[1][0]: {"at": 0}}), "lies inside another|says otherwise"),
    "a cut": (zipped(FILES)[:-30], "does not end"),
}


class Packages(unittest.TestCase):
    def test_an_honest_package_verifies_stored_and_deflated_as_bytes_as_a_file_and_by_its_name(self):
        for method in (0, 8):
            data = zipped(FILES, method=method)
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                for given in (data, io.BytesIO(data), file.name, Path(file.name)):
                    report = verify_package(given, PINNED, registry=registry)
                    found = (report.verdict.answer, report.exit_code, report.first, report.size)
                    self.assertEqual(found, ("UNANCHORED", 10, 0, 10))
                    self.assertEqual(report.calls, {"governed matched": 2})
                    self.assertEqual([(pin.provider, pin.pinned_by) for pin in report.providers], [("notes", "holder")])

    def test_keys_are_brought_not_found(self):
        none = KeySet.parse(json.dumps({**HONEST["jwks"], "keys": []}))
        self.assertEqual(verify_package(zipped(FILES), none).verdict.answer, "UNPINNED")

    def test_a_zip_file_of_another_kind_is_refused(self):
        for what, (data, why) in BAD_ZIPS.items():
            with self.subTest(what):
                report = verify_package(data, PINNED)
                self.assertEqual((report.verdict.answer, report.exit_code), ("BROKEN", 40))
                self.assertRegex(report.verdict.why, why)

    def test_a_providers_own_keys_count_as_pinned_by_the_holder_and_nothing_else_makes_them_so(self):
        keys = HONEST["jwks"]["keys"]
        ours = {**HONEST["jwks"], "keys": [key for key in keys if key["purpose"] != "execution"]}
        theirs = next(key for key in keys if key["purpose"] == "execution")
        jwk = {"kty": "OKP", "crv": "Ed25519", "x": theirs["x"], "kid": "k1"}

        def pinned_by(*provider_keys):
            pinned = KeySet.parse(json.dumps(ours))
            report = verify_package(zipped(FILES), pinned, registry=registry, provider_keys=provider_keys)
            return [pin.pinned_by for pin in report.providers]

        self.assertEqual(pinned_by(), ["operator"])
        self.assertEqual(pinned_by(json.dumps(jwk)), ["holder"])
        self.assertEqual(pinned_by(json.dumps({"keys": [{"kty": "RSA"}, jwk]})), ["holder"])

    def test_no_byte_of_any_file_can_be_changed_unseen(self):
        changes = 0
        for place, (name, data) in enumerate(FILES):
            for at in range(0, len(data), max(1, len(data) // 40)):
                other = bytearray(data)
                other[at] ^= 1 << at % 8
                files = [*FILES[:place], (name, bytes(other)), *FILES[place + 1 :]]
                report = verify_package(zipped(files, method=0), PINNED, registry=registry)
                self.assertGreaterEqual(report.exit_code, 20, f"{name}, byte {at}")
                changes += 1
        self.assertGreater(changes, 250)

    def test_no_file_can_be_left_out_unseen(self):
        for name, _ in FILES:
            files = [file for file in FILES if file[0] != name]
            self.assertGreaterEqual(verify_package(zipped(files), PINNED, registry=registry).exit_code, 20, name)

    def test_what_was_kept_must_be_in_it_and_a_fork_shows_both_notes(self):
        fork = case("forked")
        forked = verify_package(zipped(files_of(fork)), PINNED, since=fork["since"], registry=registry)
        self.assertEqual((forked.verdict.answer, len(forked.verdict.notes)), ("FORKED", 2))
        receipt = json.loads((VECTORS / "receipts/decision.json").read_text("utf-8"))["receipt"]
        held = verify_package(zipped(FILES), PINNED, held=[json.dumps(receipt)], registry=registry)
        self.assertIn(held.verdict.answer, ("FORKED", "INCOMPLETE"))
        nonsense = verify_package(zipped(FILES), PINNED, since="no note", registry=registry)
        self.assertEqual(nonsense.verdict.answer, "BROKEN")

    def test_an_omitted_finding_is_named(self):
        omitted = case("finding_omitted")
        found = verify_package(zipped(files_of(omitted)), PINNED, registry=registry).verdict.found
        self.assertIsNotNone(found)
        self.assertIn(found.code, verify_package(zipped(files_of(omitted)), PINNED, registry=registry).verdict.why)

    def test_registries_of_a_package_with_rules_say_what_was_owed(self):
        for name, answer in (("execution_missing_and_omitted", "OMITTED"), ("execution_not_owed", "UNANCHORED")):
            with_text, signs = case(name), case(name)["registry"]["notes"]["signs"]
            unknown = verify_package(zipped(files_of(with_text)), PINNED)
            self.assertEqual(unknown.verdict.answer, "UNANCHORED")
            self.assertTrue(any("no registry was given" in what for what in unknown.not_checked))
            known = verify_package(zipped(files_of(with_text)), PINNED, registry=lambda *_, owes=signs: Promise(owes, 600))
            self.assertEqual(known.verdict.answer, answer)

    def test_a_published_text_counts_by_its_digest(self):
        text = '[provider.notes]\nsigns = true\nsign_within = 30\n[provider.mail]\n'
        lines = [{"seq": 3, "kind": "registry", "text": text}, {"seq": 4, "kind": "rules", "text": "permit"}]
        lines.append({"seq": 5, "kind": "registry", "text": "no registry"})
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        say = registries_in(Archive(io.BytesIO(zipped([("bundles.jsonl", data)]))))
        named = digest_of(text.encode())
        self.assertEqual(say(named, "notes"), Promise(signs=True, within=30))
        self.assertEqual(say(named, "mail"), Promise(signs=False, within=600))
        self.assertEqual(say(named, "elsewhere").signs, False)
        self.assertIsNone(say(digest_of(b"no registry"), "notes"))
        self.assertIsNone(say(digest_of(b"permit"), "notes"))

    def test_the_program_answers_with_the_exit_codes_of_counterfoil_verify(self):
        with tempfile.TemporaryDirectory() as folder:
            package, keys, receipt = (Path(folder) / name for name in ("package.zip", "jwks.json", "receipt.json"))
            keys.write_text(json.dumps(HONEST["jwks"]), "utf-8")
            receipt.write_text(json.dumps(json.loads((VECTORS / "receipts/decision.json").read_text("utf-8"))["receipt"]), "utf-8")

            def run(*arguments):
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
                    code = main([*map(str, arguments), "--trust", str(keys)])
                return code, out.getvalue()

            for name in ("honest", "entries_cut_off", "finding_omitted", "statement_changed", "ledger_key_not_pinned"):
                given = case(name)
                keys.write_text(json.dumps(given["jwks"]), "utf-8")
                package.write_bytes(zipped(files_of(given)))
                code, text = run(package)
                self.assertEqual((code, text.split(":")[0]), (given["exit"], given["answer"]))
                self.assertEqual(json.loads(run(package, "--json")[1])["verdict"]["answer"], given["answer"])
            keys.write_text(json.dumps(HONEST["jwks"]), "utf-8")
            self.assertEqual(run(receipt)[0], 0)
            self.assertEqual(run(Path(folder) / "nothing")[0], 2)
            keys.write_text("no keys", "utf-8")
            self.assertEqual(run(package)[0], 2)


class Chains(unittest.IsolatedAsyncioTestCase):
    async def test_a_chain_of_receipts_is_one_chain_in_its_order(self):
        ledger, other, pinned = Ledger(), Ledger(), KeySet.parse(PINNED_KEYS)
        chain = [json.dumps(await ledger.append()) for _ in range(4)]
        stranger = [json.dumps(await other.append()) for _ in range(2)][1]
        self.assertEqual([verified.entry["seq"] for verified in verify_chain(chain, pinned)], [0, 1, 2, 3])
        self.assertEqual(verify_chain([], pinned), [])
        for receipts, why in (
            ([chain[0], chain[2]], "entry 2 stands where entry 1 is due"),
            ([chain[1], chain[0]], "entry 0 stands where entry 2 is due"),
            ([chain[0], stranger], "prev is"),
        ):
            with self.assertRaisesRegex(Refused, why):
                verify_chain(receipts, pinned)


class Texts(unittest.TestCase):
    def test_the_fast_reader_of_signed_texts_takes_what_the_strict_one_takes_and_nothing_else(self):
        texts = [json.loads(path.read_text("utf-8")).get("text") for path in (VECTORS / "canonical-json").glob("*.json")]
        texts += [line.decode() for name, data in FILES if name == "statements.jsonl" for line in data.splitlines()]
        texts += [canonical(["\x7f", "a/b", 0, -1, 2**53 - 1, {}, [], True, None]).decode(), '{"a":-0}', '{"b":1,"a":2}', '[1e2]',
                  '{"a":1,"a":1}', "[9007199254740992]", "[" * 64 + "]" * 64, "[" * 65 + "]" * 65, '["\\n"]', "[NaN]", "[ 1]"]  # fmt: skip
        for text in filter(None, texts):
            with self.subTest(text[:60]):
                try:
                    wanted = parse(text, Profile.STRICT)
                    wanted = [wanted] if canonical(wanted) == text.encode("utf-8", "surrogatepass") else None
                except JsonError:
                    wanted = None
                try:
                    found = [parse_signed(text)]
                except JsonError:
                    found = None
                self.assertEqual(found, wanted)
