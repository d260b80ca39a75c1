// Writes verify.js and verify.html out of parts/ and of what the TypeScript SDK was compiled to.
//
//     make.mjs            writes both files
//     make.mjs --check    says which of them is not what it would write; exit 1 if one is not
//
// One file each, because a reader of verify.html should have to compare one digest, and a page should load one script. Every
// module keeps its own scope; what it imports and exports is all that is rewritten. Anything that this cannot read stops it.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = resolve(HERE, "../..");
const SDK = resolve(ROOT, "sdk/typescript");
const IMPORT = /^import \{ (.+) \} from "(\..+)";$/;
const EXPORT = /^export (?:async )?(?:function\*?|class|const|let) ([A-Za-z_$][\w$]*)/;

const read = (path) => readFileSync(path, "utf8");

/** A page has no files: the one module that reads one is replaced by what stands there. */
function sourceOf(path) {
  if (path === resolve(SDK, "dist/format/published.js")) {
    const shapes = JSON.stringify(JSON.parse(read(resolve(SDK, "formats/statements.json"))));
    return `/** The published shapes: docs/formats/examples/statements.json. */\nexport const PUBLISHED = ${shapes};\n`;
  }
  return read(path);
}

const nameOf = (path) => relative(ROOT, path).replace("sdk/typescript/dist/", "").replace(/\.m?js$/, "").replace(/[^A-Za-z0-9]/g, "_");
const shownAs = (path) => relative(ROOT, path).replace("/dist/", "/src/").replace(/\.js$/, ".ts");

function moduleOf(path) {
  const needs = [];
  const names = [];
  const lines = sourceOf(path).split("\n").map((line) => {
    const [, imported, from] = IMPORT.exec(line) ?? [];
    if (imported) {
      const other = resolve(dirname(path), from);
      needs.push(other);
      return `const { ${imported.replaceAll(" as ", ": ")} } = ${nameOf(other)};`;
    }
    const [, name] = EXPORT.exec(line) ?? [];
    if (name) names.push(name);
    // A module of types alone is compiled to this.
    if (line === "export {};") return "";
    if (!name && /^(import|export)\b/.test(line)) throw new Error(`${path}: cannot read \`${line}\``);
    return line.replace(/^export /, "");
  });
  return { needs, text: `// ${shownAs(path)}\nconst ${nameOf(path)} = (() => {\n${lines.join("\n").trim()}\nreturn { ${names.join(", ")} };\n})();\n` };
}

function bundled(entry) {
  const texts = [];
  const state = new Map();
  const visit = (path) => {
    if (state.get(path) === "open") throw new Error(`${path} imports itself in a circle`);
    if (state.has(path)) return;
    state.set(path, "open");
    const { needs, text } = moduleOf(path);
    needs.forEach(visit);
    texts.push(text);
    state.set(path, "done");
  };
  visit(resolve(HERE, entry));
  return `"use strict";\n(() => {\n${texts.join("\n")}})();\n`;
}

const GENERATED = `Written by evidence-service/web/make.mjs from sdk/typescript/src and evidence-service/web/parts: change those.
Long because it is one file on purpose: nothing else has to be fetched, and one digest says that it is this one.
Licensed under the Apache License, Version 2.0.`;

function script() {
  return `/*\nVerifies the record behind an evidence page, in the page. ${GENERATED}\n*/\n${bundled("parts/record.mjs")}`;
}

function page() {
  const [style, code] = [read(resolve(HERE, "parts/package.css")), bundled("parts/package.mjs")];
  if (/<\/script|<!--/i.test(code)) throw new Error("the script would end early inside the page");
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`;
  const parts = { generated: GENERATED, policy, style, script: code };
  return read(resolve(HERE, "parts/package.html")).replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
}

let stale = 0;
for (const [name, text] of [["verify.js", script()], ["verify.html", page()]]) {
  const path = resolve(HERE, name);
  if (!process.argv.includes("--check")) {
    writeFileSync(path, text);
  } else if (read(path) !== text) {
    console.error(`${name} is not what its parts give: run \`node evidence-service/web/make.mjs\` after \`npm run build\` in sdk/typescript`);
    stale += 1;
  }
}
process.exitCode = stale > 0 ? 1 : 0;
