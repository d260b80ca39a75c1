// An MCP client that is not ours: npm @modelcontextprotocol/sdk, as agent hosts use it.
//
// Reads {url, key, calls: {name: {tool, arguments, full}}} and prints {revision, tools, answers: {name: result or error}}.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(0, "utf8"));
const transport = new StreamableHTTPClientTransport(new URL(plan.url), {
  requestInit: { headers: { Authorization: `Bearer ${plan.key}` } },
});
const client = new Client({ name: "foreign-node", version: "1.0.0" });
await client.connect(transport);

const { tools } = await client.listTools();
const answers = {};
for (const [name, call] of Object.entries(plan.calls)) {
  const _meta = call.full ? { "dev.counterfoil/want": "full" } : undefined;
  try {
    answers[name] = { result: await client.callTool({ name: call.tool, arguments: call.arguments, _meta }) };
  } catch (error) {
    answers[name] = { error: { code: error.code, message: error.message, data: error.data } };
  }
}
console.log(JSON.stringify({ revision: transport.protocolVersion, tools: tools.map((tool) => tool.name), answers }));
await client.close();
