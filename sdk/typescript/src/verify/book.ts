/**
 * Reconciling again: every decision of the package with what names it, and the findings that must be there.
 *
 * Memory holds what is open: a matter is judged and dropped once nothing more is due of honest parties. What names a dropped
 * one later makes it a suspect, and a second pass keeps suspects to the end.
 */
import type { JsonObject } from "../format/json.js";
import { codeOrder } from "../format/shapes.js";
import { Cap } from "./cap.js";
import { stray, type Cleared, type Found } from "./found.js";
import { Issued } from "./issued.js";
import { decidedBy, observedBy, type Observed, type Stated } from "./matter.js";
import { isSettled, termsOf, type Due, type Open } from "./open.js";
import { reconcile } from "./reconcile.js";
import { UNCHECKED, broken, type Report } from "./report.js";
import type { Entry } from "./statement.js";

const MINUTE = 60 * 1000;
/** After a day without an observation nobody is waiting any more: no package says when a gateway's lease lapsed. */
const LONGEST_CALL = 24 * 60 * MINUTE;
/** How long after its cause a finding may come. Younger causes are at the edge. */
const FINDING_WITHIN = 15 * MINUTE;
/** When a matter is judged at the latest. */
const HORIZON = LONGEST_CALL + 60 * MINUTE;
const NAMED = 20;

export class Book {
  readonly suspects = new Set<string>();
  private readonly open = new Map<string, Open>();
  /** Entry times of open decisions, oldest first: entries never go back in time. */
  private readonly byAge = new Map<string, number>();
  /** Kept decisions whose body was erased. */
  private readonly erased = new Set<string>();
  /** In the second pass, observations of decisions that do not stand yet. */
  private readonly early = new Map<string, { action: string; observed: Observed }>();
  /** Findings that stand: `<code> <digest>` of what they are about, and the same by their own digest. */
  private readonly stand = new Set<string>();
  private readonly standAs = new Map<string, { code: string; about: string }>();
  /** Findings that follow and did not stand when they were looked for. */
  private readonly wanted = new Map<string, Found>();
  private readonly forged = new Cap();
  private readonly foreign = new Cap();
  /** Statements beyond the cap: counted, not named. */
  private readonly uncounted = new Set<string>();
  private isHidden = false;
  /** Whether a decision is hidden: what its session was told is not known then. */
  private hidesDecisions = false;
  private readonly issued = new Issued();
  private unjudged = 0;
  private lastAt: number | null = null;
  private fault: string | null = null;

  /** `kept`: the decisions that a second pass keeps to the end; null in the first. */
  constructor(
    private readonly startsAt: number,
    private readonly kept: ReadonlySet<string> | null,
  ) {}

  /** `hash`: of the entry. */
  session(said: JsonObject, hash: string): void {
    this.issued.follow(said, hash);
  }

  /** A catalogue that no key signed which counted there. */
  unsignedCatalog({ body, seq, at }: Entry): void {
    this.want({ code: "CATALOG_SIGNATURE", action: null, statement: body, seq, since: Date.parse(at) });
  }

  decide(decision: JsonObject, entry: Entry, hash: string, due: Due, report: Report): void {
    const decided = decidedBy(decision, entry);
    if (this.issued.isUnknown(decision, hash)) {
      const { action, at: since } = decided;
      this.want({ code: "UNKNOWN_PREVIOUS", action, statement: entry.body, seq: entry.seq, since });
    }
    const early = this.early.get(entry.body);
    const observed = early !== undefined && early.action === decided.action ? early.observed : null;
    this.early.delete(entry.body);
    this.open.set(entry.body, { matter: { decided, observed, stated: [] }, due, cleared: [] });
    this.byAge.set(entry.body, decided.at);
    this.settle(entry.body, decided.at, report);
  }

  observe(seen: JsonObject, entry: Entry, report: Report): void {
    const decision = String(seen.decision);
    const open = this.open.get(decision);
    if (!open) return this.observeEarly(decision, seen, entry);
    if (open.matter.observed || open.matter.decided.action !== seen.action) return;
    open.matter.observed = observedBy(seen, entry);
    this.settle(decision, Date.parse(entry.at), report);
  }

  /** A gateway that waited in vain for a commit says so, and its word may be numbered before the decision. */
  private observeEarly(decision: string, seen: JsonObject, entry: Entry): void {
    if (this.kept === null) return this.suspect(decision);
    if (!this.early.has(decision)) {
      this.early.set(decision, { action: String(seen.action), observed: observedBy(seen, entry) });
    }
  }

  /** `key`: the thumbprint that the statement names; null if it is of no key of this project. */
  state(stated: Stated, key: string | null, report: Report): void {
    const { standing, digest, at } = stated;
    if (!standing.holds && !this.forged.admits(key, at)) return;
    const named = this.namedBy(stated);
    if (named === null) {
      this.suspect(digest);
      const isAdmitted = !standing.holds || this.foreign.admits(key, at);
      if (isAdmitted && this.kept && this.startsAt === 0) this.want(stray(stated));
      return;
    }
    const open = this.open.get(named);
    if (!open) return this.suspect(named);
    const { provider } = open.matter.decided;
    const isForeign = standing.holds
      && (provider !== standing.signer || (stated.provider !== null && stated.provider !== standing.signer));
    open.matter.stated.push(stated);
    if (isForeign) {
      this.suspect(named);
      if (!this.foreign.admits(key, at)) this.uncounted.add(digest);
    }
    this.settle(named, at, report);
  }

