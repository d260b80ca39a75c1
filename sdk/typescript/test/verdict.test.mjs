// C2: unreachable, slow, malformed, unsigned, expired, or for another action: no.
import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { NoVerdict, NotCleared, Outbox, Verdicts } from "../dist/verdict.js";
import { KeySet } from "../dist/verify.js";
import { Ledger, PINNED_KEYS, answer, decision } from "./ledger.mjs";
import { EXECUTION_KEY, PROJECT, STRANGER } from "./world.mjs";

const ARGS = { path: "/notes/a" };
const PROPOSAL = { session: "s-1", seq: 1, tool: { name: "note_write", provider: "notes" }, arguments: ARGS };

/** Answers with what `respond` makes of the request; what it got is kept. */
async function api(respond) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    asked.push({ path: request.url, headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString() || "{}") });
    const made = await respond(asked.at(-1), response);
    if (made !== undefined) response.end(typeof made === "string" ? made : JSON.stringify(made));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clock = { skew: 0 };
  const verdicts = new Verdicts({
    gateway: `http://127.0.0.1:${server.address().port}`, apiKey: "cfk_test", project: PROJECT, env: "live",
    pinned: KeySet.parse(PINNED_KEYS), signer: EXECUTION_KEY, now: () => Date.now() + clock.skew,
  });
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { asked, verdicts, clock, close };
}

const allow = async (changes, more) => answer(await new Ledger().append(decision(changes, ARGS)), more);

/** Asks once; the work must not run unless the code is null. */
async function outcome(respond, proposal = PROPOSAL, skew = 0) {
  const { verdicts, clock, close } = await api(respond);
  clock.skew = skew;
  let ran = 0;
  try {
    await verdicts.guard(proposal, () => { ran += 1; });
    assert.equal(ran, 1);
    return null;
  } catch (error) {
    assert.equal(ran, 0, "nothing ran");
    if (error instanceof NoVerdict) return error.code;
    if (error instanceof NotCleared) return error.decided.verdict;
    throw error;
  } finally {
    close();
  }
}

test("an ALLOW that is signed, recent and ours runs, and is reported", async () => {
  const { asked, verdicts, close } = await api(async ({ path }) => (path === "/v1/actions" ? allow() : { ok: true }));
  assert.equal(await verdicts.guard(PROPOSAL, (cleared) => cleared.action), "act_019355a0c1007000800000000000b001");
  const [action, execution] = asked;
  assert.equal(action.headers.authorization, "Bearer cfk_test");
  assert.equal(execution.path, "/v1/executions");
  assert.equal(execution.body.outcome, "EXECUTED");
  assert.equal(execution.body.signature.kid, EXECUTION_KEY.kid);
  close();
});

test("every other verdict runs nothing", async () => {
  for (const verdict of ["DENY", "STEP_UP", "MODIFY", "DEFER"]) {
    assert.equal(await outcome(() => allow({ verdict, reason: "no_rule" })), verdict);
    assert.equal(await outcome(() => allow({ verdict, reason: "no_rule", effect: "advisory" })), null, "a recorded rehearsal runs");
  }
  assert.equal(await outcome(() => allow({ verdict: "STEP_UP", tool: null, args: null, reason: "no_such_tool" })), "STEP_UP");
});

