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
  /** Calls under way by their id; null while a capability is being judged. */
  const open = new Map<Id, Admitted | null>();
  let deliver: TransportLike["onmessage"];

  const receive = async (message: any, extra: any): Promise<void> => {
    const id: Id | undefined = message?.method === "tools/call" ? message.id : undefined;
    if (id !== undefined && open.has(id)) return transport.onerror?.(new Error("a call with the id of a running one"));
    if (id !== undefined) open.set(id, null);
    try {
      await pass(message, extra, id);
    } catch (error) {
      // A failure in the guard itself lets nothing through.
      transport.onerror?.(error as Error);
      if (id === undefined || !open.delete(id)) return;
      await transport.send({ jsonrpc: "2.0", id, error: { code: -32603, message: "not executed: the guard failed" } });
    }
  };
  const pass = async (message: any, extra: any, id: Id | undefined): Promise<void> => {
    if (message?.method === "notifications/cancelled") await abandon(message.params?.requestId);
    const judged = await judge(message, guard, headerOf(extra));
    if (judged.is === "admitted") {
      open.set(judged.id, judged.call);
      return judged.call.run(() => deliver?.(message, extra));
    }
    if (id !== undefined) open.delete(id);
    if (judged.is === "other") deliver?.(message, extra);
    if (judged.is === "refused") await transport.send(judged.answer, { relatedRequestId: judged.answer.id ?? undefined });
  };
  /** The SDK answers a cancelled call no more. */
  const abandon = async (id: Id): Promise<void> => {
    const call = open.get(id);
    if (!call) return;
    open.delete(id);
    await call.abandoned();
  };
  const send = async (message: any, options?: any): Promise<void> => {
    const call = message?.method === undefined ? open.get(message?.id) : null;
    if (!call) return transport.send(message, options);
    open.delete(message.id);
    return transport.send(await answered(message, call), options);
  };
  transport.onmessage = (message, extra) => {
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
