/**
 * The guard before a fetch handler (`(request) => Response`), on the bytes of the request.
 *
 *     export default { fetch: guardedFetch(handler, guard) };
 *
 * Promised: the handler sees a `tools/call` only after its capability was used up, and its body is read once, strictly: a body
 * with two readings is refused. Not promised: a signed execution in an answer that leaves by another request (resumption).
 */
import type { Guard } from "../capability.js";
import { JsonError, parse, type Json } from "../format/json.js";
import { judge } from "./message.js";
import { rewriter } from "./rewriter.js";

/** As long as a message may be at the gateway. */
export const LARGEST_BODY = 4 * 1024 * 1024;
/** Every other method may carry a message, so it is read. */
export const WITHOUT_CALLS = ["GET", "HEAD", "OPTIONS", "DELETE"];

type Handler = (request: Request, ...rest: any[]) => Response | Promise<Response>;

export function guardedFetch(handler: Handler, guard: Guard): Handler {
  return async (request, ...rest) => {
    if (WITHOUT_CALLS.includes(request.method)) return handler(request, ...rest);
    const bytes = Buffer.from(await request.arrayBuffer());
    const read = readBody(bytes);
    if (read.refusal) return Response.json(read.refusal, { status: 400 });
    const judged = await judge(read.message, guard, request.headers.get("tool-capability"));
    if (judged.is === "refused") return Response.json(judged.answer, { status: judged.answer.id === null ? 400 : 200 });
    if (judged.is === "dropped") return new Response(null, { status: 202 });
    const onward = new Request(request.url, { method: request.method, headers: request.headers, body: bytes, signal: request.signal });
    if (judged.is === "other") return handler(onward, ...rest);
    const answer = await judged.call.run(() => handler(onward, ...rest));
    return outgoing(answer, rewriter(answer.headers.get("content-type") ?? "", judged.id, judged.call));
  };
}

export interface Body {
  message?: Json;
  refusal?: object;
}

export function readBody(bytes: Uint8Array): Body {
  try {
    return { message: parse(bytes, "foreign", LARGEST_BODY) };
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const data = { path: error.path, reason: error.reason };
    return { refusal: { jsonrpc: "2.0", id: null, error: { code: -32700, message: error.message, data } } };
  }
}

function outgoing(answer: Response, rewrite: ReturnType<typeof rewriter>): Response {
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  const through = new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, out) {
      out.enqueue(encoder.encode(await rewrite.push(decoder.decode(chunk, { stream: true }))));
    },
    async flush(out) {
      out.enqueue(encoder.encode(await rewrite.push(decoder.decode()) + (await rewrite.end())));
    },
  });
  return new Response(answer.body?.pipeThrough(through as any) ?? null, { status: answer.status, headers });
}
