// One of two providers: presents every call again and again over a store that both share, and prints what became of each.
import { createClient } from "@redis/client";
import pg from "pg";
import { Guard, postgresStore, redisStore } from "counterfoil-sdk/capability";
import { KeySet } from "counterfoil-sdk/verify";
import { readFileSync } from "node:fs";

const { kind, address, keys, options, calls, rounds, connections } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const guard = (store) => new Guard({ ...options, keys: KeySet.parse(keys), store });

/** The effect of a call and the use of its capability, in one transaction on one connection. */
async function postgresEffect() {
  const client = new pg.Client({ host: address, user: "postgres", database: "postgres" });
  await client.connect();
  const guarded = guard(postgresStore(client));
  return {
    async call(params) {
      await client.query("begin");
      try {
        const { claims } = await guarded.admit(params);
        await client.query("insert into effects (jti) values ($1)", [claims.jti]);
        await client.query("commit");
      } catch (error) {
        await client.query("rollback");
        throw error;
      }
    },
    end: () => client.end(),
  };
}

async function redisEffect() {
  const client = await createClient({ socket: { path: address } }).connect();
  const guarded = guard(redisStore((words) => client.sendCommand(words)));
  return {
    async call(params) {
      const { claims } = await guarded.admit(params);
      await client.sendCommand(["HINCRBY", "effects", claims.jti, "1"]);
    },
    end: () => client.close(),
  };
}

async function throughOneConnection() {
  const outcomes = [];
  const effect = await { postgres: postgresEffect, redis: redisEffect }[kind]();
  for (let round = 0; round < rounds / connections; round += 1) {
    for (const params of calls) outcomes.push(await effect.call(params).then(() => "executed", ({ code }) => code));
  }
  await effect.end();
  return outcomes;
}

console.log(JSON.stringify((await Promise.all(Array.from({ length: connections }, throughOneConnection))).flat()));
