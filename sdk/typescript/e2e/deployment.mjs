// A whole deployment with the example provider behind its gateway: `counterfoil init`, then `counterfoil dev`.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SigningKey } from "counterfoil-sdk/execution";

export const PROGRAM = process.env.COUNTERFOIL_PROGRAM ?? fileURLToPath(new URL("../../../target/debug/counterfoil", import.meta.url));
export const PROVIDER = [process.execPath, fileURLToPath(new URL("../examples/provider.mjs", import.meta.url))];

const REGISTRY = `v = 1
[provider.notes]
capability = true
[provider.notes.tool.note_write]
service = "notes"
verb = "update"
nouns = [{ type = "path", at = "/path" }]
operation = "write"
data_class = "operational"
destination = "internal"
magnitude = "single"
reversibility = "costly"
`;
const RULES = `@id("notes-write")
permit (principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/notes")
when { context.now < datetime("DEADLINE") };
`;

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function deploy(executionKey) {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-e2e-"));
  const [gateway, evidence, internal] = [await freePort(), await freePort(), await freePort()];
  const ports = ["--gateway-port", gateway, "--evidence-port", evidence, "--internal-port", internal].map(String);
  const place = ["--dir", join(folder, "deployment"), ...ports];
  const founded = JSON.parse(execFileSync(PROGRAM, ["init", "--json", ...place], { stdio: ["ignore", "pipe", "inherit"] }));

  const { kid, publicKey } = SigningKey.fromText(executionKey);
  writeFileSync(join(folder, "notes.jwk"), JSON.stringify({ kty: "OKP", crv: "Ed25519", x: publicKey.x }));
  const imported = ["keys", "provider", "import", "notes", "--dir", join(folder, "deployment"), "--file", join(folder, "notes.jwk"), "--fingerprint", kid];
  execFileSync(PROGRAM, imported, { stdio: ["ignore", "ignore", "inherit"] });

  const notes = join(folder, "notes");
  mkdirSync(notes);
  const env = {
    COUNTERFOIL_ISSUER: founded.issuer, COUNTERFOIL_PROJECT: founded.project, COUNTERFOIL_GATEWAY: `http://127.0.0.1:${gateway}`,
    NOTES_FOLDER: notes, NOTES_KEY: executionKey,
  };
  // What goes to the provider is kept, so that a test can say it again.
  const command = ["sh", "-c", 'tee -a "$NOTES_FOLDER/asked.jsonl" | exec "$@"', "provider", ...PROVIDER];
  const deadline = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, "");
  writeFileSync(join(folder, "registry.toml"), REGISTRY);
  writeFileSync(join(folder, "rules.cedar"), RULES.replace("DEADLINE", deadline));
  const members = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`).join(", ");
  writeFileSync(join(folder, "counterfoil.toml"),
    `registry = "registry.toml"\nrules = "rules.cedar"\n[provider.notes]\ncommand = ${JSON.stringify(command)}\nenv = { ${members} }\n`);

  // Nobody answers here, so nobody waits.
  const patience = { ...process.env, COUNTERFOIL_HOLD_WAIT_MS: "0" };
  const dev = ["dev", "--config", join(folder, "counterfoil.toml"), ...place];
  const child = spawn(PROGRAM, dev, { env: patience, stdio: ["ignore", "ignore", "inherit"] });
  await until(() => fetch(`${env.COUNTERFOIL_GATEWAY}/readyz`).then((answer) => answer.ok), child);
  return {
    ...founded, env, gateway: env.COUNTERFOIL_GATEWAY, evidence: `http://127.0.0.1:${evidence}`,
    page: founded.issuer.slice(founded.issuer.indexOf("/p/")),
    lines: (name) => (existsSync(join(notes, name)) ? readFileSync(join(notes, name), "utf8").trim().split("\n").map((line) => JSON.parse(line)) : []),
    async stop() {
      child.kill("SIGTERM");
      await new Promise((resolve) => child.on("exit", resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function until(ready, child) {
  for (const ends = Date.now() + 40_000; Date.now() < ends;) {
    if (child.exitCode !== null) throw new Error(`counterfoil dev ended with ${child.exitCode}`);
    if (await ready().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the gateway is not ready");
}
