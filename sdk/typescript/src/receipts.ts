/**
 * Receipts that you keep, and what they let you find out.
 *
 * Promised: `check` reads the log's newest checkpoint and tiles and raises an alarm if the record no longer begins with what you
 * saw: it shrank, it forked, or an entry that you hold is not in it. The two notes that contradict each other are saved first.
 * Not promised: that somebody else was shown the same log. Compare notes.
 *
 *     <folder>/<seq>.json              one receipt each
 *     <folder>/checkpoint              the largest note that was seen
 *     <folder>/alarm-<time>-<n>.note   evidence
 *     <folder>/pending/<hex>.json      executions that were sent and not accepted yet
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Seen } from "./execution.js";
import { base64 } from "./format/bytes.js";
import { canonical } from "./format/canonical.js";
import { envelopeDigest, type Envelope } from "./format/envelope.js";
import type { KeySet } from "./format/keys.js";
import type { Checkpoint } from "./format/note.js";
import { now } from "./format/now.js";
import { refusalOf, signedCheckpoint } from "./verify/receipt.js";
import { verifyReceipt, type Verified } from "./verify.js";
import { Tiles, overHttp, type Fetch } from "./receipts/tiles.js";
import { contradiction, type Alarm } from "./receipts/contradiction.js";

export type { Alarm } from "./receipts/contradiction.js";
export type { Fetch } from "./receipts/tiles.js";

export interface Checked {
  size: number;
  /** Receipts whose entries were found in their places. */
  found: number;
  alarm: Alarm | null;
}

/** An execution without an acceptance after this long is overdue. */
const ACCEPTED_WITHIN = 10 * 60_000;

/** What a log publishes may be two seconds behind its newest receipt. */
const PUBLISHED_WITHIN = [500, 1000, 1000];

export class ReceiptStore {
  constructor(
    private readonly folder: string,
    private readonly pinned: KeySet,
    private readonly now: () => number = Date.now,
  ) {
    mkdirSync(join(folder, "pending"), { recursive: true });
  }

  /** Keeps a receipt that verifies; throws `Refused` otherwise. */
  keep(receipt: Uint8Array | string): Verified {
    const verified = verifyReceipt(receipt, this.pinned);
    this.#write(`${verified.entry.seq}.json`, receipt);
    const note = verified.checkpoint.note;
    if (verified.checkpoint.size > (this.seen()?.size ?? 0)) this.#write("checkpoint", note);
    return verified;
  }

  /** The largest checkpoint held, for the next execution. */
  seen(): Seen | null {
    const held = this.#held();
    return held && { size: held.checkpoint.size, root: base64(held.checkpoint.root) };
  }

  /** `log` is the address of the project's page, or a function that fetches what lies below it. */
  async check(log: string | Fetch): Promise<Checked> {
    const fetch = typeof log === "string" ? overHttp(log) : log;
    const held = this.#held();
    const newest = await this.#newest(fetch, held?.checkpoint.size ?? 0);
    const receipts = this.#receipts();
    const found = await contradiction(held, newest, receipts, new Tiles(fetch, newest.checkpoint.size));
    if (found.alarm) {
      this.#raise(found.alarm);
    } else if (newest.checkpoint.size > (held?.checkpoint.size ?? 0)) {
      this.#write("checkpoint", newest.note);
    }
    return { size: newest.checkpoint.size, found: found.count, alarm: found.alarm };
  }

  /** Remembers that a statement was sent and owes an acceptance. */
  expectAcceptance(statement: Envelope): void {
    this.#write(this.#pendingName(envelopeDigest(statement)), canonical({ at: this.now(), statement }));
  }

  /** Takes the acceptance: the receipt of the ledger's own wrapping of our statement. */
  accept(receipt: Uint8Array | string): Verified {
    const verified = this.keep(receipt);
    const bytes = Buffer.from(String(verified.payload.bytes ?? ""), "base64url");
    const name = this.#pendingName(envelopeDigest(JSON.parse(bytes.toString("utf8")) as Envelope));
    rmSync(join(this.folder, name), { force: true });
    return verified;
  }

  /** Statements that nobody accepted within ten minutes: send them again, and ask. */
  overdue(): Envelope[] {
    const names = readdirSync(join(this.folder, "pending"));
    const pending = names.map((name) => JSON.parse(readFileSync(join(this.folder, "pending", name), "utf8")) as Pending);
    return pending.filter(({ at }) => this.now() - at > ACCEPTED_WITHIN).map(({ statement }) => statement);
  }

  async #newest(fetch: Fetch, expected: number): Promise<HeldNote> {
    const read = async () => this.#read(Buffer.from(await fetch("checkpoint")).toString("utf8"));
    let newest = await read();
    for (const pause of PUBLISHED_WITHIN) {
      if (newest.checkpoint.size >= expected) break;
      await sleep(pause);
      newest = await read();
    }
    return newest;
  }

  #held(): HeldNote | null {
    const path = join(this.folder, "checkpoint");
    return existsSync(path) ? this.#read(readFileSync(path, "utf8")) : null;
  }

  #read(text: string): HeldNote {
    try {
      return { note: text, checkpoint: now(signedCheckpoint(text, this.pinned)) };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  #receipts(): Verified[] {
    const names = readdirSync(this.folder).filter((name) => /^[0-9]+\.json$/.test(name));
    return names.map((name) => verifyReceipt(readFileSync(join(this.folder, name)), this.pinned));
  }

  #raise(alarm: Alarm): void {
    const stamp = new Date(this.now()).toISOString().replace(/[^0-9TZ]/g, "");
    alarm.notes.forEach((note, at) => this.#write(`alarm-${stamp}-${at + 1}.note`, note));
  }

  #pendingName(digest: string): string {
    return join("pending", `${digest.slice("sha256:".length)}.json`);
  }

  #write(name: string, bytes: Uint8Array | string): void {
    const path = join(this.folder, name);
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  }
}

interface Pending {
  at: number;
  statement: Envelope;
}

export interface HeldNote {
  note: string;
  checkpoint: Checkpoint;
}
