/**
 * For providers: no fresh capability, no execution.
 *
 * Promised: a call passes only with a token of the pinned issuer, for this provider, environment, tool and exactly these
 * arguments as they came on the wire, inside its life, of the current kill generation, and once. Whatever cannot be checked is
 * refused before the handler runs, with a code of its own. Not promised: that a tool called around its middleware is covered,
 * or that a handler that crashed half way did nothing.
 * Format and cases: docs/formats/capability.md, docs/vectors/capability.
 */
export { Guard, CAPABILITY, RECEIPT, callHash, type GuardOptions } from "./capability/guard.js";
export { Admitted, EXECUTION, current } from "./capability/admitted.js";
export { CapabilityRefusal, REFUSED, type RefusalCode } from "./capability/refusal.js";
export {
  POSTGRES_TABLE, fileStore, memoryStore, postgresStore, prunePostgres, redisStore, type PostgresClient, type UsedStore,
} from "./capability/stores.js";
export type { Claims } from "./capability/token.js";
export type { KeySource } from "./capability/keys.js";
export type { Following } from "./capability/generation.js";