  find(said: JsonObject, own: string, report: Report): void {
    const { code, statement } = said as { code: string; statement: string | null };
    report.findings[code] = (report.findings[code] ?? 0) + 1;
    if (statement === null) return;
    this.stand.add(`${code} ${statement}`);
    this.standAs.set(own, { code, about: statement });
    this.wanted.delete(`${code} ${statement}`);
  }

  /** A clearance closes a finding that stands, with what came late. */
  clear(said: JsonObject, entry: Entry): void {
    const { finding, code, statement } = said as Record<string, string>;
    const stands = this.standAs.get(finding!);
    if (!stands) {
      // Cleared here, found before the first entry of this package.
      if (this.startsAt > 0) return;
      throw broken(`entry ${entry.seq}: clears a finding that does not stand`);
    }
    if (stands.code !== code) throw broken(`entry ${entry.seq}: clears ${stands.code} as ${code}`);
    const open = this.open.get(stands.about);
    if (open) open.cleared.push({ code: stands.code, by: statement! });
    else if (this.kept) throw broken(`entry ${entry.seq}: clears what nothing of that kind closes`);
    else this.suspect(stands.about);
  }

  /** A body that cannot be read here. */
  hide({ kind, body }: Entry): void {
    if (!["decision", "observation", "execution"].includes(kind)) return;
    this.isHidden = true;
    this.hidesDecisions ||= kind === "decision";
    if (kind === "decision" && this.kept?.has(body)) this.erased.add(body);
  }

  advance(now: number, report: Report): void {
    this.lastAt = now;
    for (const [digest, since] of this.byAge) {
      if (now - since <= HORIZON) return;
      this.byAge.delete(digest);
      if (!this.kept?.has(digest)) this.dropJudged(digest, now, report);
    }
  }

  /** After the last entry. */
  close(now: number, report: Report): void {
    this.lastAt = now;
    for (const open of this.open.values()) this.judge(open, now, report);
    this.open.clear();
    if (this.unjudged > 0) report.notChecked.push(UNCHECKED.duties(this.unjudged));
    // In the first pass a matter may have been dropped too early to say so.
    if (this.fault !== null && this.suspects.size === 0) throw broken(this.fault);
  }

  /** The first finding that follows and stands nowhere. */
  omitted(): Found | null {
    const { lastAt } = this;
    if (lastAt === null) return null;
    const isAboutAbsence = ({ code }: Found) => code === "MISSING_EXECUTION" || code === "OUTCOME_UNKNOWN";
    const overdue = [...this.wanted.values()].filter((found) => found.since + FINDING_WITHIN < lastAt);
    const isUntold = ({ code }: Found) => this.hidesDecisions && code === "UNKNOWN_PREVIOUS";
    const sure = overdue.filter((found) => !(this.isHidden && isAboutAbsence(found)) && !isUntold(found));
    return sure.toSorted((one, other) => one.seq - other.seq || codeOrder(one.code) - codeOrder(other.code))[0] ?? null;
  }

  /** The decision that a statement may be about, or null if there is none. */
  private namedBy({ decision, action }: Stated): string | null {
    if (decision === null) return null;
    const open = this.open.get(decision);
    const mayBe = open ? action === open.matter.decided.action : this.kept === null || this.erased.has(decision);
    return mayBe ? decision : null;
  }

  private suspect(digest: string): void {
    if (this.kept === null) this.suspects.add(digest);
  }

  private want(found: Found): void {
    const key = `${found.code} ${found.statement}`;
    if (!this.stand.has(key) && !this.uncounted.has(found.statement)) this.wanted.set(key, found);
  }

  /** Judges and drops a matter of which nothing more is due. */
  private settle(digest: string, now: number, report: Report): void {
    const open = this.open.get(digest);
    if (open && isSettled(open, now) && !this.kept?.has(digest)) this.dropJudged(digest, now, report);
  }

  private dropJudged(digest: string, now: number, report: Report): void {
    const open = this.open.get(digest);
    if (!open) return;
    this.open.delete(digest);
    this.byAge.delete(digest);
    this.judge(open, now, report);
  }

  private judge(open: Open, now: number, report: Report): void {
    const { decided, observed } = open.matter;
    const isWatched = now - decided.at <= LONGEST_CALL;
    const judged = reconcile(open.matter, termsOf(open.due), isWatched, now);
    const row = `${judged.account} ${judged.status}` as const;
    report.calls[row] = (report.calls[row] ?? 0) + 1;
    if (open.due.kind === "unknown" && judged.status === "unsigned") this.unjudged += 1;
    const isUnfinished = decided.isCleared && decided.mode === "gateway" && !observed && isWatched;
    if (isUnfinished || judged.status === "waiting") {
      report.open += 1;
      if (report.openActions.length < NAMED) report.openActions.push(decided.action);
    }
    this.followClearances(open, judged.clears);
    for (const found of judged.findings) {
      this.want(found.code === "OUTCOME_UNKNOWN" ? { ...found, since: decided.at + LONGEST_CALL } : found);
    }
  }

  private followClearances({ cleared, due, matter }: Open, closes: readonly Cleared[]): void {
    const follows = ({ code, by }: { code: string; by: string }) => {
      // Without the registry nobody can say whether a statement was late.
      const isUnknown = due.kind === "unknown" && code === "MISSING_EXECUTION";
      return isUnknown || closes.some((closed) => closed.code === code && closed.by === by);
    };
    const stray = cleared.find((one) => !follows(one));
    if (stray) this.fault ??= `${matter.decided.action}: ${stray.code} was cleared by what does not close it`;
  }
}
