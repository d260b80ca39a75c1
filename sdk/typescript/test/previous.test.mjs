// P4, P7: what a vendor's action names as the one before, and a catalogue that nobody signed, looked for again by a verifier.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Book } from "../dist/verify/book.js";
import { decision } from "./ledger.mjs";

const MINUTE = 60_000;
const SESSION = `ses_${"0".repeat(32)}`;
const hash = (n) => `sha256:${String(n).padStart(64, "0")}`;
const report = () => ({ findings: {}, calls: {}, open: 0, openActions: [], notChecked: [] });
const never = { kind: "never" };

/** An entry of a body, a second after the one before. */
function entry(seq, kind) {
  return { seq, kind, body: hash(1000 + seq), at: new Date(Date.UTC(2026, 11, 1, 9, 0, seq)).toISOString() };
}

function ask(book, seq, prev) {
  const said = decision({ verdict: "DENY", mode: "hook", session: SESSION, ask: { seq, prev, at: "2026-12-01T09:00:00.000Z" } });
  book.decide(said, entry(seq, "decision"), hash(seq), never, report());
}

/** What is missing an hour later. */
function missing(book) {
  book.advance(Date.UTC(2026, 11, 1, 10), report());
  return book.omitted();
}

function opened() {
  const book = new Book(0, null);
  book.session({ session: SESSION, event: "opened" }, hash(1));
  return book;
}

test("calls at the same time name one hash, and a later one names theirs", () => {
  const book = opened();
  for (const [seq, prev] of [[2, hash(1)], [3, hash(1)], [4, hash(3)], [5, null]]) ask(book, seq, prev);
  assert.equal(missing(book), null);
});

test("a hash that the session was never told is looked for as a finding", () => {
  const book = opened();
  ask(book, 2, hash(1));
  ask(book, 3, hash(3));
  const { code, statement, seq } = missing(book);
  assert.deepEqual([code, statement, seq], ["UNKNOWN_PREVIOUS", hash(1003), 3]);
  book.find({ code, statement }, hash(7), report());
  assert.equal(missing(book), null);
});

test("where a decision was erased, or the session is older than the package, nobody can say", () => {
  const erased = opened();
  erased.hide(entry(2, "decision"));
  ask(erased, 3, hash(2));
  assert.equal(missing(erased), null);

  const older = new Book(5, null);
  ask(older, 6, hash(2));
  assert.equal(missing(older), null);
});

test("a catalogue that nobody signed is looked for as a finding, once it is older than a finding takes", () => {
  const book = opened();
  book.unsignedCatalog(entry(2, "catalog"));
  book.advance(Date.parse(entry(2, "catalog").at) + MINUTE, report());
  assert.equal(book.omitted(), null);
  assert.equal(missing(book).code, "CATALOG_SIGNATURE");
});
