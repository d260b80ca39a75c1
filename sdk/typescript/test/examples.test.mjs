// C1: the example providers over HTTP run, admit a slip once, and refuse a call without one.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ISSUER, PROJECT, call, claims, gateway, token } from "./world.mjs";

const ARGS = { path: "/notes/a", text: "x" };
let world;
before(async () => { world = await gateway(); });
after(() => world.close());

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function post(port, params) {
  const answer = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const text = await answer.text();
  return JSON.parse(text.match(/^data: (.+)$/m)?.[1] ?? text);
}

for (const name of ["http-provider.mjs", "fetch-provider.mjs"]) {
  test(`${name} runs what was admitted and nothing else`, async () => {
    const port = await freePort();
    const env = {
      ...process.env, COUNTERFOIL_ISSUER: ISSUER, COUNTERFOIL_PROJECT: PROJECT, COUNTERFOIL_GATEWAY: world.address,
      NOTES_FOLDER: mkdtempSync(join(tmpdir(), "counterfoil-example-")),
    };
    const path = fileURLToPath(new URL(`../examples/${name}`, import.meta.url));
    const child = spawn(process.execPath, [path, String(port)], { env, stdio: ["ignore", "ignore", "inherit"] });
    try {
      const params = call("note_write", ARGS, token(claims("note_write", ARGS)));
      let first;
      for (let at = 0; at < 200 && !first; at += 1) {
        first = await post(port, params).catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
      }
      assert.equal(first.result.content[0].text, "wrote /notes/a");
      assert.equal((await post(port, params)).error.data.reason, "capability_used");
      assert.equal((await post(port, call("note_write", ARGS))).error.data.reason, "capability_missing");
    } finally {
      child.kill();
    }
  });
}
