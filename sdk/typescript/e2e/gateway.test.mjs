// C1, C2, P3, P7: a real gateway, and the example provider behind it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { createInterface } from "node:readline";
import { PublicKey, KeySet, verifyReceipt } from "counterfoil-sdk/verify";
import { ReceiptStore } from "counterfoil-sdk/receipts";
import { SigningKey } from "counterfoil-sdk/execution";
import { NoVerdict, NotCleared, Verdicts } from "counterfoil-sdk/verdict";
import { holdsUnder } from "../dist/format/envelope.js";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROVIDER, deploy } from "./deployment.mjs";

const SEED = "21".repeat(32);
const ARGS = { path: "/notes/a.txt", text: '{"a": 1}' };
let world, session;

async function ask(id, method, params) {
  const answer = await fetch(`${world.gateway}/mcp/notes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.api_key}`, "content-type": "application/json", accept: "application/json, text/event-stream",
      ...(session ? { "mcp-session-id": session } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  session ??= answer.headers.get("mcp-session-id");
  const text = await answer.text();
  return text === "" ? null : JSON.parse(text.match(/^data: (.+)$/m)?.[1] ?? text);
}

const receiptOf = async (seq) => (await fetch(`${world.evidence}/v1/receipts/${seq}`, { headers: { authorization: `Bearer ${world.api_key}` } })).text();

/** What the provider's statements, out of its results, became: through the gateway, which passes the question on. */
async function acceptances() {
  for (let at = 0; at < 50; at += 1) {
    const answer = await fetch(`${world.gateway}/v1/acceptances`, { headers: { authorization: `Bearer ${world.api_key}` } });
    const told = await answer.json();
    if (told.acceptances.length > 0) return told.acceptances;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return [];
}

/** The provider without the gateway, as somebody who goes around it would start it. */
async function around(message) {
  const child = spawn(PROVIDER[0], PROVIDER.slice(1), { env: { ...process.env, ...world.env }, stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write(`${JSON.stringify(message)}\n`);
  for await (const line of createInterface({ input: child.stdout })) {
    child.kill();
    return JSON.parse(line);
  }
}

before(async () => {
  world = await deploy(SEED);
  await ask(0, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "e2e", version: "1" } });
});
after(() => world?.stop());

test("the real gateway's capability is accepted, and both halves of the receipt match", async () => {
  const { result } = await ask(1, "tools/call", { name: "note_write", arguments: ARGS, _meta: { "dev.counterfoil/want": "full" } });
  assert.equal(result.content[0].text, "wrote /notes/a.txt");
  const { action, ...note } = world.lines("notes.jsonl")[0];
  assert.deepEqual(note, { ...ARGS, copies: 1 });

  const pinned = KeySet.parse(await (await fetch(`${world.evidence}${world.page}/jwks.json`)).text());
  const store = new ReceiptStore(mkdtempSync(join(tmpdir(), "counterfoil-kept-")), pinned);
  const decision = store.keep(JSON.stringify(result._meta["dev.counterfoil/receipt"].receipt));
  const [statement] = world.lines("executions.jsonl");
  assert.ok(holdsUnder(statement, PublicKey.parse(SigningKey.fromText(SEED).publicKey.x)));
  assert.equal(action, decision.payload.action);
  assert.equal(statement.payload.decision, decision.digest);
  assert.equal(statement.payload.capability, decision.payload.capability);
  assert.equal(statement.payload.args, decision.payload.args, "both sides commit to the arguments alike");

  // The observation and the provider's statement follow the decision, in whichever order.
  let observation;
  for (let at = 0; at < 50 && !observation; at += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const texts = [await receiptOf(decision.entry.seq + 1), await receiptOf(decision.entry.seq + 2)];
    const text = texts.find((text) => text.includes("observation/v1"));
    if (text) observation = verifyReceipt(text, pinned).payload;
  }
  assert.equal(observation.status, "returned");
  assert.equal(observation.result, statement.payload.result, "both sides commit to the result alike");
  const accepted = await acceptances();
  assert.deepEqual([accepted.length, accepted[0].provider, accepted[0].signature_valid], [1, "notes", true]);
  assert.equal(verifyReceipt(JSON.stringify(accepted[0].receipt), pinned).payload.signer.thumbprint, statement.signature.kid);
  const checked = await store.check(`${world.evidence}${world.page}`);
  assert.deepEqual([checked.found, checked.alarm], [1, null]);
});

test("a replay and a call around the gateway are refused", async () => {
  const calls = () => world.lines("asked.jsonl").filter(({ method }) => method === "tools/call");
  const replayed = await around(calls()[0]);
  assert.equal(replayed.error.data.reason, "capability_used");
  const direct = await around({ jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "note_write", arguments: ARGS } });
  assert.equal(direct.error.data.reason, "capability_missing");
  assert.equal(world.lines("notes.jsonl").length, 1);
});

test("what the rules do not allow never reaches the provider", async () => {
  await ask(2, "tools/call", { name: "note_write", arguments: { path: "/elsewhere/a.txt", text: "x" } });
  assert.equal(world.lines("notes.jsonl").length, 1);
});

const proposal = (seq, path) => ({
  session: "run-1", seq, tool: { name: "note_write", provider: "notes" }, arguments: { path, text: "x" }, disclose: true,
});
let verdicts;

test("a vendor that asks first: what is allowed runs once at the provider and is reported, anything else does nothing", async () => {
  const pinned = KeySet.parse(await (await fetch(`${world.evidence}${world.page}/jwks.json`)).text());
  const { gateway, api_key: apiKey, project } = world;
  verdicts = new Verdicts({ gateway, apiKey, project, env: "live", pinned, signer: SigningKey.fromText(SEED) });
  const original_request = { hash: `sha256:${"0".repeat(64)}`, anchors: [] };
  await verdicts.open({ external_id: "run-1", agent: { external_id: "a-1" }, principal: { type: "service", ref: "p-1" }, original_request });
  const before = world.lines("notes.jsonl").length;

  const asked = proposal(0, "/notes/b.txt");
  const present = ({ capability }) => around({
    jsonrpc: "2.0", id: 1, method: "tools/call",
    params: { name: "note_write", arguments: asked.arguments, _meta: { "dev.counterfoil/capability": capability } },
  });
  let used;
  const answer = await verdicts.guard(asked, (cleared) => present((used = cleared)));
  assert.equal(answer.result.content[0].text, "wrote /notes/b.txt");
  assert.equal((await present(used)).error.data.reason, "capability_used");
  const stated = ({ receipt }) => JSON.parse(Buffer.from(receipt.statement.payload.bytes, "base64url").toString());
  const reported = (await acceptances()).filter((accepted) => stated(accepted).action_id === used.action);
  assert.deepEqual(reported.map(({ signature_valid: valid }) => valid), [true]);

  let ran = false;
  const refused = verdicts.guard(proposal(1, "/elsewhere/b.txt"), () => { ran = true; });
  await assert.rejects(refused, (error) => error instanceof NotCleared && error.decided.verdict === "STEP_UP");
  assert.equal(ran, false);
  assert.equal(world.lines("notes.jsonl").length, before + 1);
});

test("with the gateway stopped nothing runs", async () => {
  const gone = world;
  world = undefined;
  await gone.stop();
  let ran = false;
  await assert.rejects(verdicts.guard(proposal(2, "/notes/c.txt"), () => { ran = true; }), NoVerdict);
  assert.equal(ran, false);
});
