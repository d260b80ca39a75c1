// P3, P9: what a provider signs, byte for byte; and keys that stay where they are.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { SigningKey, decisionId, executionStatement, sixFieldStatement } from "../dist/execution.js";
import { canonical } from "../dist/format/canonical.js";
import { EXECUTION_KEY } from "./world.mjs";

const vector = (name) => JSON.parse(readFileSync(new URL(`../../../docs/vectors/${name}`, import.meta.url), "utf8"));

test("an execution comes out as the published bytes", async () => {
  const wanted = Buffer.from(vector("chain/execution.json").statement.payload.bytes, "base64url").toString("utf8");
  const { claims, call_document } = vector("capability/note_write.json");
  const statement = await executionStatement({
    project: "prj_019355a0c0007000800000000000a001", provider: "notes", tool: claims.call.t, action: claims.txn,
    decision: claims.dec, capability: claims.jti, seed: claims.os, arguments: call_document.a, outcome: "EXECUTED",
    resultText: '{"content":[{"type":"text","text":"ok"}],"isError":false,"_meta":{"a":1},"resultType":"complete"}',
    errorCode: null, startedAt: new Date("2026-11-30T11:20:00.130Z"), executedAt: new Date("2026-11-30T11:20:00.138Z"),
    nonce: Buffer.alloc(16, 3).toString("base64url"),
  }, EXECUTION_KEY);
  assert.equal(canonical(statement), wanted);
});

test("an execution that is none of the format is not signed", async () => {
  const { claims } = vector("capability/note_write.json");
  const facts = {
    project: "prj_019355a0c0007000800000000000a001", provider: "notes", tool: "t", action: claims.txn, decision: claims.dec,
    capability: claims.jti, seed: claims.os, arguments: {}, outcome: "EXECUTED", resultText: null, errorCode: null,
    startedAt: new Date(0), executedAt: new Date(0),
  };
  await executionStatement(facts, EXECUTION_KEY);
  for (const change of [{ project: "prj_1" }, { outcome: "DONE" }, { errorCode: "a b" }, { seed: "AA" }]) {
    await assert.rejects(executionStatement({ ...facts, ...change }, EXECUTION_KEY));
  }
});

test("the six-field form signs exactly six fields", async () => {
  const fields = {
    action_id: "act_1", decision_id: decisionId(`sha256:${"0".repeat(64)}`), outcome: "EXECUTED", result_hash: null,
    error_code: null, executed_at: "2026-11-30T11:20:00.138Z",
  };
  const { signature, ...signed } = await sixFieldStatement({ ...fields, more: 1 }, EXECUTION_KEY);
  assert.deepEqual(signed, fields);
  assert.equal(fields.decision_id, `dec_${"0".repeat(64)}`);
  assert.ok(EXECUTION_KEY.publicKey.verify(canonical(fields), Buffer.from(signature.value, "base64url")));
});

test("a key is read from a file, the environment or a callback, and shown by none", async () => {
  const seed = Buffer.alloc(32, 0x21);
  const file = join(mkdtempSync(join(tmpdir(), "counterfoil-sdk-")), "key");
  writeFileSync(file, `${seed.toString("hex")}\n`, { mode: 0o600 });
  process.env.COUNTERFOIL_TEST_KEY = seed.toString("base64");
  const jwk = JSON.stringify({ kty: "OKP", crv: "Ed25519", x: EXECUTION_KEY.publicKey.x, d: seed.toString("base64url") });

  for (const key of [SigningKey.fromFile(file), SigningKey.fromEnvironment("COUNTERFOIL_TEST_KEY"), SigningKey.fromText(jwk)]) {
    assert.equal(key.kid, EXECUTION_KEY.kid);
    assert.equal(inspect(key), `SigningKey(${key.kid})`);
    assert.doesNotMatch(JSON.stringify(key), /21212121|ISEh/);
  }
  const elsewhere = { kid: EXECUTION_KEY.kid, sign: async (message) => EXECUTION_KEY.sign(message) };
  const fields = { action_id: "a", decision_id: "d", outcome: "FAILED", result_hash: null, error_code: "x", executed_at: "t" };
  assert.deepEqual(await sixFieldStatement(fields, elsewhere), await sixFieldStatement(fields, EXECUTION_KEY));

  chmodSync(file, 0o644);
  assert.throws(() => SigningKey.fromFile(file), /can be read by others/);
  assert.throws(() => SigningKey.fromText("short"), /32 bytes/);
});
