/**
 * How many findings forged and foreign statements get: the first twenty of each key and hour, by entry time. The rest are
 * counted, not named. Part of the format, so that a verifier knows which findings must be there.
 */
const FINDINGS_PER_KEY_AND_HOUR = 20;
const HOUR = 60 * 60 * 1000;

export class Cap {
  private hour = 0;
  private readonly counted = new Map<string | null, number>();

  /** Counts in the order of entries. All unknown keys count as one: null. */
  admits(key: string | null, at: number): boolean {
    const hour = Math.floor(at / HOUR);
    if (hour !== this.hour) {
      this.hour = hour;
      this.counted.clear();
    }
    const count = (this.counted.get(key) ?? 0) + 1;
    this.counted.set(key, count);
    return count <= FINDINGS_PER_KEY_AND_HOUR;
  }
}
