// P1, P2, P3, P7: what a page verifies of the record behind it, and what it says when a byte is changed on the way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { later } from "../dist/format/later.js";
import { now } from "../dist/format/now.js";
import { MOST_ENTRIES, RecordFails, checkRecord } from "../dist/verify/record.js";
import { Ledger, PINNED_KEYS } from "./ledger.mjs";
import { ISSUER, STRANGER, jwk } from "./world.mjs";

async function grown(count, ledger = new Ledger()) {
  for (let at = 0; at < count; at += 1) await ledger.append();
  return ledger;
}

const check = (fetch, more = {}) =>
  checkRecord({ fetch, run: now, issuer: ISSUER, receipts: [0, 3], kept: null, now: new Date(), pause: async () => {}, ...more });

const refused = (answer, what) => (error) => {
  assert.ok(error instanceof RecordFails, String(error));
  assert.equal(error.answer, answer, error.message);
  assert.match(error.message, what);
  return true;
};

/** The same record, behind somebody who changes one answer. */
const changing = (ledger, wanted, change) => async (path) => {
  const bytes = await ledger.fetch(path);
  return path.startsWith(wanted) ? Buffer.from(change(bytes, path)) : bytes;
};

const flip = (at) => (bytes) => {
  bytes[at] ^= 1;
  return bytes;
};

test("an honest record is verified, in counts", async () => {
  const ledger = await grown(9);
  for (const run of [now, later]) {
    const found = await check(ledger.fetch, { run });
    assert.deepEqual([found.checkpoint.size, found.keys, found.from, found.receipts, found.since], [9, 2, 0, 2, null]);
    assert.deepEqual(found.tail, { entries: 9, statements: 9, withheld: 0, erased: 0, inside: 0, insideUnknown: 0 });
  }
});

test("of a longer record the newest entries are recomputed, and the rest is hashes under the signed root", async () => {
  const ledger = await grown(MOST_ENTRIES + 300);
  const { checkpoint, from, tail, keep } = await check(ledger.fetch, { receipts: [0, 299, MOST_ENTRIES + 299] });
  assert.deepEqual([checkpoint.size, from, tail.entries], [MOST_ENTRIES + 300, 300, MOST_ENTRIES]);
  await grown(5, ledger);
  assert.equal((await check(ledger.fetch, { kept: keep })).since.size, MOST_ENTRIES + 300);
  const lying = changing(ledger, "tile/0/000", flip(64));
  await assert.rejects(check(lying), refused("BROKEN", /do not lead to the root/));
  const above = changing(ledger, "tile/1/000", flip(0));
  await assert.rejects(check(above), refused("BROKEN", /do not give the root/));
});

test("the next visit proves that the record continues, and names a shorter or another one with both notes", async () => {
  const ledger = await grown(5);
  const { keep } = await check(ledger.fetch);
  assert.equal((await check(ledger.fetch, { kept: keep })).since.size, 5);
  await grown(300, ledger);
  assert.equal((await check(ledger.fetch, { kept: keep })).since.size, 5);

  const shorter = await grown(4);
  const isBoth = (error) => error.notes.length === 2 && error.notes[0] === keep.note;
  await assert.rejects(check(shorter.fetch, { kept: keep }), (error) => refused("SHORTENED", /had 5 entries .* has 4 now/)(error) && isBoth(error));
  const other = await grown(7);
  await assert.rejects(check(other.fetch, { kept: keep }), (error) => refused("FORKED", /does not continue/)(error) && isBoth(error));
  const sameSize = await grown(5);
  await assert.rejects(check(sameSize.fetch, { kept: keep }), (error) => refused("FORKED", /does not continue/)(error) && isBoth(error));
});

test("a log key that is another than at the earlier visit is named, although the key set vouches for it", async () => {
  const ledger = await grown(5);
  const { keep } = await check(ledger.fetch);
  const other = new Ledger({ log: STRANGER });
  [other.leaves, other.receipts] = [ledger.leaves, ledger.receipts];
  const keys = JSON.parse(PINNED_KEYS);
  keys.keys.push(jwk(STRANGER, "log"));
  const fetch = changing(other, "jwks.json", () => JSON.stringify(keys));
  assert.equal((await check(fetch)).checkpoint.size, 5);
  await assert.rejects(check(fetch, { kept: keep }), refused("UNPINNED", /log key changed/));
});

