// C1: no fresh capability, no execution. Every way to misuse one is refused with a reason of its own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { after, before, test } from "node:test";
import { Guard, fileStore, memoryStore, postgresStore, redisStore } from "../dist/capability.js";
import { KeySet } from "../dist/verify.js";
import { base64url } from "../dist/format/bytes.js";
import { canonical } from "../dist/format/canonical.js";
import { envelopeDigest } from "../dist/format/envelope.js";
import { Ledger, PINNED_KEYS, decision } from "./ledger.mjs";
import { AUDIENCE, GATEWAY_KEYS, ISSUER, KEY, PROJECT, STRANGER, call, claims, gateway, jwk, keySet, token } from "./world.mjs";

const PINNED = KeySet.parse(GATEWAY_KEYS);
const silent = () => memoryStore(() => {});
const ARGS = { path: "/notes/été.txt", n: 3, tags: ["a"], nested: "{\"a\":1}" };

function guard(changes = {}) {
  return new Guard({ issuer: ISSUER, provider: "notes", project: PROJECT, env: "live", store: silent(), keys: PINNED, generation: "seen", ...changes });
}

async function reason(params, changes = {}, header) {
  const told = [];
  try {
    await guard({ onRefusal: (refusal) => told.push(refusal.code), ...changes }).admit(params, header);
    return "admitted";
  } catch (refusal) {
    assert.deepEqual(told, [refusal.code], "every refusal is reported");
    return refusal.code;
  }
}

const slip = (changes, signing) => token(claims("note_write", ARGS, changes), signing);
const claimed = (changes) => slip({ claims: changes });
const presented = (capability, tool = "note_write", args = ARGS) => call(tool, args, capability);

test("an honest call is admitted", async () => {
  assert.equal(await reason(presented(slip())), "admitted");
  assert.equal(await reason(call("note_list", undefined, token(claims("note_list", {})))), "admitted");
  assert.equal(await reason(call("note_write", ARGS), {}, slip()), "admitted", "the header alone is enough");
});

test("a slip that is none is refused", async () => {
  const none = Buffer.from('{"alg":"none","kid":"x","typ":"toolcap+jwt"}').toString("base64url");
  const hmac = () => {
    const head = { alg: "HS256", typ: "toolcap+jwt", kid: KEY.kid };
    const signed = [head, claims("note_write", ARGS)].map((part) => base64url(Buffer.from(canonical(part)))).join(".");
    return `${signed}.${createHmac("sha256", KEY.publicKey.bytes).update(signed).digest("base64url")}`;
  };
  const [head, body, signature] = slip().split(".");
  const bits = Buffer.from(signature, "base64url");
  bits[5] ^= 1;
  const cases = {
    capability_missing: [undefined],
    capability_malformed: ["", "a.b", `${head}.${body}.${signature}.${signature}`, `${none}.${body}.`, hmac(), 7, { typ: "receipt/v1" },
      `${head}.${body}=.${signature}`, token({ ...claims("note_write", ARGS), extra: 1 })],
    capability_too_long: ["a".repeat(4097)],
    capability_header: [slip({}, { header: { typ: "at+jwt" } }), slip({}, { header: { alg: "HS256" } }), slip({}, { header: { crit: ["x"] } }),
      slip({}, { header: { jku: "http://127.0.0.1/" } }), slip({}, { header: { kid: "../../etc/passwd" } })],
    capability_key: [slip({}, { key: STRANGER })],
    capability_signature: [`${head}.${body}.${bits.toString("base64url")}`, slip({}, { key: STRANGER, header: { kid: KEY.kid } })],
  };
  for (const [code, slips] of Object.entries(cases)) {
    for (const item of slips) assert.equal(await reason(presented(item)), code, String(item).slice(0, 60));
  }
});

test("a slip for another place is refused", async () => {
  assert.equal(await reason(presented(claimed({ iss: "https://gw.example/p/9-zzzzzzzz" }))), "capability_issuer");
  assert.equal(await reason(presented(claimed({ aud: "urn:another" }))), "capability_audience");
  assert.equal(await reason(presented(claimed({ aud: [AUDIENCE] }))), "capability_malformed");
  assert.equal(await reason(presented(claimed({ env: "test" }))), "capability_environment");
  assert.equal(await reason(presented(claimed({ cnf: {} }))), "capability_unsupported");
  assert.equal(await reason(presented(claimed({ adv: true }))), "capability_unsupported");
  assert.equal(await reason(presented(claimed({ adv: true })), { advisory: "run" }), "admitted");
  assert.equal(await reason(presented(slip()), {}, slip()), "capability_twice");
});

