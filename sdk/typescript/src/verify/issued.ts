/**
 * Hashes that a vendor's sessions were told, by the entries alone: of the one that opened it, and of each decision in it.
 *
 * What an action names as the one before is a claim, compared and never a reason to refuse. Of a session that was opened before
 * the first entry nobody can say. Format: docs/formats/session.md.
 */
import type { JsonObject } from "../format/json.js";

export class Issued {
  private readonly told = new Map<string, Set<string>>();

  /** `hash`: of the entry. */
  follow(said: JsonObject, hash: string): void {
    const session = String(said.session);
    if (said.event === "opened") this.told.set(session, new Set([hash]));
    else this.told.delete(session);
  }

  /** Whether the decision names what its session was never told before; then its own hash is told. */
  isUnknown({ mode, session, ask }: JsonObject, hash: string): boolean {
    const told = mode === "hook" && typeof session === "string" ? this.told.get(session) : undefined;
    if (!told) return false;
    const prev = (ask as { prev: string | null } | null)?.prev ?? null;
    const isUnknown = prev !== null && !told.has(prev);
    told.add(hash);
    return isUnknown;
  }
}
