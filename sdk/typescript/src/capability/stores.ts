/**
 * Where used capabilities are remembered. A capability is consumed once, before the call runs.
 *
 * Promised by every store here: of any number of racing presentations of one `jti`, one gets true. A store that throws is a
 * store that is away, and then nothing runs. Insert before execute means at most once: a crash in between leaves a call that
 * did not run, never one that ran twice.
 */
import { mkdirSync } from "node:fs";
import { readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../format/bytes.js";

export interface UsedStore {
  /** True if this `jti` had not been used. Remember it until `forgetAt`, in seconds since 1970. */
  consume(audience: string, jti: string, forgetAt: number): Promise<boolean>;
}

/** For one process, and until it ends. Replicas do not see each other's, so it says so, once, on standard error. */
export function memoryStore(warn: (text: string) => void = console.warn): UsedStore {
  warn("counterfoil: used capabilities are kept in memory; with a second replica use a shared store");
  const used = new Map<string, number>();
  let sweptAt = 0;
  return {
    async consume(audience, jti, forgetAt) {
      const now = Date.now() / 1000;
      if (now - sweptAt > 60) {
        for (const [name, end] of used) if (end < now) used.delete(name);
        sweptAt = now;
      }
      const name = `${audience} ${jti}`;
      if (used.has(name)) return false;
      used.set(name, forgetAt);
      return true;
    },
  };
}

/**
 * A folder, for every process of one machine: what a stdio provider needs, since a gateway starts one child per agent and starts
 * it again. A file that only one process can create is a slip that only one call can use.
 */
export function fileStore(folder: string): UsedStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let sweptAt = 0;
  return {
    async consume(audience, jti, forgetAt) {
      const now = Date.now() / 1000;
      if (now - sweptAt > 60) {
        sweptAt = now;
        await sweep(folder, now);
      }
      try {
        await writeFile(join(folder, sha256(audience, " ", jti).toString("hex")), String(forgetAt), { flag: "wx" });
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
        throw error;
      }
    },
  };
}

async function sweep(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // Another process may have swept it first. A file that is still empty was made this moment.
    const forgetAt = Number((await readFile(path, "utf8").catch(() => "")) || Number.POSITIVE_INFINITY);
    if (forgetAt < now) await rm(path, { force: true });
  }
}

/** What `pg`'s Pool and Client have. Pass the client of the effect's own transaction, and both stand or fall together. */
export interface PostgresClient {
  query(text: string, values: unknown[]): Promise<{ rowCount: number | null }>;
}

export const POSTGRES_TABLE = `create table if not exists counterfoil_used (
  audience text not null, jti text not null, forget_at bigint not null, primary key (audience, jti))`;

export function postgresStore(client: PostgresClient): UsedStore {
  return {
    async consume(audience, jti, forgetAt) {
      const text = "insert into counterfoil_used (audience, jti, forget_at) values ($1, $2, $3) on conflict do nothing";
      const { rowCount } = await client.query(text, [audience, jti, Math.ceil(forgetAt)]);
      return rowCount === 1;
    },
  };
}

/** Forgets what no clock could still accept, a batch at a time. Returns how many. */
export async function prunePostgres(client: PostgresClient, now = Date.now() / 1000): Promise<number> {
  const text = `delete from counterfoil_used where (audience, jti) in
    (select audience, jti from counterfoil_used where forget_at < $1 limit 1000)`;
  return (await client.query(text, [Math.floor(now)])).rowCount ?? 0;
}

/**
 * `command` sends one command: `(words) => client.sendCommand(words)` of node-redis, `([name, ...rest]) => client.call(name, ...rest)`
 * of ioredis. A failover that loses the newest writes can let a slip pass twice: money and what cannot be undone need the SQL store.
 */
export function redisStore(command: (words: string[]) => Promise<unknown>): UsedStore {
  return {
    async consume(audience, jti, forgetAt) {
      const words = ["SET", `counterfoil:used:${audience}:${jti}`, "1", "NX", "PXAT", String(Math.ceil(forgetAt * 1000))];
      const answer = await command(words);
      return String(answer) === "OK";
    },
  };
}
