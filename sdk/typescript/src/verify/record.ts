/**
 * A record, checked over the network by whoever looks at its page.
 *
 * Promised: the newest entries are one chain under signed statements and, with the tiles of the older ones, give the root of a
 * checkpoint that the log key signed; every receipt that was asked for stands in that tree; what was kept at an earlier visit is
 * its beginning, under the same log key. Otherwise the first thing that fails is named.
 * Not promised: older statements; that others are shown the same; and, in a page, that the server sent this code unchanged.
 */
import { canonical } from "../format/canonical.js";
import { isObject, type JsonObject } from "../format/json.js";
import { Note, type Checkpoint } from "../format/note.js";
import { same, textOf, toBase64, type Octets } from "../format/octets.js";
import { leafHash, nodeHash, rootOf, type Node } from "../format/tree.js";
import { together, type Work } from "../format/work.js";
import { continuation, placeOf, type Continuation } from "./continuation.js";
import { readPins, rawKey, type Pins } from "./pins.js";
import { Refused, checkReceipt, refusalOf, signedCheckpoint, type Verified } from "./receipt.js";
import type { Entry } from "./statement.js";
import { checkRow, noTail, rowsIn, unburied, type Row, type TailCounts } from "./tail.js";
import { TileError, Tiles, type Fetch } from "./tiles.js";

/** What is kept from one visit to the next. */
export interface Kept {
  /** The signed note, and `x` of the log key that signed it. */
  note: string;
  x: string;
  /** When, by the visitor's own clock. */
  at: string;
}

export interface Asked {
  /** Reads what lies below the record's address: `jwks.json`, `entries.json?from=0`. Throws where there is nothing. */
  fetch: Fetch;
  run: <T>(work: Work<T>) => T | Promise<T>;
  /** The issuer that the page names. */
  issuer: string;
  /** Numbers of entries whose receipts are to be checked. */
  receipts: readonly number[];
  kept: Kept | null;
  /** Of the visitor's clock. */
  now: Date;
  /** Waits before a checkpoint is asked for again. */
  pause: () => Promise<void>;
}

export interface Checked {
  checkpoint: { size: number; root: string; note: string };
  keys: number;
  /** Number of the first entry that was recomputed from its bytes. */
  from: number;
  tail: TailCounts;
  receipts: number;
  /** Every statement that was verified, by the number of its entry. */
  statements: ReadonlyMap<number, { entry: Entry; payload: JsonObject }>;
  /** Entries that the checkpoint of the earlier visit had; null at a first visit. */
  since: { size: number; at: string } | null;
  /** To be kept for the next visit. */
  keep: Kept;
}

export class RecordFails extends Error {
  override name = "RecordFails";

  constructor(
    readonly answer: "BROKEN" | "UNPINNED" | "SHORTENED" | "FORKED" | "UNREACHABLE",
    message: string,
    /** Signed notes that contradict each other. */
    readonly notes: readonly string[] = [],
  ) {
    super(message);
  }
}

/** How many of the newest entries are recomputed from their bytes. */
export const MOST_ENTRIES = 1024;
/** A checkpoint is published at most two seconds after an entry. */
const MOST_PAUSES = 8;

/** Throws `RecordFails` with the first thing that fails. */
export async function checkRecord(asked: Asked): Promise<Checked> {
  const { kept } = asked;
  const pins = await place("jwks.json", async () => asked.run(readPins(await asked.fetch("jwks.json"))));
  if (pins.issuer !== asked.issuer) throw new RecordFails("BROKEN", `jwks.json: of \`${pins.issuer}\`, not of \`${asked.issuer}\``);
  const old = await keptHead(asked, pins);
  const { head, note } = await newest(asked, pins, old);
  const tiles = new Tiles(asked.fetch, head.size);
  const x = await logKey(asked, pins, note);
  const from = Math.max(0, head.size - MOST_ENTRIES);
  const rows = await readTail(asked, from, head.size);
  const tail = noTail();
  const statements = new Map<number, { entry: Entry; payload: JsonObject }>();
  let before: Entry | null = null;
  for (const row of rows) {
    await place("", () => asked.run(checkRow(row, before, pins, tail)));
    before = row.entry;
    if (isObject(row.body)) statements.set(row.entry.seq, { entry: row.entry, payload: row.body.payload as JsonObject });
  }
  const missing = unburied(rows);
  if (missing !== null) throw new RecordFails("BROKEN", `entry ${missing}: body is empty and no tombstone covers it`);
  const leaves = await asked.run(together(rows.map(({ entry }) => leafHash(canonical(entry)))));
  const read = <T>(compute: (node: Node) => Work<T>) =>
    place("tiles", () => tiles.with((node) => asked.run(compute(overLeaves(leaves, from, node)))));

  const root = await read((node) => rootOf(head.size, node));
  if (!same(root, head.root)) throw new RecordFails("BROKEN", "the entries and tiles do not give the root of the checkpoint");
  if (old && kept) {
    const found = await read((node) => continuation(old, head, node));
    const why = `the record does not continue the one of ${old.size} entries that was here on ${kept.at}`;
    demandHolds(found, why, [kept.note, note]);
  }
  for (const verified of await checkReceipts(asked, pins, head, note, read)) statements.set(verified.entry.seq, verified);
  return {
    checkpoint: { size: head.size, root: toBase64(head.root), note }, keys: pins.keys.length, from, tail,
    receipts: asked.receipts.length, statements, since: old && kept && { size: old.size, at: kept.at },
    keep: { note, x, at: asked.now.toISOString() },
  };
}

