// C1: the attack suite, against the example provider as a process of its own. Each is refused before the handler runs, with its own
// reason.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { base64url } from "../dist/format/bytes.js";
import { canonical } from "../dist/format/canonical.js";
import { ISSUER, KEY, PROJECT, STRANGER, call, claims, gateway, token } from "./world.mjs";

const EXAMPLE = fileURLToPath(new URL("../examples/http-provider.mjs", import.meta.url));
const ARGS = { path: "/notes/été.txt", text: "x", copies: 3 };
const slip = (changes = {}, signing, answers = {}) => token(claims("note_write", ARGS, { claims: changes, ...answers }), signing);
const headed = (header) => slip({}, { header });
const presented = (capability, args = ARGS, tool = "note_write") => call(tool, args, capability);
const part = (value) => base64url(Buffer.from(canonical(value)));

/** Tokens that are none, or not ours. */
function forged() {
  const [head, body, signature] = slip().split(".");
  const signed = `${part({ alg: "HS256", kid: KEY.kid, typ: "toolcap+jwt" })}.${body}`;
  const hmac = createHmac("sha256", KEY.publicKey.bytes).update(signed).digest("base64url");
  const flipped = `${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`;
  return {
    "no capability": ["capability_missing", undefined],
    "alg none": ["capability_malformed", `${part({ alg: "none", kid: "x", typ: "toolcap+jwt" })}.${body}.`],
    "HS256 with the public key": ["capability_malformed", `${signed}.${hmac}`],
    "another alg": ["capability_header", headed({ alg: "HS256" })],
    "another type": ["capability_header", headed({ typ: "at+jwt" })],
    "a feed as a slip": ["capability_header", headed({ typ: "toolgen+jwt" })],
    "an unknown critical header": ["capability_header", headed({ crit: ["x"] })],
    "a key in the token": ["capability_header", headed({ jku: "http://127.0.0.1/" })],
    "a path as key id": ["capability_header", headed({ kid: "../../etc/passwd" })],
    "a stranger's key": ["capability_key", slip({}, { key: STRANGER })],
    "a stranger under our key id": ["capability_signature", slip({}, { key: STRANGER, header: { kid: KEY.kid } })],
    "a changed signature": ["capability_signature", `${head}.${body}.${flipped}`],
    "a fourth part": ["capability_malformed", `${head}.${body}.${signature}.${signature}`],
    "padding": ["capability_malformed", `${head}.${body}=.${signature}`],
    "oversized": ["capability_too_long", "a".repeat(4097)],
    "a number": ["capability_malformed", 7],
    "a receipt": ["capability_malformed", { typ: "receipt/v1" }],
    "a claim of no meaning": ["capability_malformed", slip({ extra: 1 })],
  };
}

/** Slips that are ours, for something else. */
function misused() {
  const now = Math.floor(Date.now() / 1000);
  const elsewhere = {
    "another issuer": ["capability_issuer", { iss: "https://gw.example/p/9-zzzzzzzz" }],
    "another provider": ["capability_audience", { aud: "urn:another" }],
    "another environment": ["capability_environment", { env: "test" }],
    "bound to a certificate": ["capability_unsupported", { cnf: {} }],
    "advisory": ["capability_unsupported", { adv: true }],
    "expired": ["capability_time", { iat: now - 40, nbf: now - 45, exp: now - 6 }],
    "not yet": ["capability_time", { iat: now + 20, nbf: now + 15, exp: now + 40 }],
    "too long-lived": ["capability_life", { iat: now, nbf: now - 5, exp: now + 61 }],
    "of before a kill": ["capability_killed", { gen: 2 }],
  };
  const others = {
    "another type": { ...ARGS, copies: "3" },
    "another number": { ...ARGS, copies: 3.5 },
    "true for one": { ...ARGS, copies: true },
    "a look-alike": { ...ARGS, path: "/notes/e\u0301te\u0301.txt" },
    "an extra key": { ...ARGS, more: null },
    "a key less": { path: ARGS.path, text: "x" },
    "a text that holds it": JSON.stringify(ARGS),
    "a list": [ARGS],
    "nothing": null,
  };
  const asked = { ask: { action: "accept" } };
  const other = { ask: { action: "decline" } };
  return {
    ...Object.fromEntries(Object.entries(elsewhere).map(([what, [code, changes]]) => [what, [code, presented(slip(changes))]])),
    ...Object.fromEntries(Object.entries(others).map(([what, args]) => [what, ["capability_arguments", presented(slip(), args)]])),
    "another tool": ["capability_tool", presented(slip(), ARGS, "note_delete")],
    "another answer": ["capability_arguments", call("note_write", ARGS, slip({}, undefined, { inputResponses: asked }), { inputResponses: other })],
    "an answer that nobody asked for": ["capability_arguments", call("note_write", ARGS, slip(), { inputResponses: asked })],
  };
}

const folder = mkdtempSync(join(tmpdir(), "counterfoil-attacks-"));
const children = [];
let world, ports;

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function start() {
  const port = await freePort();
  const env = {
    ...process.env, COUNTERFOIL_ISSUER: ISSUER, COUNTERFOIL_PROJECT: PROJECT, COUNTERFOIL_GATEWAY: world.address, NOTES_FOLDER: folder,
  };
  children.push(spawn(process.execPath, [EXAMPLE, String(port)], { env, stdio: ["ignore", "ignore", "inherit"] }));
  for (let at = 0; at < 200; at += 1) {
    if (await fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false)) return port;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return assert.fail("the example does not listen");
}

before(async () => {
  world = await gateway();
  ports = await Promise.all([start(), start()]);
});
after(() => {
  for (const child of children) child.kill();
  world.close();
  rmSync(folder, { recursive: true, force: true });
});

async function post(body, { replica = 0, headers = {} } = {}) {
  const answer = await fetch(`http://127.0.0.1:${ports[replica]}/mcp`, {
    method: "POST", body, headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
  });
  const text = await answer.text();
  return JSON.parse(text.match(/^data: (.+)$/m)?.[1] ?? text);
}

async function outcome(params, more) {
  const { error, result } = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }), more);
  return error?.data.reason ?? result.content[0].text;
}

const notes = () => (existsSync(join(folder, "notes.jsonl")) ? readFileSync(join(folder, "notes.jsonl"), "utf8").trim().split("\n").length : 0);

test("every attack on the example provider is refused with its own reason", async (t) => {
  const tokens = Object.entries(forged()).map(([what, [code, capability]]) => [what, [code, presented(capability)]]);
  const attacks = [...tokens, ...Object.entries(misused())];
  assert.ok(attacks.length >= 38);
  for (const [what, [code, params]] of attacks) await t.test(what, async () => assert.equal(await outcome(params), code));
  assert.equal(await outcome(presented(slip()), { headers: { "tool-capability": slip() } }), "capability_twice");
  const batch = JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "tools/call", params: presented(slip()) }]);
  assert.equal((await post(batch)).error.data.reason, "capability_batch");
  for (const text of ['{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', '{"n":9007199254740993}']) {
    assert.equal((await post(text)).error.code, -32700, "a text with two readings");
  }
  assert.equal(notes(), 0, "no handler ran");

  const used = presented(slip());
  assert.equal(await outcome(used), "wrote /notes/été.txt");
  assert.equal(await outcome(used), "capability_used");
  assert.equal(await outcome(used, { replica: 1 }), "capability_used", "and on another replica");
  rmSync(join(folder, "used"), { recursive: true });
  assert.equal(await outcome(presented(slip())), "capability_store");
  assert.equal(notes(), 1);
});
