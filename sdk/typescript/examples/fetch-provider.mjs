// The same provider as a fetch handler, on the SDK's 2.x line: node fetch-provider.mjs 8000
//
// Environment as in provider.mjs. Where a platform calls `fetch` itself, export `{ fetch: handler }` and leave out the server.
import { createServer } from "node:http";
import { join } from "node:path";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { Guard, fileStore } from "counterfoil-sdk/capability";
import { guardedFetch } from "counterfoil-sdk/servers/fetch";
import { z } from "zod";

const { COUNTERFOIL_ISSUER, COUNTERFOIL_PROJECT, COUNTERFOIL_GATEWAY, NOTES_FOLDER } = process.env;

const guard = new Guard({
  issuer: COUNTERFOIL_ISSUER,
  project: COUNTERFOIL_PROJECT,
  gateway: COUNTERFOIL_GATEWAY,
  provider: "notes",
  env: "live",
  store: fileStore(join(NOTES_FOLDER, "used")),
});

const mcp = createMcpHandler(() => {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  server.registerTool(
    "note_write",
    { description: "Writes a note", inputSchema: z.object({ path: z.string(), text: z.string() }) },
    ({ path }) => ({ content: [{ type: "text", text: `wrote ${path}` }] }),
  );
  return server;
});
const handler = guardedFetch((request) => mcp.fetch(request), guard);

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const { method, headers } = request;
  const hasBody = method !== "GET" && method !== "HEAD";
  const answer = await handler(new Request(`http://127.0.0.1${request.url}`, { method, headers, body: hasBody ? body : undefined }));
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
}).listen(Number(process.argv[2]), "127.0.0.1");
