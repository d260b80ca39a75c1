/** What reconciliation finds, and what of it was closed. */
import type { Stated } from "./matter.js";

/** A disagreement: what a `finding/v1` has to say. */
export interface Found {
  code: string;
  /** Null only where the statement names no id of ours. */
  action: string | null;
  /** Digest of the body that it is about. */
  statement: string;
  seq: number;
  /** The entry time, or the deadline, from which on it is one; milliseconds. */
  since: number;
}

/** A finding that, if it stands, is closed by what came. */
export interface Cleared {
  code: string;
  about: string;
  by: string;
  seq: number;
}

/** Step 1, for a statement that names no decision of this project. */
export function stray(stated: Stated): Found {
  return about(stated.action, stated, "EXECUTION_WITHOUT_DECISION");
}

/** A finding about a statement, of the moment of its entry. */
export function about(action: string | null, stated: Stated, code: string, since = stated.at): Found {
  return { code, action, statement: stated.digest, seq: stated.seq, since };
}
