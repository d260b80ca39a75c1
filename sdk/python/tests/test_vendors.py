"""P4: what vendors claim, judged again by whoever verifies a package: the call before, and what their tools do."""

import json
import unittest

from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url
from counterfoil_sdk.formats.shapes import ShapeError
from counterfoil_sdk.formats.strict_json import JsonError
from counterfoil_sdk.verify import Report, entry_hash
from counterfoil_sdk.verify.book import Book
from counterfoil_sdk.verify.catalog import read_catalog

from .ledger import decision
from .world import ACTION, EXECUTION_KEY, ISSUER, PROJECT, STRANGER

SESSION = "ses_019355a0c0007000800000000000c001"
START, LATER = "2026-11-30T11:20:00.000Z", "2026-11-30T12:20:00.000Z"


class Record:
    """A book that is read an entry at a time."""

    def __init__(self, starts_at=0):
        self.book, self.report, self.seq = Book(starts_at, None), Report(ISSUER), starts_at

    def entry(self, kind, at=START):
        body = f"sha256:{self.seq:064x}"
        made = {"v": 1, "project": PROJECT, "seq": self.seq, "epoch": at[:10], "at": at, "kind": kind, "body": body, "prev": "sha256:" + "0" * 64}
        self.seq += 1
        return made

    def open(self, event="opened"):
        entry = self.entry("session")
        self.book.session({"session": SESSION, "event": event}, entry)
        return entry_hash(entry)

    def ask(self, prev, session=SESSION):
        entry = self.entry("decision")
        asked = decision(session=session, verdict="DENY", ask={"seq": 0, "prev": prev, "at": START})
        self.book.decide(asked, entry, "never", self.report)
        return entry

    def omitted(self):
        self.book.advance(1796041200000, self.report)
        found = self.book.omitted()
        return found and (found.code, found.action, found.statement, found.seq)


class Previous(unittest.TestCase):
    def test_a_previous_hash_that_the_session_was_never_told_is_named_and_a_fan_out_is_not(self):
        record = Record()
        head = record.open()
        first = entry_hash(record.ask(head))
        for told in (head, first, first, None):
            record.ask(told)
        self.assertIsNone(record.omitted())
        invented = record.ask("sha256:" + "ab" * 32)
        record.ask("no hash at all")
        self.assertEqual(record.omitted(), ("UNKNOWN_PREVIOUS", ACTION, invented["body"], invented["seq"]))

    def test_a_finding_that_stands_is_not_wanted(self):
        record = Record()
        record.open()
        invented = record.ask("?")
        record.book.find({"code": "UNKNOWN_PREVIOUS", "statement": invented["body"]}, "sha256:1", record.report)
        self.assertIsNone(record.omitted())

    def test_of_a_session_that_was_opened_elsewhere_or_is_closed_or_whose_decisions_are_gone_nothing_is_said(self):
        elsewhere, closed, erased = Record(starts_at=7), Record(), Record()
        elsewhere.ask("?")
        closed.open()
        closed.open("closed")
        closed.ask("?")
        erased.open()
        erased.book.hide(erased.entry("decision"))
        erased.ask("?")
        self.assertEqual([record.omitted() for record in (elsewhere, closed, erased)], [None] * 3)

    def test_a_catalogue_that_nobody_signed_is_named(self):
        record = Record()
        entry = record.entry("catalog")
        record.book.unsigned_catalog(entry)
        self.assertEqual(record.omitted(), ("CATALOG_SIGNATURE", None, entry["body"], 0))


class Catalogues(unittest.TestCase):
    def signed(self, key=EXECUTION_KEY, **changes):
        body = {"v": 1, "tools": [{"name": "send", "aliases": ["SEND"], "signals": {"op": "send", "reversible": None}}], **changes}
        value = base64url(key.sign(canonical(body)))
        return json.dumps({**body, "signature": {"kid": "k1", "alg": "Ed25519", "value": value}}).encode()

    def test_a_catalogue_holds_under_the_key_that_signed_it_and_under_no_other(self):
        self.assertTrue(read_catalog(self.signed()).holds_under(EXECUTION_KEY.public_key))
        self.assertFalse(read_catalog(self.signed(STRANGER)).holds_under(EXECUTION_KEY.public_key))
        self.assertFalse(read_catalog(self.signed().replace(b"SEND", b"SEMD")).holds_under(EXECUTION_KEY.public_key))

    def test_what_states_one_tool_twice_or_anything_unknown_does_not_read(self):
        tool = {"name": "a", "signals": {}}
        for changes in (
            {"tools": [tool, tool]}, {"tools": [{**tool, "name": ""}]}, {"tools": [{**tool, "aliases": [""]}]}, {"tools": [{"name": "a"}]},
            {"tools": [{**tool, "signals": {"amount": 3}}]}, {"tools": [{**tool, "signals": {"op": "dance"}}]}, {"v": 2}, {"more": 1},
            {"tools": [{**tool, "aliases": None}]}, {"tools": [{**tool, "server": 7}]}, {"tools": [{**tool, "name": "x" * 257}]},
        ):  # fmt: skip
            with self.subTest(changes), self.assertRaises(ShapeError):
                read_catalog(self.signed(**changes))
        for text in (b'{"v":1,"tools":[]}', b"[]", b'{"v":1,"v":1}', b" " * (97 * 1024)):
            with self.assertRaises((ShapeError, JsonError)):
                read_catalog(text)
