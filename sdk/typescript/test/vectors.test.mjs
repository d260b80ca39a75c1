// P7: every published case comes out as it says. A folder or a case that nobody knows how to run is a failure.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { test } from "node:test";
import { callHash } from "../dist/capability.js";
import { readExecution } from "../dist/execution.js";
import { base64, base64url, digestOf, fromBase64, hmacSha256 } from "../dist/format/bytes.js";
import { documentValue } from "../dist/format/bound.js";
import { canonical } from "../dist/format/canonical.js";
import { commit, disclosure, providerSeed, salt } from "../dist/format/commitment.js";
import { envelopeDigest } from "../dist/format/envelope.js";
import { Frontier } from "../dist/format/frontier.js";
import { JsonError, parse } from "../dist/format/json.js";
import { KeyError, KeySet, PublicKey } from "../dist/format/keys.js";
import { NoteError } from "../dist/format/note.js";
import { readCheckpoint, verifierKey } from "../dist/format/checkpoint.js";
import { now } from "../dist/format/now.js";
import { ShapeError } from "../dist/format/shapes.js";
import { hex } from "../dist/format/octets.js";
import { SigningKey } from "../dist/format/signer.js";
import { consistencyPath, inclusionPath, leafHash, nodeHash, rootOf, verifyConsistency, verifyInclusion } from "../dist/format/tree.js";
import { later } from "../dist/format/later.js";
import { checkPackage } from "../dist/verify/package.js";
import { checkReceipt } from "../dist/verify/receipt.js";
import { reconciliationCase } from "./situations.mjs";
import { Refused, entryHash, verifyReceipt } from "../dist/verify.js";

const VECTORS = new URL("../../../docs/vectors/", import.meta.url);
const OURS = readFileSync(new URL("jwks.json", VECTORS));
// Rules are evaluated by the gateway, export streams are followed by the program.
const ELSEWHERE = ["export", "make", "policy"];

const RUNNERS = {
  "canonical-json": canonicalCase, commitments: commitmentCase, capability: capabilityCase, chain: chainCase, trees: treeCase,
  checkpoints: checkpointCase, executions: executionCase, "key-sets": keySetCase, receipts: receiptCase, "malformed-receipts": receiptCase,
  packages: packageCase, reconciliation: reconciliationCase,
};

function refusal(kind, work) {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}

function canonicalCase({ profile, text, base64: bytes, canonical: wanted, refused_at }) {
  const raw = bytes === undefined ? text : Buffer.from(bytes, "base64");
  const error = refusal(JsonError, () => assert.equal(canonical(parse(raw, profile)), wanted));
  assert.equal(error?.path, refused_at);
}

function commitmentCase({ seed, salted_from, name, salt: wanted, document, value, disclosure: disclosed, commitment }) {
  const action = Buffer.from(seed, "hex");
  const from = { action, provider: providerSeed(action) }[salted_from];
  assert.equal(base64url(salt(from, name)), wanted);
  if (document !== undefined) assert.equal(documentValue(document), value);
  if (value === undefined) return;
  assert.equal(disclosure(wanted, name, value), disclosed);
  assert.equal(commit(from, name, value), commitment);
}

function capabilityCase({ sub_key, aud, principal, sub, header, claims, call_document, h, token }) {
  if (call_document) {
    const { aud: audience, t, a, i } = call_document;
    assert.equal(callHash(audience, t, a, i), claims?.call.h ?? h);
  }
  if (sub_key) {
    const named = canonical([aud ?? claims.aud, principal]);
    assert.equal(base64url(hmacSha256(Buffer.from(sub_key, "hex"), named)), sub ?? claims.sub);
  }
  if (token) {
    const signed = [header, claims].map((part) => base64url(Buffer.from(canonical(part)))).join(".");
    const signature = SigningKey.fromSeed(Buffer.alloc(32, 0x12)).sign(Buffer.from(signed));
    assert.equal(`${signed}.${base64url(signature)}`, token);
  }
  assert.ok(call_document || sub_key || token, "nothing to judge");
}

function chainCase({ statement, canonical_payload, digest, entry, canonical_entry, entry_hash, leaf_hash, project, prev }) {
  if (statement === undefined) return assert.equal(digestOf(`counterfoil/genesis/v1\n${project}`), prev);
  assert.equal(canonical(statement.payload), canonical_payload);
  assert.equal(envelopeDigest(statement), digest);
  assert.equal(entry.body, digest);
  assert.equal(canonical(entry), canonical_entry);
  assert.equal(entryHash(entry), entry_hash);
  assert.equal(hex(now(leafHash(canonical(entry)))), leaf_hash);
}

