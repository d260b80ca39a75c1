/** A matter that is still open, and what is due of its provider. */
import type { Matter } from "./matter.js";
import { DEFAULT_SIGN_WITHIN, reconcile, type Terms } from "./reconcile.js";

/** `unknown`: the provider has a key, and the registry that says more is not at hand. `never`: it has no key. */
export type Due = { kind: "known"; terms: Terms } | { kind: "unknown" } | { kind: "never" };

export interface Open {
  matter: Matter;
  due: Due;
  /** Clearances that stand: code, and the digest of what they say came. */
  cleared: { code: string; by: string }[];
}

export function termsOf(due: Due): Terms {
  return due.kind === "known" ? due.terms : { owes: false, signWithin: DEFAULT_SIGN_WITHIN };
}

/** Whether honest parties have nothing more to say. */
export function isSettled({ matter, due }: Open, now: number): boolean {
  const { decided, observed, stated } = matter;
  if (!decided.isCleared) return true;
  if (decided.mode === "gateway" && !observed) return false;
  const isSaid = stated.length > 0 && reconcile(matter, termsOf(due), true, now).status !== "waiting";
  return isSaid || due.kind === "never";
}
