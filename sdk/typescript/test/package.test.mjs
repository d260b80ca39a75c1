// P1, P2, P6, P7: whole packages as zip files: what is read, what is refused, and that no byte can be changed unseen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { KeySet, Refused, TooLargeError, verifyChain, verifyPackage } from "../dist/verify.js";
import { checkPackage } from "../dist/verify/package.js";
import { now } from "../dist/format/now.js";
import { Ledger, PINNED_KEYS } from "./ledger.mjs";
import { filesOf, zipped } from "./zipped.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../../../docs/vectors/packages/${name}.json`, import.meta.url), "utf8"));
const HONEST = read("honest");
const PINNED = KeySet.parse(JSON.stringify(HONEST.jwks));
const registry = () => ({ signs: true, within: 600_000 });

test("an honest package verifies, stored and deflated, as bytes and as a Blob", async () => {
  for (const method of [0, 8]) {
    const zip = zipped(filesOf(HONEST), { method });
    for (const given of [zip, new Blob([zip])]) {
      const report = await verifyPackage(given, { pinned: PINNED, registry });
      assert.deepEqual([report.verdict.answer, report.exitCode, report.first, report.size], ["UNANCHORED", 10, 0, 10]);
      assert.deepEqual(report.calls, { "governed matched": 2 });
      assert.deepEqual(report.providers.map(({ provider, pinnedBy }) => [provider, pinnedBy]), [["notes", "holder"]]);
    }
  }
});

test("keys are brought, not found", async () => {
  const none = KeySet.parse(JSON.stringify({ ...HONEST.jwks, keys: [] }));
  const { verdict } = await verifyPackage(zipped(filesOf(HONEST)), { pinned: none });
  assert.equal(verdict.answer, "UNPINNED");
});

const with_ = (changes) => filesOf(HONEST).map(([name, bytes]) => [name, bytes, name === "tombstones" ? changes : {}]);
const FIRST = filesOf(HONEST)[0];
const BAD_ZIPS = {
  "nothing at all": [Buffer.alloc(0), /ends early/],
  "text": [Buffer.from("not a zip file, and longer than its end would be"), /does not end/],
  "a comment": [zipped(filesOf(HONEST), { comment: "hello" }), /does not end/],
  "something before the first file, places as if it were not there": [Buffer.concat([Buffer.from("#!/bin/sh"), zipped(filesOf(HONEST))]), /not where it says/],
  "a file twice": [zipped([...filesOf(HONEST), FIRST]), /stands twice/],
  "a path": [zipped([["../tombstones", Buffer.from("[]")]]), /name that no file/],
  "a folder": [zipped([["anchors/", Buffer.alloc(0)]]), /name that no file/],
  "a hidden name": [zipped([["anchors/.x", Buffer.alloc(0)]]), /name that no file/],
  "a deeper path": [zipped([["a/b/c", Buffer.alloc(0)]]), /name that no file/],
  "two spellings of one name": [zipped([["tombstones", Buffer.from("[]")], ["Tombstones", Buffer.from("[]")]]), /stands twice/],
  "another checksum": [zipped(with_({ sum: 7 })), /another checksum/],
  "encryption": [zipped(with_({ flags: 0x801 })), /encrypted/],
  "another method": [zipped(with_({ method: 12, data: Buffer.from("[]") })), /method 12/],
  "zip64 sizes": [zipped(with_({ size: 0xffffffff })), /zip64/],
  "more disks than one": [zipped(filesOf(HONEST), { disk: 1 }), /not where it says/],
  "another number of files": [zipped(filesOf(HONEST), { count: 3 }), /not as long/],
  "more data than declared": [zipped(with_({ size: 1 })), /longer than declared/],
  "less data than declared": [zipped(with_({ size: 90 })), /shorter than declared/],
  "stored data of another size": [zipped(with_({ method: 0, size: 90 })), /another size than its own/],
  "data that does not unpack": [zipped(with_({ data: Buffer.from("no deflate stream") })), /does not unpack/],
  "two names for one file": [zipped(with_({ ownName: "tombstonez" })), /says otherwise/],
  "a file inside another": [zipped(with_({ at: 0 })), /lies inside another|says otherwise/],
  "a cut": [zipped(filesOf(HONEST)).subarray(0, -30), /does not end/],
};

