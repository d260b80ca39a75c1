/** After five questions that nobody answered: half a minute of no, then one probe. */
const FAILURES = 5;
const REST = 30_000;

export class Breaker {
  #failures = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(private readonly now: () => number) {}

  /** Whether a question may be asked now. */
  take(): boolean {
    if (this.#failures < FAILURES) return true;
    if (this.now() < this.#openUntil || this.#isProbing) return false;
    this.#isProbing = true;
    return true;
  }

  answered(): void {
    this.#failures = 0;
    this.#isProbing = false;
  }

  unanswered(): void {
    this.#failures += 1;
    this.#isProbing = false;
    if (this.#failures >= FAILURES) this.#openUntil = this.now() + REST;
  }
}
