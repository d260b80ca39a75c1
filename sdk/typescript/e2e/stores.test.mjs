// C1: of any number of presentations one executes, over stores that several machines share: a real Postgres, a real Redis.
import assert from "node:assert/strict";
import { createClient } from "@redis/client";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import { Guard, POSTGRES_TABLE, postgresStore, prunePostgres, redisStore } from "counterfoil-sdk/capability";
import { KeySet } from "counterfoil-sdk/verify";
import { AUDIENCE, GATEWAY_KEYS, ISSUER, PROJECT, call, claims, token } from "../test/world.mjs";

const ARGS = { path: "/notes/a.txt", text: "x" };
const OPTIONS = { issuer: ISSUER, provider: "notes", project: PROJECT, env: "live", generation: "seen" };
const CAPABILITIES = 50;
const slip = () => call("note_write", ARGS, token(claims("note_write", ARGS)));
const guard = (store) => new Guard({ ...OPTIONS, keys: KeySet.parse(GATEWAY_KEYS), store });
const folder = mkdtempSync(join(tmpdir(), "counterfoil-stores-"));
let servers, where, client, redis;

before(async () => {
  // It lives as long as its standard input, so it ends with this process.
  servers = spawn(fileURLToPath(new URL("../../../scripts/stores", import.meta.url)), { stdio: ["pipe", "pipe", "ignore"] });
  const { value: line } = await createInterface({ input: servers.stdout })[Symbol.asyncIterator]().next();
  assert.ok(line, "scripts/stores started nothing: Postgres and redis-server are needed, see scripts/machine.sh");
  where = JSON.parse(line);
  client = new pg.Client({ host: where.postgres, user: "postgres", database: "postgres" });
  await client.connect();
  await client.query(POSTGRES_TABLE);
  await client.query("create table effects (jti text not null)");
  redis = await createClient({ socket: { path: where.redis } }).connect();
});

after(async () => {
  await client?.end();
  await redis?.close();
  servers.stdin.end();
  await new Promise((resolve) => (servers.exitCode === null ? servers.once("exit", resolve) : resolve()));
  rmSync(folder, { recursive: true });
});

async function race(kind) {
  const plan = {
    kind, address: where[kind], keys: GATEWAY_KEYS, options: OPTIONS, calls: Array.from({ length: CAPABILITIES }, slip), rounds: 16, connections: 4,
  };
  const file = join(folder, `${kind}.json`);
  writeFileSync(file, JSON.stringify(plan));
  const run = () => promisify(execFile)(process.execPath, [fileURLToPath(new URL("presenter.mjs", import.meta.url)), file]);
  const outcomes = (await Promise.all([run(), run()])).flatMap(({ stdout }) => JSON.parse(stdout));
  const count = (wanted) => outcomes.filter((outcome) => outcome === wanted).length;
  assert.deepEqual([outcomes.length, count("executed"), count("capability_used")], [1600, 50, 1550]);
}

test("1,600 presentations of 50 capabilities to two processes execute 50 times with Postgres", async () => {
  await race("postgres");
  const { rows } = await client.query("select count(*)::int as all, count(distinct jti)::int as distinct from effects");
  assert.deepEqual(rows, [{ all: 50, distinct: 50 }]);
});

test("1,600 presentations of 50 capabilities to two processes execute 50 times with Redis", async () => {
  await race("redis");
  assert.deepEqual(await redis.sendCommand(["HVALS", "effects"]), Array(CAPABILITIES).fill("1"));
});

test("an effect that fails leaves its capability unused, where both are one transaction", async () => {
  const one = guard(postgresStore(client));
  const params = slip();
  await client.query("begin");
  await one.admit(params);
  await client.query("rollback");
  await one.admit(params);
  await assert.rejects(one.admit(params), { code: "capability_used" });
});

test("what no clock accepts is forgotten, and an audience sees its own alone", async () => {
  const stores = [postgresStore(client), redisStore((words) => redis.sendCommand(words))];
  const later = Date.now() / 1000 + 60.5;
  for (const store of stores) {
    assert.equal(await store.consume(AUDIENCE, "a", later), true);
    assert.equal(await store.consume(AUDIENCE, "a", later), false);
    assert.equal(await store.consume("urn:other", "a", later), true);
    assert.equal(await store.consume(AUDIENCE, "b", Date.now() / 1000 - 5), true);
  }
  assert.equal(await prunePostgres(client), 1);
  assert.equal(await redis.sendCommand(["GET", `counterfoil:used:${AUDIENCE}:b`]), null);
});

test("a store that is away is a no", async () => {
  const closed = new pg.Client({ host: join(where.postgres, "gone") });
  await assert.rejects(closed.connect());
  const stores = [postgresStore(closed), redisStore(() => Promise.reject(new Error("connection refused")))];
  for (const store of stores) await assert.rejects(guard(store).admit(slip()), { code: "capability_store" });
});
