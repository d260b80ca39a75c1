// P1, P2, P4, P7: "Verify in this page", in a real browser, on a record that grows, shrinks, forks and is changed on the way.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Ledger } from "../../../sdk/typescript/test/ledger.mjs";
import { ISSUER, PAGE } from "../../../sdk/typescript/test/world.mjs";
import { LOOKS, isAccessible, launch, open } from "./browser.mjs";

const SCRIPT = readFileSync(new URL("../../../evidence-service/web/verify.js", import.meta.url));
const STYLE = readFileSync(new URL("../../../evidence-service/web/parts/package.css", import.meta.url));
const POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

let server;
let origin;
let browser;
/** What is served now, and how an answer is changed on its way. */
let ledger;
let change = (_, bytes) => bytes;
/** What the page says otherwise than the record. */
let shown = {};

const html = () => `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A record</title><link rel="stylesheet" href="/style.css"><script src="/assets/verify.js" defer></script></head>
<body><main><h1>A record</h1><table><thead><tr><th scope="col">entry</th><th scope="col">time</th><th scope="col">kind</th><th scope="col">verdict</th></tr></thead>
<tbody>${ledger.receipts.slice(-3).map(({ entry }) => `<tr><th scope="row"><a href="${PAGE}/receipts/${entry.seq}">${entry.seq}</a></th><td><code>${shown.at ?? entry.at}</code></td><td>${shown.kind ?? entry.kind}</td><td><span class="tag">${shown.verdict ?? "ALLOW"}</span></td></tr>`).join("")}</tbody></table>
<div id="verify" data-entries="${PAGE}/entries.json" data-checkpoint="${PAGE}/checkpoint" data-jwks="${PAGE}/jwks.json" data-iss="${ISSUER}"></div></main></body></html>`;

async function answer(path) {
  if (path === PAGE) return [html(), "text/html; charset=utf-8"];
  if (path === "/assets/verify.js") return [SCRIPT, "text/javascript; charset=utf-8"];
  if (path === "/style.css") return [STYLE, "text/css"];
  if (path === "/favicon.ico") return ["", "image/x-icon"];
  const below = path.slice(PAGE.length + 1);
  return [change(below, await ledger.fetch(below)), "application/octet-stream"];
}

async function grown(count, into = new Ledger()) {
  for (let at = 0; at < count; at += 1) await into.append();
  return into;
}

before(async () => {
  browser = await launch();
  server = createServer((request, response) => {
    answer(request.url).then(
      ([body, type]) => response.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${server.address().port}`;
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** A browser that has never been here. */
async function newcomer() {
  change = (_, bytes) => bytes;
  shown = {};
  return open(browser);
}

async function verified(page) {
  await page.goto(origin + PAGE);
  await page.click("text=Verify in this page");
  await page.waitForSelector("#verify[data-verdict]", { timeout: 20_000 });
  return { verdict: await page.getAttribute("#verify", "data-verdict"), text: await page.innerText("#verify") };
}

test("an honest record turns green, with counts and with what was not checked", async () => {
  ledger = await grown(12);
  const page = await newcomer();
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "verified", text);
  for (const part of ["Verified", "12 entries", "seen no earlier checkpoint", "came from the same server", "everybody else"]) assert.ok(text.includes(part), text);
  assert.deepEqual(page.complaints, []);
  for (const look of LOOKS) await isAccessible(page, look);
});

test("the next visit proves that the record continues; a shorter and another one turn red with both notes", async () => {
  ledger = await grown(5);
  const page = await newcomer();
  await verified(page);
  await grown(4, ledger);
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "verified");
  assert.match(text, /continues the checkpoint that this browser kept\s+5 entries/);

  for (const [size, word] of [[7, "SHORTENED"], [9, "FORKED"], [11, "FORKED"]]) {
    ledger = await grown(size);
    const found = await verified(page);
    assert.equal(found.verdict, "failed", found.text);
    assert.ok(found.text.includes(word), found.text);
    assert.equal(await page.locator("#verify pre").count(), 2);
    await isAccessible(page, LOOKS[1]);
  }
});

// What is changed, by one character, and what must be named.
const TAMPERED = [
  ["jwks.json", /"kid":"(.)/, "jwks.json:"],
  ["checkpoint", /\n([A-Za-z0-9+/])[^\n]{43}\n\n/, "checkpoint:"],
  ["entries.json", /"prev":"sha256:(.)/, "entry 0:"],
  ["entries.json", /"sig":"(.)/, "entry 0: signature"],
  ["receipts/11", /"sig":"(.)/, "receipts/11: signature"],
  ["receipts/11", /"nonce":"(.)/, "receipts/11: signature"],
];
for (const [path, where, named] of TAMPERED) {
  test(`one changed character in ${path} (${where.source}) turns it red, and ${named} is named`, async () => {
    ledger = await grown(12);
    const page = await newcomer();
    change = (asked, bytes) => {
      if (!asked.startsWith(path)) return bytes;
      const text = bytes.toString();
      const { index, 0: whole, 1: letter } = where.exec(text);
      const at = index + whole.indexOf(letter, whole.indexOf(":") < 0 ? 1 : whole.lastIndexOf('"') > 0 ? whole.length - 1 : 1);
      return text.slice(0, at) + (letter === "a" ? "b" : "a") + text.slice(at + 1);
    };
    const { verdict, text } = await verified(page);
    assert.equal(verdict, "failed", text);
    assert.ok(text.includes("BROKEN") && text.includes(named), text);
  });
}

for (const [what, said] of Object.entries({ verdict: "DENY", time: "2026-01-01T00:00:00.000Z", kind: "observation" })) {
  test(`a page that shows another ${what} than what was signed turns red`, async () => {
    ledger = await grown(4);
    const page = await newcomer();
    shown = { [what === "time" ? "at" : what]: said };
    const { verdict, text } = await verified(page);
    assert.equal(verdict, "failed", text);
    assert.ok(text.includes(`entry 1 with the ${what} ${said}`), text);
  });
}

test("a server that stops answering is not verified", async () => {
  ledger = await grown(3);
  const page = await newcomer();
  change = (path, bytes) => { if (path.startsWith("receipts")) throw new Error("gone"); return bytes; };
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "failed");
  assert.match(text, /UNREACHABLE receipts\/0: the server answers 404/);
});

test("a browser without Ed25519 says that nothing was checked", async () => {
  ledger = await grown(3);
  const page = await newcomer();
  await page.addInitScript(() => { SubtleCrypto.prototype.importKey = () => Promise.reject(new DOMException("no", "NotSupportedError")); });
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "unable");
  assert.match(text, /NOT VERIFIED[\s\S]*no Ed25519/);
});

test("storage that somebody damaged is said, not passed over", async () => {
  ledger = await grown(3);
  const page = await newcomer();
  await verified(page);
  for (const [from, to, why] of [["\\n3\\n", "\\n2\\n", "not signed by the key that it kept"], ["{", "", "does not read"]]) {
    await page.evaluate(([from, to]) => { for (const name of Object.keys(localStorage)) localStorage.setItem(name, localStorage.getItem(name).replace(from, to)); }, [from, to]);
    const { verdict, text } = await verified(page);
    assert.equal(verdict, "failed", text);
    assert.ok(text.includes(`what this browser kept`) && text.includes(why), text);
  }
});
