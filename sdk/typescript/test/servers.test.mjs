// C1, P3: behind the guard a server sees only what was admitted, and its answer leaves with a signed execution.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { McpServer as McpServerOfTwo, createMcpHandler } from "@modelcontextprotocol/server";
import { StdioServerTransport as StdioOfTwo, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { Guard, current, memoryStore } from "../dist/capability.js";
import { fromBase64url } from "../dist/format/bytes.js";
import { boundValue, documentValue } from "../dist/format/bound.js";
import { commit } from "../dist/format/commitment.js";
import { holdsUnder } from "../dist/format/envelope.js";
import { guardedExpress } from "../dist/servers/express.js";
import { guardedFetch } from "../dist/servers/fetch.js";
import { guarded } from "../dist/servers/mcp.js";
import { KeySet } from "../dist/verify.js";
import { EXECUTION_KEY, GATEWAY_KEYS, ISSUER, PROJECT, call, claims, token } from "./world.mjs";

const guard = (more = {}) => new Guard({
  issuer: ISSUER, provider: "notes", project: PROJECT, env: "live", keys: KeySet.parse(GATEWAY_KEYS), generation: "seen",
  store: memoryStore(() => {}), signer: EXECUTION_KEY, ...more,
});

let ran = [];
function server(Server = McpServer, schema = (shape) => shape) {
  ran = [];
  const made = new Server({ name: "notes", version: "1" });
  const text = (value) => ({ content: [{ type: "text", text: value }] });
  const input = schema({ path: z.string(), depth: z.number().default(7) });
  made.registerTool("plain", { inputSchema: input, outputSchema: schema({ depth: z.number() }) }, (args) => {
    ran.push({ args, action: current()?.claims.txn });
    return { ...text("ok"), structuredContent: { depth: args.depth } };
  });
  made.registerTool("waits", { inputSchema: input }, () => new Promise((resolve) => setTimeout(() => resolve(text("late")), 200)));
  made.registerTool("fails", { inputSchema: input }, () => { throw new Error("broken"); });
  made.registerTool("large", { inputSchema: input }, () => text("x".repeat(1_100_000)));
  made.registerTool("binary", { inputSchema: input }, () => ({ content: [{ type: "image", data: "AAEC", mimeType: "image/png" }] }));
  made.registerTool("reports", { inputSchema: input }, async (_, { sendNotification, _meta, mcpReq }) => {
    const { progressToken } = mcpReq?._meta ?? _meta;
    const notify = mcpReq?.notify ?? sendNotification;
    for (const progress of [1, 2, 3]) await notify({ method: "notifications/progress", params: { progressToken, progress } });
    return text("done");
  });
  return made;
}

// An unknown name, a default that is absent, a text that holds JSON: what schemas change, the slip does not see.
const ARGS = { path: "{\"a\": 1}", surplus: true };
const slip = (tool, args = ARGS) => token(claims(tool, args));
const request = (id, params) => ({ jsonrpc: "2.0", id, method: "tools/call", params });
const HELLO = {
  jsonrpc: "2.0", id: 0, method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

function demandExecution(answer, tool, outcome, args = ARGS) {
  const { _meta, resultType, ...result } = answer.result;
  const statement = _meta["dev.counterfoil/execution"];
  assert.ok(holdsUnder(statement, EXECUTION_KEY.publicKey));
  const seed = fromBase64url("EIiJJtA4kt3i9xxgGwUUaA");
  const { payload } = statement;
  assert.equal(payload.tool, tool);
  assert.equal(payload.outcome, outcome);
  assert.equal(payload.args, commit(seed, "args", documentValue(args)));
  const value = boundValue(JSON.stringify(result));
  assert.equal(payload.result, value === "none:too_large" ? null : commit(seed, "result", value));
}

/** The lines of the SDK that a provider may stand on. */
const LINES = {
  "1.x": async (stdin, stdout, more) => {
    const made = server(McpServer, (shape) => shape);
    await made.connect(guarded(new StdioServerTransport(stdin, stdout), guard(more)));
    return () => made.close();
  },
  "2.x": async (stdin, stdout, more) => {
    const transport = guarded(new StdioOfTwo(stdin, stdout), guard(more));
    const served = serveStdio(() => server(McpServerOfTwo, z.object), { transport });
    return () => served.close();
  },
};

/** Speaks to a server over streams, as a gateway over a pipe. */
async function piped(line, more = {}) {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const close = await LINES[line](stdin, stdout, more);
  const waiting = new Map();
  const heard = [];
  let rest = "";
  stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const answer of lines.map((line) => JSON.parse(line))) {
      if (answer.method !== undefined) heard.push(answer);
      else waiting.get(answer.id)?.(answer);
    }
  });
  const ask = (message) => new Promise((resolve) => {
    waiting.set(message.id, resolve);
    stdin.write(`${JSON.stringify(message)}\n`);
  });
  await ask(HELLO);
  stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return { ask, heard, write: (text) => stdin.write(text), close };
}

