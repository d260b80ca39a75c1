// P5: a vendor that keeps its receipts finds out when the record was shortened or rewritten.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sign } from "../dist/format/envelope.js";
import { ReceiptStore } from "../dist/receipts.js";
import { KeySet, Refused } from "../dist/verify.js";
import { Ledger, PINNED_KEYS } from "./ledger.mjs";
import { EXECUTION_KEY, STRANGER } from "./world.mjs";

const PINNED = KeySet.parse(PINNED_KEYS);
const folder = () => mkdtempSync(join(tmpdir(), "counterfoil-receipts-"));

async function grown(ledger, count) {
  const receipts = [];
  for (let at = 0; at < count; at += 1) receipts.push(JSON.stringify(await ledger.append()));
  return receipts;
}

async function held(count, kept) {
  const [ledger, place] = [new Ledger(), folder()];
  const store = new ReceiptStore(place, PINNED);
  const receipts = await grown(ledger, count);
  for (const seq of kept) store.keep(receipts[seq]);
  return { ledger, store, place };
}

test("a record that only grew holds what I hold", async () => {
  for (const [before, more] of [[1, 1], [5, 3], [255, 2], [256, 300]]) {
    const { ledger, store } = await held(before, [0, before - 1]);
    assert.equal(store.seen().size, before);
    await grown(ledger, more);
    assert.deepEqual(await store.check(ledger.fetch), { size: before + more, found: before === 1 ? 1 : 2, alarm: null });
    assert.equal(store.seen().size, before + more);
  }
});

test("a record that shrank raises an alarm with both notes", async () => {
  const { ledger, store, place } = await held(5, [1, 4]);
  const shortened = new Ledger();
  shortened.leaves = ledger.leaves.slice(0, 3);

  const { alarm } = await store.check(shortened.fetch);

  assert.equal(alarm.kind, "shrank");
  const notes = readdirSync(place).filter((name) => name.endsWith(".note")).map((name) => readFileSync(join(place, name), "utf8"));
  assert.deepEqual(notes.map((note) => note.split("\n")[1]).sort(), ["3", "5"]);
  assert.equal(store.seen().size, 5, "the larger note stays");
});

test("a checkpoint that is published a moment later is no alarm", async () => {
  const { ledger, store } = await held(5, [4]);
  const before = new Ledger();
  before.leaves = ledger.leaves.slice(0, 3);
  let asked = 0;
  const fetch = (path) => ((asked += 1) === 1 ? before : ledger).fetch(path);

  const { size, alarm } = await store.check(fetch);

  assert.deepEqual([size, alarm], [5, null]);
});

test("a record that forked raises an alarm, at the same size and beyond it", async () => {
  for (const size of [5, 8]) {
    const { store, place } = await held(5, [1, 4]);
    const other = new Ledger();
    await grown(other, size);
    assert.equal((await store.check(other.fetch)).alarm.kind, "forked");
    assert.equal(readdirSync(place).filter((name) => name.endsWith(".note")).length, 2);
  }
});

test("receipts of two histories raise an alarm whichever is shown", async () => {
  const { store } = await held(3, [0]);
  const other = new Ledger();
  store.keep((await grown(other, 5))[4]);
  const { alarm } = await store.check(other.fetch);
  assert.deepEqual([alarm.kind, alarm.seq, alarm.notes.length], ["missing", 0, 2]);
});

test("a log whose tiles do not add up to its checkpoint raises an alarm", async () => {
  const { ledger, store } = await held(4, [0]);
  await grown(ledger, 3);
  const lying = async (path) => {
    const bytes = await ledger.fetch(path);
    if (path.startsWith("tile")) bytes[40] ^= 1;
    return bytes;
  };
  assert.equal((await store.check(lying)).alarm.kind, "forked");
});

test("a checkpoint that no pinned key signed is none", async () => {
  const { ledger, store } = await held(3, [0]);
  const stranger = new Ledger({ log: STRANGER });
  stranger.leaves = ledger.leaves;
  await assert.rejects(store.check(stranger.fetch), Refused);
  assert.throws(() => store.keep("{}"), Refused);
});

test("an execution without an acceptance is overdue after ten minutes", async () => {
  const clock = { now: Date.now() };
  const store = new ReceiptStore(folder(), PINNED, () => clock.now);
  const statement = await sign({ typ: "execution/v1" }, EXECUTION_KEY);
  store.expectAcceptance(statement);
  clock.now += 9 * 60_000;
  assert.deepEqual(store.overdue(), []);
  clock.now += 2 * 60_000;
  assert.deepEqual(store.overdue(), [statement]);
});

test("an acceptance ends the waiting", async () => {
  const vectors = new URL("../../../docs/vectors/", import.meta.url);
  const { receipt } = JSON.parse(readFileSync(new URL("receipts/execution.json", vectors), "utf8"));
  const clock = { now: Date.now() };
  const store = new ReceiptStore(folder(), KeySet.parse(readFileSync(new URL("jwks.json", vectors))), () => clock.now);
  store.expectAcceptance(JSON.parse(Buffer.from(receipt.statement.payload.bytes, "base64url").toString("utf8")));
  clock.now += 11 * 60_000;
  assert.equal(store.overdue().length, 1);
  store.accept(JSON.stringify(receipt));
  assert.deepEqual(store.overdue(), []);
});