test("a slip outside its life is refused", async () => {
  const now = Math.floor(Date.now() / 1000);
  const times = (iat, exp) => presented(claimed({ iat, nbf: iat - 5, exp }));
  assert.equal(await reason(times(now - 40, now - 6)), "capability_time");
  assert.equal(await reason(times(now - 40, now - 4)), "admitted", "five seconds of leeway");
  assert.equal(await reason(times(now + 20, now + 40)), "capability_time");
  assert.equal(await reason(times(now, now + 61)), "capability_life");
  assert.equal(await reason(times(now, now)), "capability_life");
  const retired = KeySet.parse(keySet([jwk(KEY, "capability", { until: new Date(Date.now() - 3600_000).toISOString() })]));
  assert.equal(await reason(presented(slip()), { keys: retired }), "capability_time");
});

test("a slip for other arguments is refused", async () => {
  const others = [
    { ...ARGS, n: "3" }, { ...ARGS, n: 3.5 }, { ...ARGS, extra: null }, { ...ARGS, nested: { a: 1 } }, { ...ARGS, tags: ["a", "b"] },
    { ...ARGS, path: "/notes/e\u0301te\u0301.txt" }, { path: ARGS.path }, [ARGS], null,
  ];
  for (const other of others) assert.equal(await reason(presented(slip(), "note_write", other)), "capability_arguments");
  assert.equal(await reason(presented(slip(), "note_delete")), "capability_tool");
  assert.equal(await reason(presented(slip(), "note_write", { a: "\ud800" })), "capability_not_bindable");
  const asked = slip({ inputResponses: { ask: { action: "accept" } } });
  assert.equal(await reason(call("note_write", ARGS, asked, { inputResponses: { ask: { action: "accept" } } })), "admitted");
  assert.equal(await reason(call("note_write", ARGS, asked, { inputResponses: { ask: { action: "decline" } } })), "capability_arguments");
  assert.equal(await reason(call("note_write", ARGS, asked)), "capability_arguments");
});

test("a slip is used once, here and on another replica", async () => {
  const shared = silent();
  const [one, other] = [guard({ store: shared }), guard({ store: shared })];
  const params = presented(slip());
  await one.admit(params);
  await assert.rejects(one.admit(params), { code: "capability_used" });
  await assert.rejects(other.admit(params), { code: "capability_used" });
});

test("of racing presentations one is admitted", async () => {
  const shared = silent();
  const guards = [guard({ store: shared }), guard({ store: shared })];
  const slips = Array.from({ length: 50 }, () => presented(slip()));
  const racing = Array.from({ length: 1600 }, (_, at) => guards[at % 2].admit(slips[at % 50]).then(() => 1, () => 0));
  assert.equal((await Promise.all(racing)).reduce((sum, one) => sum + one), 50);
});

test("of racing presentations to two processes one is admitted", async () => {
  const plan = {
    folder: mkdtempSync(join(tmpdir(), "counterfoil-race-")), keys: GATEWAY_KEYS, rounds: 16,
    options: { issuer: ISSUER, provider: "notes", project: PROJECT, env: "live", generation: "seen" },
    calls: Array.from({ length: 50 }, () => presented(slip())),
  };
  const file = join(plan.folder, "..", `${basename(plan.folder)}.json`);
  writeFileSync(file, JSON.stringify(plan));
  const run = () => promisify(execFile)(process.execPath, [fileURLToPath(new URL("presenter.mjs", import.meta.url)), file]);
  const counts = (await Promise.all([run(), run()])).map(({ stdout }) => Number(stdout));
  assert.equal(counts[0] + counts[1], 50, `${counts} of 1600 presentations`);
});

test("a refused call uses nothing up", async () => {
  const one = guard();
  const capability = slip();
  await assert.rejects(one.admit(presented(capability, "note_write", {})), { code: "capability_arguments" });
  await one.admit(presented(capability));
});

test("without a store nothing runs", async () => {
  assert.throws(() => guard({ store: undefined }), TypeError);
  const away = { consume: async () => { throw new Error("connection refused"); } };
  assert.equal(await reason(presented(slip()), { store: away }), "capability_store");
  assert.equal(await reason(presented(slip()), { store: { consume: async () => undefined } }), "capability_used");
});

test("the shared stores say yes once", async () => {
  const rows = new Set();
  const taken = (name) => !rows.has(name) && Boolean(rows.add(name));
  const postgres = postgresStore({ query: async (_, values) => ({ rowCount: taken(values.slice(0, 2).join()) ? 1 : 0 }) });
  const redis = redisStore(async (words) => (taken(words[1]) ? "OK" : null));
  for (const store of [postgres, redis]) {
    assert.equal(await store.consume("a", "j", 1), true);
    assert.equal(await store.consume("a", "j", 1), false);
  }
});