for (const line of Object.keys(LINES)) test(`an MCP server (SDK ${line}) behind the guard runs what was admitted and signs it`, async () => {
  const { ask, heard, close } = await piped(line);
  const answer = await ask(request(1, call("plain", ARGS, slip("plain"))));
  assert.deepEqual(ran, [{ args: { path: ARGS.path, depth: 7 }, action: "act_019355a0c1007000800000000000b001" }]);
  demandExecution(answer, "plain", "EXECUTED");
  demandExecution(await ask(request(2, call("fails", ARGS, slip("fails")))), "fails", "FAILED");
  demandExecution(await ask(request(3, call("large", ARGS, slip("large")))), "large", "EXECUTED");
  demandExecution(await ask(request("four", call("binary", ARGS, slip("binary")))), "binary", "EXECUTED");
  const watched = call("reports", ARGS, slip("reports"));
  watched._meta.progressToken = "p";
  demandExecution(await ask(request(6, watched)), "reports", "EXECUTED");
  assert.deepEqual(heard.map(({ method, params }) => [method, params.progressToken, params.progress]), [1, 2, 3].map((step) => ["notifications/progress", "p", step]));
  assert.equal((await ask({ jsonrpc: "2.0", id: 5, method: "tools/list" })).result.tools.length, 6);
  await close();
});

for (const line of Object.keys(LINES)) test(`an MCP server (SDK ${line}) behind the guard never sees what was refused`, async () => {
  const { ask, write, close } = await piped(line);
  const used = call("plain", ARGS, slip("plain"));
  await ask(request(1, used));
  ran = [];
  const refused = {
    capability_used: used, capability_missing: call("plain", ARGS), capability_tool: call("plain", ARGS, slip("fails")),
    capability_arguments: call("plain", { ...ARGS, depth: 7 }, slip("plain")),
  };
  let id = 10;
  for (const [code, params] of Object.entries(refused)) {
    const { error } = await ask(request(id++, params));
    assert.equal(error.code, 4030);
    assert.equal(error.data.reason, code);
  }
  write(`${JSON.stringify({ jsonrpc: "2.0", method: "tools/call", params: call("plain", ARGS, slip("plain")) })}\n`);
  await ask({ jsonrpc: "2.0", id: 99, method: "ping" });
  assert.deepEqual(ran, []);
  await close();
});

for (const line of Object.keys(LINES)) test(`a cancelled call (SDK ${line}) leaves a statement that it was abandoned`, async () => {
  const signed = [];
  const { ask, write, close } = await piped(line, { onExecution: (statement) => signed.push(statement.payload.outcome) });
  const started = request(1, call("waits", ARGS, slip("waits")));
  write(`${JSON.stringify(started)}\n`);
  write(`${JSON.stringify({ ...started, params: call("plain", ARGS, slip("plain")) })}\n`);
  await ask({ jsonrpc: "2.0", id: 2, method: "ping" });
  await new Promise((resolve) => setTimeout(resolve, 50));
  write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n');
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual(signed, ["ABANDONED"]);
  assert.deepEqual(ran, [], "a call with the id of a running one is not run");
  await close();
});

