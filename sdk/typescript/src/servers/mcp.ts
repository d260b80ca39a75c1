/**
 * The guard between an MCP SDK server and its transport.
 *
 *     await server.connect(guarded(new StdioServerTransport(), guard));
 *
 * Promised: the server sees a `tools/call` only after its capability was used up; what is hashed is `params.arguments` as the
 * transport read them, before any schema fills defaults, drops names or decodes texts; what is signed is the result that is
 * sent. Works with every transport that has the SDK's shape, of its 1.x and 2.x lines.
 * Not promised: anything about calls that reach the server by another transport.
 */
import type { Admitted, Guard } from "../capability.js";
import { answered, judge, type Id } from "./message.js";

/** What the SDK's transports have in common. */
export interface TransportLike {
  start(): Promise<void>;
  send(message: any, options?: any): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

export function guarded<T extends TransportLike>(transport: T, guard: Guard): T {
  const open = new Map<Id, Admitted>();
  let deliver: TransportLike["onmessage"];

  const receive = async (message: any, extra: any): Promise<void> => {
    const judged = await judge(message, guard, headerOf(extra));
    if (judged.is === "other") deliver?.(message, extra);
    if (judged.is === "refused") await transport.send(judged.answer, { relatedRequestId: judged.answer.id ?? undefined });
    if (judged.is === "admitted") {
      open.set(judged.id, judged.call);
      judged.call.run(() => deliver?.(message, extra));
    }
  };
  const send = async (message: any, options?: any): Promise<void> => {
    const call = message?.method === undefined ? open.get(message?.id) : undefined;
    if (!call) return transport.send(message, options);
    open.delete(message.id);
    return transport.send(await answered(message, call), options);
  };
  transport.onmessage = (message, extra) => {
    // A failure in the guard itself lets nothing through.
    receive(message, extra).catch((error: Error) => transport.onerror?.(error));
  };

  return new Proxy(transport, {
    get(target, name) {
      if (name === "send") return send;
      if (name === "onmessage") return deliver;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" && !name.toString().startsWith("on") ? value.bind(target) : value;
    },
    set(target, name, value) {
      if (name !== "onmessage") return Reflect.set(target, name, value, target);
      deliver = value as TransportLike["onmessage"];
      return true;
    },
  });
}

function headerOf(extra: any): string | null {
  const headers = extra?.requestInfo?.headers ?? extra?.request?.headers;
  const value = typeof headers?.get === "function" ? headers.get("tool-capability") : headers?.["tool-capability"];
  return typeof value === "string" ? value : null;
}