test("an answer that proves nothing is a no", async () => {
  const lying = new Ledger({ log: STRANGER });
  const forged = async () => answer(await new Ledger().append(decision({}, ARGS), STRANGER));
  const cases = {
    malformed: ["nonsense", "[]", '{"a":1,"a":2}', () => allow({}, { action_id: "act_other" }), () => allow({}, { decision: { verdict: "ALLOW" } })],
    unsigned: ["{}", { decision: { verdict: "ALLOW" } }, () => allow({}, { "dev.counterfoil/receipt": undefined }), forged,
      async () => answer(await lying.append(decision({}, ARGS)))],
    expired: [() => allow({ at: new Date(Date.now() - 66_000).toISOString() }), () => allow({ at: new Date(Date.now() + 30_000).toISOString() })],
    other_action: [
      () => allow({ tool: "note_read" }), () => allow({ provider: "mail" }), () => allow({ env: "test" }), () => allow({ mode: "gateway" }),
      async () => answer(await new Ledger().append(decision({}, { path: "/notes/b" }))), () => allow({ args: null }),
      () => allow({ tool: null, args: null }),
    ],
  };
  for (const [code, answers] of Object.entries(cases)) {
    for (const made of answers) assert.equal(await outcome(typeof made === "function" ? made : () => made), code, String(made));
  }
  assert.equal(await outcome((_, response) => void response.writeHead(403).end("{}")), "rejected");
});

test("a decision that is said to be an ALLOW and is signed as a DENY is a no", async () => {
  const respond = async () => {
    const made = await allow({ verdict: "DENY", reason: "no_rule" });
    return { ...made, decision: { ...made.decision, verdict: "ALLOW" } };
  };
  assert.equal(await outcome(respond), "malformed");
});

test("one decision answers one call", async () => {
  const made = await allow();
  const { verdicts, close } = await api(() => made);
  await verdicts.decide(PROPOSAL);
  await verdicts.decide(PROPOSAL);
  await assert.rejects(verdicts.decide({ ...PROPOSAL, seq: 2 }), { code: "replayed" });
  close();
});

test("who is asked again is asked the same question", async () => {
  let count = 0;
  const { asked, verdicts, close } = await api((_, response) => (count++ < 2 ? void response.writeHead(503).end() : allow()));
  await verdicts.decide(PROPOSAL);
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map(({ headers }) => headers["idempotency-key"])).size, 1);
  await verdicts.decide({ ...PROPOSAL, arguments: { path: "/notes/b" } }).catch(() => {});
  assert.notEqual(asked.at(-1).headers["idempotency-key"], asked[0].headers["idempotency-key"]);
  close();
});

test("nobody there, and nobody in time: no, and soon without asking", { timeout: 30_000 }, async () => {
  const { asked, verdicts, clock, close } = await api((_, response) => void response.socket.destroy());
  for (let at = 0; at < 5; at += 1) await assert.rejects(verdicts.decide({ ...PROPOSAL, seq: at }), { code: "unanswered" });
  assert.equal(asked.length, 15);
  await assert.rejects(verdicts.decide(PROPOSAL), { code: "resting" });
  assert.equal(asked.length, 15);

  clock.skew = 31_000;
  const probes = await Promise.allSettled([verdicts.decide(PROPOSAL), verdicts.decide({ ...PROPOSAL, seq: 9 })]);
  assert.deepEqual(probes.map(({ reason }) => reason.code).sort(), ["resting", "unanswered"], "one probe");
  await assert.rejects(verdicts.decide(PROPOSAL), { code: "resting" });
  close();
});

test("a gateway that never answers costs three deadlines", { timeout: 30_000 }, async () => {
  const began = Date.now();
  assert.equal(await outcome(() => undefined), "unanswered");
  assert.ok(Date.now() - began < 8_000);
});

test("a statement waits in the outbox until it was taken", async () => {
  const outbox = new Outbox(mkdtempSync(join(tmpdir(), "counterfoil-outbox-")));
  let isAway = true;
  const respond = async ({ path }, response) => {
    if (path === "/v1/actions") return allow();
    return isAway ? void response.writeHead(403).end() : { ok: true };
  };
  const { verdicts, close } = await api(respond);
  outbox.put(await verdicts.statement(await verdicts.decide(PROPOSAL), "ABANDONED"));
  assert.deepEqual(await outbox.flush(verdicts), { sent: 0, waiting: 1 });
  isAway = false;
  assert.deepEqual(await outbox.flush(verdicts), { sent: 1, waiting: 0 });
  close();
});