// One byte each, and the place that must be named.
const TAMPERED = {
  "a key": ["jwks.json", (text) => text.replace(/"x":"(.)/, (_, first) => `"x":"${first === "A" ? "B" : "A"}`), "BROKEN", /^jwks\.json: /],
  "the checkpoint's root": ["checkpoint", (text) => text.replace(/\n(.)([^\n]{43})\n\n/, (_, one, rest) => `\n${one === "A" ? "B" : "A"}${rest}\n\n`), "BROKEN", /^checkpoint: signature/],
  "the checkpoint's size": ["checkpoint", (text) => text.replace("\n9\n", "\n8\n"), "BROKEN", /^checkpoint: signature/],
  "a verdict": ["entries.json", (text) => text.replace('"verdict":"ALLOW"', '"verdict":"DENY"'), "BROKEN", /^entry 0: signature/],
  "an entry's time": ["entries.json", (text) => text.replace(/("seq":4,.*?)/, "$1").replace(/"at":"(\d{4})-/, '"at":"1970-'), "BROKEN", /^entry 0: /],
  "an entry left out": ["entries.json", (text) => { const read = JSON.parse(text); read.entries.splice(4, 1); return JSON.stringify(read); }, "BROKEN", /^entry 5/],
  "two entries swapped": ["entries.json", (text) => { const read = JSON.parse(text); read.entries.splice(3, 2, read.entries[4], read.entries[3]); return JSON.stringify(read); }, "BROKEN", /^entry 4/],
  "a body that is said to be erased": ["entries.json", (text) => { const read = JSON.parse(text); delete read.entries[4].body; read.entries[4].absent = true; return JSON.stringify(read); }, "BROKEN", /^entry 4: body is empty and no tombstone/],
  "a body that is said to be withheld": ["entries.json", (text) => { const read = JSON.parse(text); delete read.entries[4].body; read.entries[4].withheld = { form: "vendor-wire" }; return JSON.stringify(read); }, "BROKEN", /^entry 4: a body of kind decision is withheld/],
  "a list that is cut": ["entries.json", (text) => text.slice(0, -9), "BROKEN", /^entries\.json/],
  "a receipt's statement": ["receipts/3", (text) => text.replace('"verdict":"ALLOW"', '"verdict":"DENY"'), "BROKEN", /^receipts\/3: signature/],
  "a receipt's proof": ["receipts/3", (text) => text.replace(/index 3\\n./, (found) => found.slice(0, -1) + (found.endsWith("A") ? "B" : "A")), "BROKEN", /^receipts\/3: entry is not in the tree/],
  "a receipt of another entry": ["receipts/3", (_, ledger) => JSON.stringify(ledger.receipts[4]), "BROKEN", /^receipts\/3: is of entry 4/],
};

for (const [what, [path, change, answer, message]] of Object.entries(TAMPERED)) {
  test(`changed on the way: ${what}`, async () => {
    const ledger = await grown(9);
    const text = (bytes) => change(bytes.toString("utf8"), ledger);
    await assert.rejects(check(changing(ledger, path, text)), refused(answer, message));
  });
}

test("a page of another issuer, and a record that cannot be read, are not verified", async () => {
  const ledger = await grown(4);
  await assert.rejects(check(ledger.fetch, { issuer: "https://gw.example/p/8-k3m9q2v8" }), refused("BROKEN", /not of/));
  const gone = (path) => (path.startsWith("receipts/") ? Promise.reject(new Error("404")) : ledger.fetch(path));
  await assert.rejects(check(gone), refused("UNREACHABLE", /^receipts\/0: 404/));
});

test("a checkpoint that is a moment behind is waited for, and not for ever", async () => {
  const [ledger, behind] = [await grown(4), new Ledger()];
  [behind.leaves, behind.receipts] = [ledger.leaves.slice(0, 3), ledger.receipts];
  let pauses = 0;
  const fetch = (path) => (path === "checkpoint" && pauses < 2 ? behind : ledger).fetch(path);
  assert.equal((await check(fetch, { pause: async () => { pauses += 1; } })).checkpoint.size, 4);
  await assert.rejects(check(behind.fetch), refused("BROKEN", /ends at entry 2, and the page shows entry 3/));
});