test("a guard that fails lets nothing through, and says so", async () => {
  const { ask, close } = await piped("1.x", { onRefusal: () => { throw new Error("broken"); } });
  assert.equal((await ask(request(1, call("plain", ARGS)))).error.code, -32603);
  assert.deepEqual(ran, []);
  await close();
});

test("an answer leaves although nobody could sign for it", async () => {
  const warned = [];
  const listen = (warning) => warned.push(warning.message);
  process.on("warning", listen);
  const away = { kid: EXECUTION_KEY.kid, sign: () => { throw new Error("the key service is away"); } };
  const { ask, close } = await piped("1.x", { signer: away });
  const answer = await ask(request(1, call("plain", ARGS, slip("plain"))));
  assert.deepEqual(answer.result.structuredContent, { depth: 7 });
  assert.equal(answer.result._meta, undefined);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(warned.join(), /could not be signed: the key service is away/);
  process.off("warning", listen);
  await close();
});

async function listening(handler) {
  const http = createServer(handler);
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  const post = async (body, headers = {}) => {
    const answer = await fetch(`http://127.0.0.1:${http.address().port}/mcp`, {
      method: "POST", body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    });
    const text = await answer.text();
    const data = text.match(/^data: (.*)$/m)?.[1] ?? text;
    return { status: answer.status, body: data === "" ? null : JSON.parse(data) };
  };
  return { post, close: () => http.close() };
}

async function streamable(request, response, body, isJson) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: isJson });
  await server().connect(transport);
  await transport.handleRequest(request, response, body);
}

for (const isJson of [true, false]) {
  test(`an Express handler behind the guard, answering ${isJson ? "JSON" : "events"}`, async () => {
    const before = guardedExpress(guard());
    const { post, close } = await listening((request, response) => {
      before(request, response, (error) => (error ? response.writeHead(500).end() : streamable(request, response, request.body, isJson)));
    });
    const used = call("plain", ARGS, slip("plain"));
    demandExecution((await post(request(1, used))).body, "plain", "EXECUTED");
    assert.equal((await post(request(2, used))).body.error.data.reason, "capability_used");
    demandExecution((await post(request(3, call("plain", ARGS)), { "tool-capability": slip("plain") })).body, "plain", "EXECUTED");
    assert.equal((await post('{"a":1,"a":2}')).body.error.code, -32700);
    assert.equal((await post([request(4, call("plain", ARGS, slip("plain")))])).body.error.data.reason, "capability_batch");
    close();
  });
}

test("a fetch handler behind the guard", async () => {
  let seen = 0;
  const handler = async (incoming) => {
    const { id, params } = await incoming.json();
    seen += 1;
    return Response.json({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: params.name }] } });
  };
  const guardedHandler = guardedFetch(handler, guard());
  const post = async (body) => {
    const answer = await guardedHandler(new Request("http://127.0.0.1/mcp", { method: "POST", body: JSON.stringify(body) }));
    return answer.json();
  };
  const used = call("plain", ARGS, slip("plain"));
  demandExecution(await post(request(1, used)), "plain", "EXECUTED");
  assert.equal((await post(request(2, used))).error.data.reason, "capability_used");
  assert.equal((await post(request(3, call("plain", ARGS)))).error.data.reason, "capability_missing");
  const put = new Request("http://127.0.0.1/mcp", { method: "PUT", body: JSON.stringify(request(4, call("plain", ARGS))) });
  assert.equal((await (await guardedHandler(put)).json()).error.data.reason, "capability_missing");
  assert.equal(seen, 1);
});

test("the SDK's own fetch handler (2.x) behind the guard", async () => {
  const handler = createMcpHandler(() => server(McpServerOfTwo, z.object));
  const outer = guardedFetch((incoming) => handler.fetch(incoming), guard());
  const post = async (body) => {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const answer = await outer(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(body) }));
    const text = await answer.text();
    return JSON.parse(text.match(/^data: (.*)$/m)?.[1] ?? text);
  };
  const used = call("plain", ARGS, slip("plain"));
  demandExecution(await post(request(1, used)), "plain", "EXECUTED");
  assert.equal((await post(request(2, used))).error.data.reason, "capability_used");
  await handler.close?.();
});
