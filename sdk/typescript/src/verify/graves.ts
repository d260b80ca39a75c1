/**
 * Absent bodies, and the tombstones that must bear them out.
 *
 * A tombstone stands after what it covers, so the file `tombstones` says beforehand which there will be.
 */
import type { JsonObject } from "../format/json.js";
import type { Tombstone } from "./files.js";
import { broken } from "./report.js";
import type { Entry } from "./statement.js";

export class Graves {
  /** Days of the absent bodies that each claimed tombstone has to cover. */
  private readonly days = new Map<number, Set<string>>();
  /** Claims that begin further on, the next one last. */
  private readonly ahead: Tombstone[];
  private open: Tombstone[] = [];

  constructor(private readonly claims: readonly Tombstone[]) {
    this.ahead = claims.filter(({ seq, last }) => seq > last).toSorted((one, other) => other.first - one.first);
  }

  /** Whether a tombstone is claimed for the absent body of this entry. Asked by growing seq: one walk over the claims. */
  covers({ seq, epoch }: Entry): boolean {
    while (this.ahead.length > 0 && this.ahead.at(-1)!.first <= seq) this.open.push(this.ahead.pop()!);
    this.open = this.open.filter(({ last }) => last >= seq);
    const [claim] = this.open;
    if (!claim) return false;
    const days = this.days.get(claim.seq) ?? new Set<string>();
    this.days.set(claim.seq, days.add(epoch));
    return true;
  }

  /** A tombstone as it stands in the record, against the claim and the days of what it covers. */
  bearsOut(said: JsonObject, seq: number): void {
    const days = this.days.get(seq) ?? new Set<string>();
    this.days.delete(seq);
    const claim = this.claims.find((other) => other.seq === seq);
    if (!claim) return;
    const { first, last, epoch } = said as unknown as { first: number; last: number; epoch: string };
    const holds = claim.first === first && claim.last === last && [...days].every((day) => day === epoch);
    if (!holds) throw broken(`tombstones: entry ${seq} covers ${first} to ${last} of ${epoch}, and nothing else`);
  }

  /** Claims that excused something and that no entry bore out. */
  unborne(): string[] {
    return [...this.days.keys()].map((seq) => `tombstones: entry ${seq} is no tombstone of this package`);
  }
}
