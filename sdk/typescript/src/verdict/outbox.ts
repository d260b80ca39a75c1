/**
 * Statements that wait to be sent: commit first, send later.
 *
 *     <folder>/<decision id>-<outcome>.json
 *
 * Promised: a statement leaves the folder only after the gateway took it. Not promised: an order.
 */
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SignedSixFields } from "../execution.js";
import type { Verdicts } from "./client.js";
import { NoVerdict } from "./refusal.js";

export interface Report {
  sent: number;
  waiting: number;
}

export class Outbox {
  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  put(statement: SignedSixFields): void {
    const path = join(this.folder, `${statement.decision_id}-${statement.outcome}.json`);
    writeFileSync(`${path}.new`, JSON.stringify(statement));
    renameSync(`${path}.new`, path);
  }

  async flush(verdicts: Pick<Verdicts, "send">): Promise<Report> {
    const names = readdirSync(this.folder).filter((name) => name.endsWith(".json"));
    let sent = 0;
    for (const name of names) {
      try {
        await verdicts.send(JSON.parse(readFileSync(join(this.folder, name), "utf8")) as SignedSixFields);
      } catch (error) {
        if (error instanceof NoVerdict) continue;
        throw error;
      }
      rmSync(join(this.folder, name));
      sent += 1;
    }
    return { sent, waiting: names.length - sent };
  }
}
