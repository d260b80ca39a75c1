// Clients that are not ours, one after another, each at every provider of a plan: npm @modelcontextprotocol/sdk (1.x) and
// npm @modelcontextprotocol/client (2.x) in each of its ways to find the revision.
//
// Reads {key, cells: [{provider, url, tool, arguments}]} and prints {client: {provider: {revision, tools, result} or {error}}}.
import * as one from "@modelcontextprotocol/sdk/client/index.js";
import * as oneHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as two from "@modelcontextprotocol/client";
import { readFileSync } from "node:fs";

const { key, cells } = JSON.parse(readFileSync(0, "utf8"));
const itself = { name: "foreign-node", version: "1.0.0" };
const second = (mode) => () => new two.Client(itself, { versionNegotiation: { mode } });
const clients = {
  "typescript sdk 1.x": { client: () => new one.Client(itself), Transport: oneHttp.StreamableHTTPClientTransport },
  "typescript client 2.x legacy": { client: second("legacy"), Transport: two.StreamableHTTPClientTransport },
  "typescript client 2.x auto": { client: second("auto"), Transport: two.StreamableHTTPClientTransport },
  "typescript client 2.x pinned": { client: second({ pin: "2026-07-28" }), Transport: two.StreamableHTTPClientTransport },
};

async function use({ client, Transport }, cell) {
  const transport = new Transport(new URL(cell.url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } });
  const session = client();
  try {
    await session.connect(transport);
    const { tools } = await session.listTools();
    const result = await session.callTool({ name: cell.tool, arguments: cell.arguments });
    const revision = session.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
    return { revision, tools: tools.map((tool) => tool.name), result };
  } catch (error) {
    return { error: String(error?.message ?? error) };
  } finally {
    await session.close();
  }
}

const said = {};
for (const [name, client] of Object.entries(clients)) {
  said[name] = {};
  for (const cell of cells) said[name][cell.provider] = await use(client, cell);
}
console.log(JSON.stringify(said));
