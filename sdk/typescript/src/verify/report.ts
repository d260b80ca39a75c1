/** What verification of a package found, for people and programs. */
import type { Found } from "./found.js";
import type { Account } from "./matter.js";
import type { Status } from "./reconcile.js";

/** COMPLETE_SINCE (0) needs witnesses, which packages of this version do not carry. */
export type Answer = "UNANCHORED" | "INCOMPLETE" | "OMITTED" | "FORKED" | "BROKEN" | "UNPINNED";

export const EXIT_CODES: Record<Answer, number> = {
  UNANCHORED: 10, INCOMPLETE: 20, OMITTED: 21, FORKED: 30, BROKEN: 40, UNPINNED: 50,
};

export interface Verdict {
  answer: Answer;
  /** The first thing that decides it, as a sentence without a full stop. */
  why: string;
  /** For FORKED: two signed notes that contradict each other. */
  notes: string[];
  /** For OMITTED: the finding that stands nowhere. */
  found: Found | null;
}

export interface ProviderPin {
  provider: string;
  thumbprint: string;
  /** `operator`: the log operator alone vouches; it could have imported a key of its own under the provider's name. */
  pinnedBy: "holder" | "operator";
}

export interface Report {
  verdict: Verdict;
  exitCode: number;
  issuer: string;
  /** Number of the first entry, and one more than that of the last. */
  first: number;
  size: number;
  /** Standard base64; null where no checkpoint was read. */
  root: string | null;
  /** Entries whose body is there and was checked; those of others that are not shown; those erased under a tombstone. */
  verified: number;
  withheld: number;
  erased: number;
  /** Calls by account and how they ended: `governed matched`. */
  calls: Partial<Record<`${Account} ${Status}`, number>>;
  /** Findings that stand in the record, by code. */
  findings: Record<string, number>;
  /** Calls at the edges that are not over yet, and the first twenty of them. */
  open: number;
  openActions: string[];
  providers: ProviderPin[];
  incomplete: string[];
  /** Sentences about what was not checked, and why. */
  notChecked: string[];
}

export function verdict(answer: Answer, why: string, more: Partial<Verdict> = {}): Verdict {
  return { answer, why, notes: [], found: null, ...more };
}

/** Verification ends before the end. */
export class Ended extends Error {
  override name = "Ended";

  constructor(readonly verdict: Verdict) {
    super(verdict.why);
  }
}

export function broken(why: string): Ended {
  return new Ended(verdict("BROKEN", why));
}

export function unpinned(why: string): Ended {
  return new Ended(verdict("UNPINNED", why));
}

export function incomplete(why: string): Ended {
  return new Ended(verdict("INCOMPLETE", why));
}

export function forked(...notes: string[]): Ended {
  return new Ended(verdict("FORKED", "two notes of one log contradict each other", { notes }));
}

/** The first thing that is not right about one entry. `unknown`: no entry before introduced its key. */
export class Fault extends Error {
  override name = "Fault";

  constructor(
    message: string,
    readonly kind: "broken" | "unknown" | "untrusted" = "broken",
  ) {
    super(message);
  }
}

export const UNCHECKED = {
  anchors: "that the record ends here: no witness and no tick is in the package",
  replay: "that rules and facts give these verdicts: nothing was evaluated again",
  grants: "that the grants were those in force: only their digests are here",
  charges: "that nothing was charged above its quote: amounts are sealed",
  before: (first: number) => `what was in force at entry ${first}, where the package starts`,
  duties: (calls: number) => `whether ${calls} calls without a statement were owed one: no registry was given`,
  absences: "that no statement is missing: some are withheld or erased",
  late: (count: number) => `${count} decisions that late statements name`,
};

export function emptyReport(issuer: string): Report {
  return {
    verdict: verdict("INCOMPLETE", "nothing was read"), exitCode: EXIT_CODES.INCOMPLETE, issuer, first: 0, size: 0, root: null,
    verified: 0, withheld: 0, erased: 0, calls: {}, findings: {}, open: 0, openActions: [], providers: [], incomplete: [],
    notChecked: [],
  };
}
