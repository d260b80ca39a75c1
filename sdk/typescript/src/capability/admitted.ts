/**
 * A call whose capability was used up, until its end: then the provider's own statement about it is signed.
 *
 * Without an execution key nothing is signed, and `executed` and `failed` give null.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { executionStatement, type Envelope, type Outcome, type Seen, type Signer } from "../execution.js";
import { isObject } from "../format/json.js";
import type { Claims } from "./token.js";

export const EXECUTION = "dev.counterfoil/execution";

export interface Executions {
  project: string;
  provider: string;
  /** The execution key; its public half is imported into the project beforehand. */
  signer?: Signer;
  /** The largest checkpoint held, see `receipts`. */
  seen?: () => Seen | null;
  /** Told of every statement that was signed, also of those that no result can carry. */
  onExecution?: (statement: Envelope) => void;
}

const CURRENT = new AsyncLocalStorage<Admitted>();

/** The call that is being carried out, inside a handler. */
export function current(): Admitted | null {
  return CURRENT.getStore() ?? null;
}

export class Admitted {
  constructor(
    readonly claims: Readonly<Claims>,
    readonly args: unknown,
    readonly startedAt: Date,
    private readonly options: Executions,
    private readonly now: () => number,
  ) {}

  /** Runs a handler in such a way that `current()` names this call. */
  run<T>(handler: () => T): T {
    return CURRENT.run(this, handler);
  }

  /** The JSON-RPC result, and its text as it leaves on the wire. */
  async executed(result: unknown, text: string = JSON.stringify(result)): Promise<Envelope | null> {
    const [outcome, code] = outcomeOf(result);
    return this.#sign(outcome, text, code);
  }

  /** The call ended in a protocol error, or in an exception. */
  async failed(errorCode: string): Promise<Envelope | null> {
    return this.#sign("FAILED", null, errorCode.replace(/[^A-Za-z0-9_.-]/g, "_").slice(0, 64) || "error");
  }

  /** Whoever asked went away; what became of the call is not known. */
  async abandoned(): Promise<Envelope | null> {
    return this.#sign("ABANDONED", null, null);
  }

  async #sign(outcome: Outcome, resultText: string | null, errorCode: string | null): Promise<Envelope | null> {
    const { signer, project, provider, seen, onExecution } = this.options;
    if (!signer) return null;
    const { txn, dec, jti, os, call } = this.claims;
    // The call was carried out: that nobody could sign for it is reported, and does not swallow its answer.
    const statement = await executionStatement({
      project, provider, tool: call.t, action: txn, decision: dec, capability: jti, seed: os, arguments: this.args,
      outcome, resultText, errorCode, startedAt: this.startedAt, executedAt: new Date(this.now()), seen: seen?.() ?? null,
    }, signer).catch((error: Error) => {
      process.emitWarning(`counterfoil: an execution of ${call.t} could not be signed: ${error.message}`);
      return null;
    });
    if (statement) onExecution?.(statement);
    return statement;
  }
}

/** A result that asks back executed nothing yet; one that says `isError` failed by its own word. */
function outcomeOf(result: unknown): [Outcome, string | null] {
  if (isObject(result) && result.resultType === "input_required") return ["NOT_ATTEMPTED", null];
  return isObject(result) && result.isError === true ? ["FAILED", "tool_error"] : ["EXECUTED", null];
}
