/**
 * The guard before an Express (or plain node:http) handler, on the bytes of the request.
 *
 *     app.post("/mcp", guardedExpress(guard), handler);
 *
 * Stands before body parsers: it must see the bytes. It leaves the parsed body in `request.body`.
 * Promised and not promised: as in ./fetch.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Guard } from "../capability.js";
import { LARGEST_BODY, WITHOUT_CALLS, readBody } from "./fetch.js";
import { judge } from "./message.js";
import { rewriter, type Rewriter } from "./rewriter.js";

type Incoming = IncomingMessage & { body?: unknown; _body?: boolean };
type Next = (error?: unknown) => void;

export function guardedExpress(guard: Guard): (request: Incoming, response: ServerResponse, next: Next) => void {
  return (request, response, next) => {
    if (WITHOUT_CALLS.includes(request.method ?? "")) return next();
    pass(request, response, next, guard).catch(next);
  };
}

async function pass(request: Incoming, response: ServerResponse, next: Next, guard: Guard): Promise<void> {
  if (request.body !== undefined || request.readableEnded) throw new Error("the guard must stand before body parsers");
  const bytes = await bodyOf(request);
  if (!bytes) return reply(response, 413, { jsonrpc: "2.0", id: null, error: { code: -32600, message: "body too large" } });
  const read = readBody(bytes);
  if (read.refusal) return reply(response, 400, read.refusal);
  const header = request.headers["tool-capability"];
  const judged = await judge(read.message, guard, typeof header === "string" ? header : null);
  if (judged.is === "refused") return reply(response, judged.answer.id === null ? 400 : 200, judged.answer);
  if (judged.is === "dropped") return void response.writeHead(202).end();
  // body-parser's own mark for a body that was read.
  Object.assign(request, { body: read.message, _body: true });
  if (judged.is === "other") return next();
  intercept(response, (type) => rewriter(type, judged.id, judged.call));
  judged.call.run(() => next());
}

async function bodyOf(request: Incoming): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LARGEST_BODY) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Signing takes a moment, so what is written leaves in order, one piece after the other. */
function intercept(response: ServerResponse, make: (contentType: string) => Rewriter): void {
  const [writeHead, write, end] = [response.writeHead, response.write, response.end].map((f) => f.bind(response)) as any[];
  const decoder = new TextDecoder();
  let rewrite: Rewriter | null = null;
  let queue = Promise.resolve();
  const started = () => (rewrite ??= make(String(response.getHeader("content-type") ?? "")));
  const later = (work: () => Promise<void>) => {
    queue = queue.then(work).catch((error: Error) => void response.destroy(error));
  };
  const textOf = (chunk: any, more: boolean) =>
    typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: more });

  response.writeHead = ((status: number, ...rest: any[]) => {
    const headers = rest.find((item) => typeof item === "object" && item !== null) ?? {};
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value as string);
    response.removeHeader("content-length");
    return writeHead(status);
  }) as typeof response.writeHead;
  response.write = ((chunk: any) => {
    const text = textOf(chunk, true);
    later(async () => {
      const out = await started().push(text);
      if (out !== "") write(out);
    });
    return true;
  }) as typeof response.write;
  response.end = ((chunk?: any) => {
    const text = chunk === undefined || typeof chunk === "function" ? "" : textOf(chunk, false);
    later(async () => {
      if (!response.headersSent) response.removeHeader("content-length");
      const rewrite = started();
      end((await rewrite.push(text)) + (await rewrite.end()));
    });
    return response;
  }) as typeof response.end;
}
