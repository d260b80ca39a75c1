/** Answers of people at a place in the chain: what they let go out, once and no longer than they say, and what they grant. */
import type { JsonObject } from "../format/json.js";
import { isClearedDecision } from "./matter.js";
import { Fault } from "./report.js";
import type { Entry } from "./statement.js";

/** No hold outlives a day, nor does an answer lift one for longer. */
const LONGEST_HOLD = 24 * 60 * 60 * 1000;

interface Approval {
  at: number;
  said: JsonObject | null;
  /** Grants that it names and that were given. */
  given: Set<string>;
}

export class Answers {
  /** Approvals that nothing used yet, by digest. Null where the body is gone: its digest is enough to have been one. */
  private readonly unused = new Map<string, Approval>();
  /** Until then an answer may stand before the first entry that is here. */
  private blindUntil: number | null = null;

  constructor(private isWhole: boolean) {}

  /** Takes over an answer; throws a `Fault` for a call that goes out, or a grant that is given, by one that does not say so. */
  follow(said: JsonObject | null, entry: Entry): void {
    const now = Date.parse(entry.at);
    this.forget(now);
    if (said === null ? entry.kind === "answer" : said.typ === "answer/v1" && said.answer !== "deny") {
      this.unused.set(entry.body, { at: now, said, given: new Set() });
    } else if (said?.typ === "kill/v1" && said.scope === undefined) {
      // Holds that a kill took stay gone.
      this.unused.clear();
    } else if (said?.typ === "decision/v1" && isClearedDecision(said)) {
      this.gate(said, now);
    } else if (said?.typ === "grant/v1" && said.event === "given") {
      this.give(said);
    }
  }

  private gate(decision: JsonObject, now: number): void {
    const named = decision.answers as JsonObject | null;
    if (named === null) {
      if (decision.reason === "approved") throw new Fault("lets a call go out as approved, and names no answer");
      return;
    }
    const digest = String(named.answer);
    const found = this.unused.get(digest);
    this.unused.delete(digest);
    if (!found) {
      if (this.isWhole) throw new Fault("lets a call go out by an answer that does not stand before it, or was used");
      return;
    }
    const { said } = found;
    if (said === null) return;
    if (said.hold !== named.hold || said.decision !== named.decision || said.action !== decision.action) {
      throw new Fault("lets a call go out by an answer to another call");
    }
    if (now > Date.parse(String(said.until))) throw new Fault("lets a call go out by an answer whose time had passed");
  }

  private give(grant: JsonObject): void {
    if (grant.answer === null) throw new Fault("gives a grant that no answer gave");
    const found = this.unused.get(String(grant.answer));
    if (!found) {
      if (this.isWhole) throw new Fault("gives a grant by an answer that does not stand before it, or was used");
      return;
    }
    if (found.said === null) return;
    const id = String(grant.grant);
    const isNamed = (found.said.grants as string[]).includes(id) && !found.given.has(id);
    if (!isNamed) throw new Fault("gives a grant that its answer does not name");
    found.given.add(id);
    if (grant.until !== found.said.until) throw new Fault("gives a grant until another time than its answer says");
  }

  private forget(now: number): void {
    this.blindUntil ??= now + LONGEST_HOLD;
    if (now > this.blindUntil) this.isWhole = true;
    for (const [digest, { at }] of this.unused) {
      if (now - at <= LONGEST_HOLD) return;
      this.unused.delete(digest);
    }
  }
}