type Read = <T>(compute: (node: Node) => Work<T>) => Promise<T>;

/** The newest checkpoint that has every entry whose receipt was asked for. */
async function newest(asked: Asked, pins: Pins, old: Checkpoint | null): Promise<{ head: Checkpoint; note: string }> {
  const reaches = Math.max(-1, ...asked.receipts);
  for (let pauses = 0; ; pauses += 1) {
    const note = textOf(await place("checkpoint", () => asked.fetch("checkpoint"))) ?? "";
    const { kept } = asked;
    const head = await place("checkpoint", async () => asked.run(signedCheckpoint(note, pins)));
    if (old && kept && head.size < old.size) {
      throw new RecordFails("SHORTENED", `the record had ${old.size} entries on ${kept.at} and has ${head.size} now`, [kept.note, note]);
    }
    if (head.size > reaches) return { head, note };
    if (pauses === MOST_PAUSES) throw new RecordFails("BROKEN", `checkpoint: ends at entry ${head.size - 1}, and the page shows entry ${reaches}`);
    await asked.pause();
  }
}

/** What an earlier visit saw, under the key that it saw. */
async function keptHead({ kept, run }: Asked, pins: Pins): Promise<Checkpoint | null> {
  if (!kept) return null;
  const { head, signature } = await place("what this browser kept", async () => {
    const note = Note.parse(kept.note);
    return { head: note.checkpoint(), signature: await run(note.signature(pins.origin, rawKey(kept.x).bytes)) };
  });
  if (signature === "holds" && head.origin === pins.origin) return head;
  throw new RecordFails("BROKEN", "what this browser kept is not signed by the key that it kept");
}

/** `x` of the log key: that of the earlier visit, if there was one. */
async function logKey({ kept, run }: Asked, pins: Pins, text: string): Promise<string> {
  const note = Note.parse(text);
  const signed = async (x: string, by: Note) => (await run(by.signature(pins.origin, rawKey(x).bytes))) === "holds";
  if (kept) {
    if (await signed(kept.x, note)) return kept.x;
    throw new RecordFails("UNPINNED", `the log key changed since ${kept.at}, and nobody else says that it should`, [kept.note, text]);
  }
  for (const { purpose, key } of pins.keys) {
    if (purpose === "log" && (await signed(key.x, note))) return key.x;
  }
  throw new RecordFails("UNPINNED", "checkpoint is not signed by a log key");
}

async function readTail({ fetch }: Asked, from: number, size: number): Promise<Row[]> {
  const rows: Row[] = [];
  while (from + rows.length < size) {
    const path = `entries.json?from=${from + rows.length}`;
    const more = await place(path, async () => rowsIn(await fetch(path)));
    const due = from + rows.length;
    if (more[0]?.entry.seq !== due) throw new RecordFails("BROKEN", `${path}: entry ${due} is not there`);
    rows.push(...more);
  }
  return rows.slice(0, size - from);
}

/** Subtrees of entries whose bytes were read are recomputed; only what is left of them is taken from tiles. */
function overLeaves(leaves: readonly Octets[], from: number, tiles: Node): Node {
  const made = new Map<string, Octets>();
  return function* node(level: number, index: number): Work<Octets> {
    const first = index * 2 ** level;
    if (first < from) return yield* tiles(level, index);
    if (level === 0) return leaves[first - from]!;
    const name = `${level}/${index}`;
    const hash = made.get(name) ?? (yield* nodeHash(yield* node(level - 1, index * 2), yield* node(level - 1, index * 2 + 1)));
    made.set(name, hash);
    return hash;
  };
}

function demandHolds(found: Continuation, why: string, notes: readonly string[]): void {
  if (found === "unproven") throw new RecordFails("BROKEN", "the tiles do not lead to the root of the checkpoint");
  if (found === "forked") throw new RecordFails("FORKED", why, notes);
}

async function checkReceipts({ fetch, run, receipts }: Asked, pins: Pins, head: Checkpoint, note: string, read: Read): Promise<Verified[]> {
  const found: Verified[] = [];
  const passed = new Set<string>();
  for (const seq of receipts) {
    const path = `receipts/${seq}`;
    const verified = await place(path, async () => run(checkReceipt(await fetch(path), pins)));
    const { entry, checkpoint } = verified;
    found.push(verified);
    if (entry.seq !== seq) throw new RecordFails("BROKEN", `${path}: is of entry ${entry.seq}`);
    const notes = [checkpoint.note, note];
    demandHolds(await read((node) => placeOf(entry, head, node)), `${path}: another entry stands in its place`, notes);
    if (passed.has(checkpoint.note) || checkpoint.size > head.size) continue;
    const through = Note.parse(checkpoint.note).checkpoint();
    demandHolds(await read((node) => continuation(through, head, node)), `${path}: its checkpoint is of another record`, notes);
    passed.add(checkpoint.note);
  }
  return found;
}

/** Names the place of whatever is refused there. */
async function place<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = refusalOf(error);
    const at = name === "" ? "" : `${name}: `;
    if (refusal instanceof Refused) throw new RecordFails(refusal.answer, `${at}${refusal.message}`);
    if (refusal instanceof RecordFails) throw refusal;
    const answer = refusal instanceof TileError ? "BROKEN" : "UNREACHABLE";
    throw new RecordFails(answer, `${at}${(refusal as Error).message}`);
  }
}
