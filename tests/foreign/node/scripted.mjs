// A provider over standard input and output that does what a test needs to see: it writes down every line that it was
// sent before it answers, and some of its answers hold what a careless proxy would lose.
//
//     node scripted.mjs <log file>
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const log = process.argv[2];
const schema = { type: "object", properties: { path: { type: "string" }, amount: {} } };
const tools = ["echo", "odd", "slow", "fails", "refuses"].map((name) => ({ name, description: `${name} for tests`, inputSchema: schema }));

// As text, because JSON.parse would round the numbers and drop nothing that a test could miss.
const ODD = '{"content":[{"type":"text","text":"ok","annotations":{"x":[1.0,1e2]},"unknownInBlock":123456789012345678901234567890}],'
  + '"structuredContent":{"amount":123456789012345678901234567890,"price":1.50,"tiny":1E-2,"z":1,"a":2},'
  + '"isError":false,"unknownAtTop":{"deep":[{"n":-0.0},"\\u00e9\\/"]}}';

const answers = {
  echo: (params) => JSON.stringify({ content: [{ type: "text", text: JSON.stringify(params.arguments ?? null) }] }),
  odd: () => ODD,
  fails: (params) => JSON.stringify({ content: [{ type: "text", text: `it went wrong ${params.arguments?.path ?? ""}` }], isError: true }),
};

function send(id, kind, text) {
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${kind}":${text}}\n`);
}

/** What a talkative provider says while it works. */
function tell(text) {
  const said = [["notifications/message", { level: "info", data: text }], ["notifications/progress", { progressToken: text, progress: 1, message: text }]];
  for (const [method, params] of said) process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", method, params })}\n`);
}

function called(id, params) {
  const path = params.arguments?.path ?? "";
  if (params.name === "refuses") return send(id, "error", JSON.stringify({ code: -32000, message: `not today ${path}`, data: { path } }));
  if (params.name === "slow") tell(path);
  if (params.name === "slow") return setTimeout(() => send(id, "result", answers.echo(params)), params.arguments?.ms ?? 400);
  return send(id, "result", answers[params.name](params));
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call") appendFileSync(log, `${line}\n`);
  if (method === "initialize") {
    const result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "scripted", version: "1" } };
    return send(id, "result", JSON.stringify(result));
  }
  if (method === "tools/list") return send(id, "result", JSON.stringify({ tools }));
  if (method === "tools/call") return called(id, params);
  if (method === "ping") return send(id, "result", "{}");
  if (id !== undefined) return send(id, "error", '{"code":-32601,"message":"no such method"}');
});
