/** The body of an HTTP answer on its way out: one JSON document, or a stream of server-sent events. */
import type { Admitted } from "../capability.js";
import { answeredText, type Id } from "./message.js";

export interface Rewriter {
  /** What may leave now. */
  push(text: string): Promise<string>;
  end(): Promise<string>;
}

export function rewriter(contentType: string, id: Id, call: Admitted): Rewriter {
  if (contentType.startsWith("text/event-stream")) return eventStream(id, call);
  return contentType.startsWith("application/json") ? document(id, call) : untouched();
}

function untouched(): Rewriter {
  return { push: async (text) => text, end: async () => "" };
}

function document(id: Id, call: Admitted): Rewriter {
  let whole = "";
  return {
    async push(text) {
      whole += text;
      return "";
    },
    end: async () => (whole === "" ? "" : rewritten(whole, id, call)),
  };
}

function eventStream(id: Id, call: Admitted): Rewriter {
  let rest = "";
  return {
    async push(text) {
      const events = (rest + text).split(/(?<=\r?\n\r?\n)/);
      rest = events.at(-1)?.match(/\r?\n\r?\n$/) ? "" : (events.pop() ?? "");
      let out = "";
      for (const event of events) out += await rewrittenEvent(event, id, call);
      return out;
    },
    end: async () => rest,
  };
}

async function rewrittenEvent(event: string, id: Id, call: Admitted): Promise<string> {
  const lines = event.trimEnd().split(/\r?\n/);
  const isData = (line: string) => line.startsWith("data:");
  const data = lines.filter(isData).map((line) => line.slice(5).replace(/^ /, "")).join("\n");
  const text = data === "" ? data : await rewritten(data, id, call);
  if (text === data) return event;
  return [...lines.filter((line) => !isData(line)), `data: ${text}`, "", ""].join("\n");
}

async function rewritten(text: string, id: Id, call: Admitted): Promise<string> {
  try {
    return (await answeredText(text, id, call)).text;
  } catch (error) {
    // Not JSON: it is no answer to this call, and not ours to change.
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
