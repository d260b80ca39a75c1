/** One JSON-RPC message at the door, and its answer on the way out. */
import { Admitted, CapabilityRefusal, EXECUTION, REFUSED, type Guard } from "../capability.js";
import { boundValue } from "../format/bound.js";
import { isObject } from "../format/json.js";

export type Id = string | number;

export interface Answer {
  jsonrpc: "2.0";
  id: Id | null;
  error: { code: number; message: string; data: { reason: string } };
}

export type Judged =
  | { is: "other" }
  | { is: "admitted"; id: Id; call: Admitted }
  | { is: "refused"; answer: Answer }
  /** A tool call that wants no answer: it is neither run nor answered. */
  | { is: "dropped" };

export async function judge(message: unknown, guard: Guard, header: string | null): Promise<Judged> {
  if (Array.isArray(message)) return message.some(isToolCall) ? refused(null, new CapabilityRefusal("capability_batch")) : { is: "other" };
  if (!isToolCall(message)) return { is: "other" };
  const { id, params } = message;
  if (typeof id !== "string" && typeof id !== "number") return { is: "dropped" };
  try {
    return { is: "admitted", id, call: await guard.admit(params, header) };
  } catch (error) {
    if (error instanceof CapabilityRefusal) return refused(id, error);
    throw error;
  }
}

/** The answer with our statement in it; an answer that cannot carry one is returned as it is. */
export async function answered(message: Record<string, unknown>, call: Admitted): Promise<Record<string, unknown>> {
  if (!isObject(message.result)) {
    const error = message.error;
    await call.failed(isObject(error) ? `rpc_${String(error.code)}` : "error");
    return message;
  }
  const statement = await call.executed(message.result);
  if (!statement) return message;
  const meta = isObject(message.result._meta) ? message.result._meta : {};
  return { ...message, result: { ...message.result, _meta: { ...meta, [EXECUTION]: statement } } };
}

/** As `answered`, of a message in text. A text without a single reading leaves as it came. */
export async function answeredText(text: string, id: Id, call: Admitted): Promise<{ text: string; isAnswer: boolean }> {
  const message: unknown = JSON.parse(text);
  if (!isObject(message) || message.method !== undefined || message.id !== id) return { text, isAnswer: false };
  if (isObject(message.result) && boundValue(text) === "none:no_canonical_form") {
    await call.executed(message.result, text);
    return { text, isAnswer: true };
  }
  return { text: JSON.stringify(await answered(message, call)), isAnswer: true };
}

function isToolCall(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message.method === "tools/call";
}

function refused(id: Id | null, refusal: CapabilityRefusal): Judged {
  const error = { code: REFUSED, message: refusal.message, data: { reason: refusal.code } };
  return { is: "refused", answer: { jsonrpc: "2.0", id, error } };
}
