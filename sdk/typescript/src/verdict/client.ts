/** The client of the verdict API. */
import { documentValue } from "../format/bound.js";
import type { JsonObject } from "../format/json.js";
import { sixFieldStatement, type Outcome, type SignedSixFields, type Signer } from "../execution.js";
import type { KeySet } from "../verify.js";
import { cleared, readDecision, type Cleared, type Decided } from "./decision.js";
import { NoVerdict, NotCleared } from "./refusal.js";
import { Transport, type TransportOptions } from "./transport.js";

export interface VerdictOptions extends TransportOptions {
  project: string;
  env: "live" | "test";
  /** The keys that you pinned: decision and log keys among them. */
  pinned: KeySet;
  /** The vendor's execution key, for `report`. */
  signer?: Signer;
}

export interface Session {
  external_id: string;
  agent: { external_id: string; name?: string; version?: string };
  /** Opaque: an e-mail address is refused. */
  principal: { type: "human" | "service"; ref: string };
  original_request: { hash: string; anchors: string[] };
}

export interface Proposal {
  session: string;
  /** Unique in its session. */
  seq: number;
  tool: { name: string; provider?: string; server?: string };
  arguments: unknown;
  /** What the gateway sees of the arguments, nothing by default; it reads nouns and declared fields from it. */
  shown?: JsonObject;
  /** Sends the arguments themselves. A capability can be bound to nothing less: without, an ALLOW comes without one. */
  disclose?: boolean;
  signals?: JsonObject;
}

/** So many decisions are remembered, that none is used for two calls. */
const REMEMBERED = 10_000;

export class Verdicts {
  readonly #transport: Transport;
  readonly #now: () => number;
  /** Decision id → session and seq that it answered. */
  readonly #answered = new Map<string, string>();

  constructor(private readonly options: VerdictOptions) {
    this.#transport = new Transport(options);
    this.#now = options.now ?? Date.now;
  }

  async open(session: Session): Promise<void> {
    const body = { ...session, started_at: new Date(this.#now()).toISOString() };
    await this.#transport.ask("POST", "/v1/sessions", body, { external_id: session.external_id });
  }

  async close(session: string): Promise<void> {
    await this.#transport.ask("POST", `/v1/sessions/${encodeURIComponent(session)}/close`, {}, { session });
  }

  /** A verified decision, whatever it says; or `NoVerdict`. */
  async decide(proposal: Proposal): Promise<Decided> {
    const { session, seq, tool, arguments: args, shown = {}, disclose = false, signals = {} } = proposal;
    const argsHash = documentValue(args ?? {});
    const identity = { session, seq, tool: { ...tool }, args_hash: argsHash, signals };
    const body = {
      session_external_id: session, seq, tool, args_redacted: shown, args_hash: argsHash, signals,
      ...(disclose ? { arguments: args ?? {} } : {}),
      requested_at: new Date(this.#now()).toISOString(),
    };
    const answer = await this.#transport.ask("POST", "/v1/actions", body, identity);
    const { project, env, pinned } = this.options;
    const asked = { project, env, tool: tool.name, provider: tool.provider ?? null, arguments: args };
    const decided = readDecision(answer, asked, pinned, this.#now());
    this.#demandFirst(decided, `${session} ${seq}`);
    return decided;
  }

  /** Runs the work if, and only if, it was cleared; reports what came of it. */
  async guard<T>(proposal: Proposal, work: (cleared: Cleared) => T | Promise<T>): Promise<T> {
    const decided = await this.decide(proposal);
    const yes = cleared(decided);
    if (!yes) throw new NotCleared(decided);
    let result: T;
    try {
      result = await work(yes);
    } catch (error) {
      await this.#reportQuietly(yes, "FAILED", undefined, "exception");
      throw error;
    }
    await this.#reportQuietly(yes, "EXECUTED", result, null);
    return result;
  }

  /** The signed statement alone: keep it with your own commit, send it later with `send`. */
  async statement(decided: Decided, outcome: Outcome, result?: unknown, errorCode: string | null = null): Promise<SignedSixFields> {
    if (!this.options.signer) throw new TypeError("a report needs an execution key (`signer`)");
    return sixFieldStatement({
      action_id: decided.action, decision_id: decided.decisionId, outcome,
      result_hash: result === undefined ? null : documentValue(result),
      error_code: errorCode, executed_at: new Date(this.#now()).toISOString(),
    }, this.options.signer);
  }

  async send(statement: SignedSixFields): Promise<void> {
    const { action_id, decision_id, outcome, result_hash } = statement;
    await this.#transport.ask("POST", "/v1/executions", statement, { action_id, decision_id, outcome, result_hash });
  }

  /** The work is done: that nobody could be told does not undo it. `NoVerdict` here is for the outbox, see `Outbox`. */
  async #reportQuietly(decided: Decided, outcome: Outcome, result: unknown, errorCode: string | null): Promise<void> {
    if (!this.options.signer) return;
    const statement = await this.statement(decided, outcome, jsonOrNothing(result), errorCode);
    await this.send(statement).catch(() => undefined);
  }

  #demandFirst(decided: Decided, place: string): void {
    const before = this.#answered.get(decided.decisionId);
    if (before !== undefined && before !== place) throw new NoVerdict("replayed", "this decision answered another call before");
    this.#answered.set(decided.decisionId, place);
    if (this.#answered.size > REMEMBERED) this.#answered.delete(this.#answered.keys().next().value!);
  }
}

function jsonOrNothing(result: unknown): unknown {
  try {
    documentValue(result);
    return result;
  } catch {
    return undefined;
  }
}
