/** Steps 4 and 5 of reconciliation: the table. */
import { about, type Cleared, type Found } from "./found.js";
import type { Decided, Matter, Stated } from "./matter.js";
import type { Series, Status, Terms } from "./reconcile.js";

export interface Row {
  status: Status;
  findings: Found[];
  clears: Cleared[];
  againAfter: number | null;
}

/** The left column. `unclear`: an error result, no answer in time, an agent that went away. `nobody`: hook mode. */
type Saw = "success" | "unclear" | "nothing_ran" | "no_result" | "nothing_yet" | "nobody";

const SAW: Record<string, Saw> = {
  timeout: "unclear", cancelled: "unclear", refused: "nothing_ran", not_sent: "nothing_ran", error: "no_result", asked: "no_result",
};
const RAN = ["EXECUTED", "FAILED"];

export function row(matter: Matter, series: Series, terms: Terms, isWatched: boolean, now: number): Row {
  if (!matter.decided.isCleared) return notCleared(matter, series);
  const deadline = deadlineOf(matter, terms);
  const saw = sawOf(matter);
  const found = cleared(matter, series, { terms, isWatched, now, deadline, saw });
  const isTimed = saw === "success" || saw === "unclear" || saw === "nobody";
  if (isTimed && terms.owes && deadline !== null) late(matter.decided, series, deadline, found);
  const known = firstKnown(matter, series);
  if (known) found.clears.push({ code: "OUTCOME_UNKNOWN", about: matter.decided.digest, by: known.digest, seq: known.seq });
  return found;
}

function of(status: Status, ...findings: Found[]): Row {
  return { status, findings, clears: [], againAfter: null };
}

function sawOf({ decided, observed }: Matter): Saw {
  if (decided.mode === "hook") return "nobody";
  if (!observed) return "nothing_yet";
  if (observed.status === "returned") return observed.isError ? "unclear" : "success";
  return SAW[observed.status]!;
}

/** Step 4: what ran all the same is named, whether the provider says so or the gateway saw it being sent. */
function notCleared({ decided, observed }: Matter, series: Series): Row {
  const code = "EXECUTED_AGAINST_VERDICT";
  const findings = series.distinct.filter(({ outcome }) => RAN.includes(outcome)).map((stated) => about(decided.action, stated, code));
  if (observed && observed.status !== "not_sent") {
    findings.push({ code, action: decided.action, statement: observed.digest, seq: observed.seq, since: observed.at });
  }
  return of(findings.length > 0 ? "against_verdict" : "matched", ...findings);
}

interface Moment {
  terms: Terms;
  isWatched: boolean;
  now: number;
  deadline: number | null;
  saw: Saw;
}

/** Step 5. */
function cleared(matter: Matter, series: Series, { terms, isWatched, now, deadline, saw }: Moment): Row {
  const { word } = series;
  const isPast = deadline !== null && now > deadline;
  if (saw === "no_result") return of("matched");
  if (saw === "nothing_ran") return word?.outcome === "EXECUTED" ? contradicted(matter, word) : of("matched");
  if (word) return saw === "success" ? success(matter, series, word, deadline, isPast) : of("matched");
  if (saw === "nothing_yet" && !isWatched) return of("outcome_unknown", due(matter.decided, "OUTCOME_UNKNOWN", now));
  if (!terms.owes) return of("unsigned");
  if (isPast) return of("missing", due(matter.decided, "MISSING_EXECUTION", deadline));
  return { ...of("waiting"), againAfter: deadline };
}

/** The provider's word against a result that came back. */
function success(matter: Matter, { givenUp }: Series, word: Stated, deadline: number | null, isPast: boolean): Row {
  if (word.outcome === "EXECUTED") {
    // What was given up and done after the deadline had been contradicted until then.
    const isTooLate = givenUp !== null && deadline !== null && word.at > deadline;
    return isTooLate ? contradicted(matter, givenUp) : of("matched");
  }
  // ABANDONED then EXECUTED is honest, so the second half may still come.
  if (word.outcome === "ABANDONED" && !isPast) return { ...of("waiting"), againAfter: deadline };
  return contradicted(matter, word);
}

function contradicted({ decided, observed }: Matter, word: Stated): Row {
  const since = Math.max(observed?.at ?? word.at, word.at);
  return of("contradicted", about(decided.action, word, "STATEMENT_CONTRADICTS_OBSERVATION", since));
}

/** A first statement after the deadline closes MISSING_EXECUTION and is named for being late. */
function late(decided: Decided, { distinct: [first] }: Series, deadline: number, found: Row): void {
  if (!first || first.at <= deadline) return;
  found.findings.push(about(decided.action, first, "LATE_EXECUTION"));
  found.clears.push({ code: "MISSING_EXECUTION", about: decided.digest, by: first.digest, seq: first.seq });
  if (found.status === "matched") found.status = "late";
}

/** The first that says what became of the call closes OUTCOME_UNKNOWN. */
function firstKnown({ observed }: Matter, { distinct: [said] }: Series): { digest: string; seq: number } | undefined {
  return [observed, said].filter((known) => known != null).toSorted((one, other) => one.seq - other.seq)[0];
}

function deadlineOf({ decided, observed }: Matter, { signWithin }: Terms): number | null {
  const from = decided.mode === "hook" ? decided.at : observed?.at;
  return from === undefined ? null : from + signWithin;
}

/** A finding about what is not there: it names the decision. */
function due(decided: Decided, code: string, since: number): Found {
  return { code, action: decided.action, statement: decided.digest, seq: decided.seq, since };
}
