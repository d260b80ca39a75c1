// The same provider over HTTP, guarded on the bytes of its requests: node http-provider.mjs 8000
//
// Environment as in provider.mjs. With Express it is `app.post("/mcp", guardedExpress(guard), handler)`.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { Guard, fileStore } from "counterfoil-sdk/capability";
import { guardedExpress } from "counterfoil-sdk/servers/express";
import { z } from "zod";

const { COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT, COUNTERFOIL_GATEWAY, NOTES_FOLDER } = process.env;

const guard = guardedExpress(new Guard({
  issuer: COUNTERFOIL_ISSUER,
  project: COUNTERFOIL_PROJECT,
  gateway: COUNTERFOIL_GATEWAY,
  provider: "notes",
  env: "live",
  store: fileStore(join(NOTES_FOLDER, "used")),
}));

async function handle(request, response) {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool(
    "note_write",
    { description: "Writes a note", inputSchema: { path: z.string(), text: z.string() } },
    ({ path, text }) => {
      appendFileSync(join(NOTES_FOLDER, "notes.jsonl"), `${JSON.stringify({ path, text })}\n`);
      return { content: [{ type: "text", text: `wrote ${path}` }] };
    },
  );
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
}

createServer((request, response) => {
  guard(request, response, (error) => (error ? response.writeHead(500).end() : handle(request, response)));
}).listen(Number(process.argv[2]), "127.0.0.1");