test("a folder remembers across processes, and forgets what no clock accepts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-used-"));
  const later = Date.now() / 1000 + 60;
  assert.equal(await fileStore(folder).consume("a", "1", later), true);
  assert.equal(await fileStore(folder).consume("a", "1", later), false);
  assert.equal(await fileStore(folder).consume("b", "1", 1), true);
  const racing = await Promise.all(Array.from({ length: 40 }, () => fileStore(folder).consume("a", "2", later)));
  assert.equal(racing.filter(Boolean).length, 1);
  assert.equal(readdirSync(folder).length, 2, "what had ended was swept");
});

test("a slip of before a kill is refused", async () => {
  const seen = guard();
  await seen.admit(presented(claimed({ gen: 4 })));
  await assert.rejects(seen.admit(presented(claimed({ gen: 3 }))), { code: "capability_killed" });
});

let world;
before(async () => { world = await gateway(); });
after(() => world.close());

test("the generation is followed, and its silence is a no", async () => {
  const clock = { now: Date.now() };
  const followed = guard({ keys: undefined, gateway: world.address, generation: "follow", now: () => clock.now });
  await followed.admit(presented(slip()));

  world.state.gen = 4;
  clock.now += 3_000;
  await assert.rejects(followed.admit(presented(slip())), { code: "capability_killed" });
  await followed.admit(presented(claimed({ gen: 4 })));

  world.state.isSilent = true;
  clock.now += 20_000;
  const late = Math.floor(clock.now / 1000);
  const fresh = claimed({ gen: 4, iat: late, nbf: late - 5, exp: late + 30 });
  await assert.rejects(followed.admit(presented(fresh)), { code: "capability_generation" });
  world.state.isSilent = false;
});

test("the first calls wait for one key set and one generation together", async () => {
  Object.assign(world.state, { gen: 3, asked: 0, keys: GATEWAY_KEYS });
  const first = guard({ keys: undefined, gateway: world.address, generation: "follow" });
  await Promise.all(Array.from({ length: 20 }, () => first.admit(presented(slip()))));
  assert.equal(world.state.asked, 1);
});

test("an unknown key causes one fetch, and an absent key set a refusal", async () => {
  world.state.gen = 3;
  const clock = { now: Date.now() };
  const fetching = guard({ keys: undefined, gateway: world.address, generation: "seen", now: () => clock.now });
  await fetching.admit(presented(slip()));
  const asked = world.state.asked;
  for (let at = 0; at < 20; at += 1) {
    await assert.rejects(fetching.admit(presented(slip({}, { key: STRANGER }))), { code: "capability_key" });
  }
  assert.ok(world.state.asked <= asked + 1, `${world.state.asked - asked} fetches`);

  clock.now += 11_000;
  world.state.keys = keySet([jwk(KEY, "capability"), jwk(STRANGER, "capability")]);
  await fetching.admit(presented(slip({}, { key: STRANGER })));

  const lost = guard({ keys: "/nowhere/jwks.json" });
  await assert.rejects(lost.admit(presented(slip())), { code: "capability_keys" });
});

test("a key of another purpose signs no capability", async () => {
  const set = KeySet.parse(keySet([jwk(KEY, "decision")]));
  assert.equal(await reason(presented(slip()), { keys: set }), "capability_key");
});

test("in mode proof a slip alone is not enough", async () => {
  const pinned = KeySet.parse(PINNED_KEYS);
  const made = claims("note_write", ARGS);
  const receipt = (changes, key) => new Ledger().append(decision({ capability: made.jti, ...changes }), key);
  const answer = async (given, dec) => {
    const digest = given ? envelopeDigest(given.statement) : made.dec;
    const params = presented(token({ ...made, dec: dec ?? digest }));
    if (given) params._meta["dev.counterfoil/receipt"] = given;
    return reason(params, { proof: pinned });
  };

  assert.equal(await answer(await receipt()), "admitted");
  assert.equal(await answer(await receipt({ verdict: "DENY", reason: "no_rule", effect: "advisory" })), "admitted");
  const forged = [
    null, await receipt({ verdict: "DENY", reason: "no_rule" }), await receipt({}, STRANGER), await receipt({ capability: null }),
    await receipt({ action: "act_019355a0c1007000800000000000b002" }),
  ];
  for (const given of forged) assert.equal(await answer(given), "capability_receipt");
  assert.equal(await answer(await receipt(), `sha256:${"0".repeat(64)}`), "capability_receipt");
});