function treeCase({ leaf_data, root, paths, consistency }) {
  const leaves = leaf_data.map((data) => now(leafHash(data)));
  function* node(level, at) {
    return level === 0 ? leaves[at] : yield* nodeHash(yield* node(level - 1, at * 2), yield* node(level - 1, at * 2 + 1));
  }
  const size = leaves.length;
  const other = now(leafHash("other"));
  assert.equal(base64(now(rootOf(size, node))), root);
  paths.forEach((path, at) => {
    assert.deepEqual(now(inclusionPath(at, size, node)).map(base64), path);
    assert.ok(now(verifyInclusion(leaves[at], at, size, path.map(fromBase64), fromBase64(root))));
    assert.ok(!now(verifyInclusion(leaves[at], at, size, path.map(fromBase64), leaves[at])) || size === 1);
  });
  function* grown(old, path, before) {
    const edge = yield* Frontier.ofConsistency(old, size, path.map(fromBase64), before, fromBase64(root));
    for (const leaf of leaves.slice(old)) yield* edge.grow(leaf);
    return yield* edge.root();
  }
  for (const [old, path] of Object.entries(consistency)) {
    const before = now(rootOf(Number(old), node));
    assert.deepEqual(now(consistencyPath(Number(old), size, node)).map(base64), path);
    assert.ok(now(verifyConsistency(Number(old), size, path.map(fromBase64), before, fromBase64(root))));
    assert.ok(!now(verifyConsistency(Number(old), size, path.map(fromBase64), other, fromBase64(root))));
    assert.equal(base64(now(grown(Number(old), path, before))), root);
  }
}

function checkpointCase({ vkey, log_key, note, checkpoint }) {
  const key = PublicKey.parse(log_key);
  assert.equal(verifierKey(vkey.split("+")[0], key), vkey);
  let said = null;
  refusal(NoteError, () => {
    const { origin, size, root } = readCheckpoint(note, key);
    said = { origin, size, root: base64(root) };
  });
  assert.deepEqual(said, checkpoint);
}

function executionCase({ form, text, refused_because, key, holds, action, decision, fingerprint }) {
  if (refused_because !== undefined) return assert.throws(() => readExecution(text, form), (error) => error instanceof JsonError || error instanceof ShapeError);
  const read = readExecution(text, form);
  assert.deepEqual([read.action, read.decision, read.fingerprint], [action, decision, fingerprint]);
  assert.equal(read.holdsUnder(PublicKey.parse(key)), holds);
}

function keySetCase({ jwks, accepted }) {
  const error = refusal(Error, () => KeySet.parse(JSON.stringify(jwks)));
  assert.equal(error === null, accepted);
  assert.ok(error === null || error instanceof KeyError || error instanceof JsonError, String(error));
}

async function receiptCase({ receipt, receipt_base64, jwks, answer }) {
  const raw = receipt_base64 === undefined ? JSON.stringify(receipt) : Buffer.from(receipt_base64, "base64");
  const pinned = KeySet.parse(jwks === undefined ? OURS : JSON.stringify(jwks));
  const error = refusal(Refused, () => verifyReceipt(raw, pinned));
  assert.equal(error?.answer ?? "VERIFIED", answer ?? "VERIFIED");
  assert.equal(error?.exitCode ?? 0, { VERIFIED: 0, BROKEN: 40, UNPINNED: 50 }[answer ?? "VERIFIED"]);
  // A page has no functions that answer at once, and must come to the same.
  const inAPage = await later(checkReceipt(raw, pinned)).then(() => undefined, (refused) => refused);
  assert.deepEqual([inAPage?.answer, inAPage?.message], [error?.answer, error?.message]);
}

async function packageCase({ jwks, registry, since, files, answer, exit }) {
  const bytes = ([name, { text, base64: raw }]) => [name, raw === undefined ? Buffer.from(text) : Buffer.from(raw, "base64")];
  const unpacked = new Map(Object.entries(files).map(bytes));
  const trust = {
    pins: KeySet.parse(JSON.stringify(jwks)), since,
    registry: (_, provider) => registry[provider] && { signs: registry[provider].signs, within: registry[provider].sign_within * 1000 },
  };
  const report = now(checkPackage(unpacked, trust));
  assert.deepEqual([report.verdict.answer, report.exitCode], [answer, exit], report.verdict.why);
  assert.deepEqual(await later(checkPackage(unpacked, trust)), report);
}

test("every folder of cases is known", () => {
  const folders = readdirSync(VECTORS).filter((name) => statSync(new URL(name, VECTORS)).isDirectory());
  assert.deepEqual(folders.filter((name) => !ELSEWHERE.includes(name)).sort(), Object.keys(RUNNERS).sort());
});

for (const [folder, run] of Object.entries(RUNNERS)) {
  test(`every case of ${folder} comes out as it says`, async (t) => {
    const files = readdirSync(new URL(`${folder}/`, VECTORS)).filter((name) => name.endsWith(".json"));
    assert.ok(files.length > 0);
    for (const file of files) {
      await t.test(file, () => run(JSON.parse(readFileSync(new URL(`${folder}/${file}`, VECTORS), "utf8"))));
    }
  });
}

test("the formats in this package are the published ones", () => {
  const published = readFileSync(new URL("../../../docs/formats/examples/statements.json", import.meta.url));
  assert.ok(published.equals(readFileSync(new URL("../formats/statements.json", import.meta.url))));
});
