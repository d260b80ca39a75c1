// A provider that executes nothing without a fresh capability: an MCP server over standard input and output.
//
//     COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT   as `counterfoil init` printed them
//     COUNTERFOIL_GATEWAY                       where the gateway is reached
//     NOTES_FOLDER                              where notes, used capabilities and our own statements are kept
//     NOTES_KEY                                 our execution key, 32 bytes; without one nothing is signed
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { Guard, current, fileStore } from "counterfoil-sdk/capability";
import { SigningKey } from "counterfoil-sdk/execution";
import { guarded } from "counterfoil-sdk/servers/mcp";
import { z } from "zod";

const { COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT, COUNTERFOIL_GATEWAY, NOTES_FOLDER, NOTES_KEY } = process.env;
const append = (name, value) => appendFileSync(join(NOTES_FOLDER, name), `${JSON.stringify(value)}\n`);

const server = new McpServer({ name: "notes", version: "1.0.0" });
server.registerTool(
  "note_write",
  { description: "Writes a note", inputSchema: { path: z.string(), text: z.string(), copies: z.number().default(1) } },
  ({ path, text, copies }) => {
    append("notes.jsonl", { path, text, copies, action: current().claims.txn });
    return { content: [{ type: "text", text: `wrote ${path}` }] };
  },
);

const guard = new Guard({
  issuer: COUNTERFOIL_ISSUER,
  project: COUNTERFOIL_PROJECT,
  gateway: COUNTERFOIL_GATEWAY,
  provider: "notes",
  env: "live",
  store: fileStore(join(NOTES_FOLDER, "used")),
  signer: NOTES_KEY ? SigningKey.fromEnvironment("NOTES_KEY") : undefined,
  onExecution: (statement) => append("executions.jsonl", statement),
});
await server.connect(guarded(new StdioServerTransport(), guard));
