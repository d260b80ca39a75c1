/** Days: the first entry of a new day closes the one before, with its counts and the root of its end. */
import { canonical } from "../format/canonical.js";
import type { JsonObject } from "../format/json.js";
import { Fault } from "./report.js";
import type { Entry } from "./statement.js";

export class Day {
  private epoch: string | null = null;
  private first = 0;
  private counts: Record<string, number> = {};

  /** `root` is that of all entries before this one, as base64. */
  follow(entry: Entry, said: JsonObject | null, root: string): void {
    const opens = this.epoch !== null && this.epoch !== entry.epoch;
    if (opens) {
      if (said?.typ !== "epoch/v1") throw new Fault(`the day ${this.epoch} was not closed by an epoch entry`);
      this.close(said, entry, root);
    } else if (entry.kind === "epoch") {
      throw new Fault("closes a day in the middle of it");
    }
    this.epoch = entry.epoch;
    this.counts[entry.kind] = (this.counts[entry.kind] ?? 0) + 1;
  }

  private close(said: JsonObject, entry: Entry, root: string): void {
    const closing = { epoch: said.epoch, first: said.first, last: said.last, root: said.root, counts: said.counts };
    const follows = { epoch: this.epoch, first: this.first, last: entry.seq - 1, root, counts: this.counts };
    const [stands, wanted] = [canonical(closing), canonical(follows)];
    if (stands !== wanted) throw new Fault(`closes its day as ${stands}; the rest of the record gives ${wanted}`);
    [this.first, this.counts] = [entry.seq, {}];
  }
}