for (const [what, [zip, why]] of Object.entries(BAD_ZIPS)) {
  test(`a zip file with ${what} is refused`, async () => {
    const { verdict, exitCode } = await verifyPackage(zip, { pinned: PINNED });
    assert.deepEqual([verdict.answer, exitCode], ["BROKEN", 40]);
    assert.match(verdict.why, why);
  });
}

test("what unpacks to more than fits is neither right nor broken", async () => {
  await assert.rejects(verifyPackage(zipped(with_({ size: 0x7fffffff })), { pinned: PINNED }), TooLargeError);
});

test("a provider's own keys count as pinned by the holder, and nothing else makes them so", async () => {
  const ours = { ...HONEST.jwks, keys: HONEST.jwks.keys.filter(({ purpose }) => purpose !== "execution") };
  const [{ x }] = HONEST.jwks.keys.filter(({ purpose }) => purpose === "execution");
  const pinned = KeySet.parse(JSON.stringify(ours));
  const by = async (providerKeys) => (await verifyPackage(zipped(filesOf(HONEST)), { pinned, registry, providerKeys })).providers.map(({ pinnedBy }) => pinnedBy);
  const jwk = { kty: "OKP", crv: "Ed25519", x, kid: "k1" };
  assert.deepEqual(await by([]), ["operator"]);
  assert.deepEqual(await by([JSON.stringify(jwk)]), ["holder"]);
  assert.deepEqual(await by([JSON.stringify({ keys: [{ kty: "RSA" }, jwk] })]), ["holder"]);
});

test("no byte of any file can be changed unseen", () => {
  const files = filesOf(HONEST);
  let changed = 0;
  for (const [name, bytes] of files) {
    for (let at = 0; at < bytes.length; at += Math.max(1, Math.floor(bytes.length / 40))) {
      const other = Buffer.from(bytes);
      other[at] ^= 1 << at % 8;
      const report = now(checkPackage(new Map(files).set(name, other), { pins: PINNED, registry }));
      assert.notEqual(report.verdict.answer, "UNANCHORED", `${name}, byte ${at}`);
      assert.ok(report.exitCode >= 20);
      changed += 1;
    }
  }
  assert.ok(changed > 250, `only ${changed}`);
});

test("what was kept must be in it: a receipt, a checkpoint, and a fork shows both notes", async () => {
  const since = read("forked").since;
  const forked = await verifyPackage(zipped(filesOf(read("forked"))), { pinned: PINNED, since, registry });
  assert.deepEqual([forked.verdict.answer, forked.verdict.notes.length], ["FORKED", 2]);
  const receipt = JSON.parse(readFileSync(new URL("../../../docs/vectors/receipts/decision.json", import.meta.url), "utf8")).receipt;
  const held = await verifyPackage(zipped(filesOf(HONEST)), { pinned: PINNED, held: [JSON.stringify(receipt)], registry });
  assert.ok(["FORKED", "INCOMPLETE"].includes(held.verdict.answer), held.verdict.why);
});

test("a chain of receipts is one chain, in its order", async () => {
  const [ledger, other] = [new Ledger(), new Ledger()];
  const chain = [];
  for (let at = 0; at < 4; at += 1) chain.push(JSON.stringify(await ledger.append()));
  const stranger = JSON.stringify((await other.append(), await other.append()));
  const pinned = KeySet.parse(PINNED_KEYS);

  assert.deepEqual(verifyChain(chain, pinned).map(({ entry }) => entry.seq), [0, 1, 2, 3]);
  assert.deepEqual(verifyChain([], pinned), []);
  const refused = (receipts, why) => assert.throws(() => verifyChain(receipts, pinned), (error) => error instanceof Refused && why.test(error.message) || assert.fail(error));
  refused([chain[0], chain[2]], /entry 2 stands where entry 1 is due/);
  refused([chain[1], chain[0]], /entry 0 stands where entry 2 is due/);
  refused([chain[0], stranger], /prev is/);
});
