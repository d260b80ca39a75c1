/**
 * Reconciliation: decision, observation and execution of one call, matched three ways.
 *
 * Promised: total and pure; two readers of one record come to the same answer, in whatever order it is handed in.
 * Not promised: that parties who agree say the truth.
 * Steps and table: docs/formats/reconciliation.md; each row is a case in docs/vectors/reconciliation.
 */
import { codeOrder } from "../format/shapes.js";
import { about, type Cleared, type Found } from "./found.js";
import type { Account, Decided, Matter, Stated } from "./matter.js";
import { row } from "./row.js";

/** How long a provider has to sign where its entry in the registry names no other time, in milliseconds. */
export const DEFAULT_SIGN_WITHIN = 10 * 60 * 1000;

/** What the registry that was in force for the decision says of its provider. `signWithin` in milliseconds. */
export interface Terms {
  owes: boolean;
  signWithin: number;
}

export type Status =
  | "matched" | "late" | "unsigned" | "waiting" | "missing" | "outcome_unknown" | "contradicted" | "against_verdict";

export interface Reconciled {
  status: Status;
  account: Account;
  /** In the order of the statements' places. */
  findings: Found[];
  clears: Cleared[];
  /** Where time alone can change the answer: when to ask again. */
  againAfter: number | null;
}

/** The provider's own statements about one decision, repeats left out. */
export interface Series {
  distinct: Stated[];
  /** The provider's word: the first statement, or the EXECUTED that followed an ABANDONED. */
  word: Stated | null;
  /** The ABANDONED that an EXECUTED followed. */
  givenUp: Stated | null;
}

/** Steps 2 to 5. `isWatched`: the gateway that decided may still observe. `now` by entry time, in milliseconds. */
export function reconcile(matter: Matter, terms: Terms, isWatched: boolean, now: number): Reconciled {
  const { decided } = matter;
  const statements = matter.stated.toSorted((one, other) => one.seq - other.seq);
  const findings: Found[] = [];
  const good = statements.filter((stated) => {
    const code = objection(decided, stated);
    if (code) findings.push(about(decided.action, stated, code));
    return !code;
  });
  const series = seriesOf(decided, good, findings);
  for (const stated of series.distinct) findings.push(...differences(matter, stated));
  const found = row(matter, series, terms, isWatched, now);
  findings.push(...found.findings);
  findings.sort((one, other) => one.seq - other.seq || codeOrder(one.code) - codeOrder(other.code));
  return { status: found.status, account: decided.account, findings, clears: found.clears, againAfter: found.againAfter };
}

/** Step 2: a statement to which there is an objection counts as if it had not been made. */
function objection(decided: Decided, { standing, provider }: Stated): string | null {
  if (!standing.holds) return standing.ended ? "REVOKED_KEY" : "INVALID_VENDOR_SIGNATURE";
  const speaksForItself = provider === null || provider === standing.signer;
  return decided.provider === standing.signer && speaksForItself ? null : "WRONG_SIGNER";
}

/** The first half of step 3: several statements about one decision. `good` in the order of their places. */
function seriesOf(decided: Decided, good: Stated[], findings: Found[]): Series {
  const series: Series = { distinct: [], word: null, givenUp: null };
  for (const stated of good) {
    // A retry says the same again: it counts once.
    if (series.distinct.some((earlier) => earlier.fingerprint === stated.fingerprint)) continue;
    series.distinct.push(stated);
    const word = series.word;
    if (!word) {
      series.word = stated;
    } else if (word.outcome === "ABANDONED" && stated.outcome === "EXECUTED") {
      // Given up, and done after all: that is honest.
      [series.givenUp, series.word] = [word, stated];
    } else {
      const isSame = word.outcome === stated.outcome;
      findings.push(about(decided.action, stated, isSame ? "DUPLICATE_EXECUTION" : "CONTRADICTING_EXECUTIONS"));
    }
  }
  return series;
}

/** The second half of step 3: arguments, result, charge. What one side does not give is not compared. */
function differences({ decided, observed }: Matter, stated: Stated): Found[] {
  const differ = (one: string | null, other: string | null) => one !== null && other !== null && one !== other;
  const findings: Found[] = [];
  const isOtherTool = stated.tool !== null && stated.tool !== decided.tool;
  if (isOtherTool || differ(decided.args, stated.args)) findings.push(about(decided.action, stated, "ARGUMENTS_DIFFER"));
  if (observed && differ(observed.result, stated.result)) {
    findings.push(about(decided.action, stated, "RESULT_DIFFERS", Math.max(observed.at, stated.at)));
  }
  const isOver = decided.quoted !== null && stated.charged !== null && stated.charged > decided.quoted;
  if (isOver) findings.push(about(decided.action, stated, "CHARGE_MISMATCH"));
  return findings;
}
