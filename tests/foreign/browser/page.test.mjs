// P1, P2, P4, P10: the page of a running deployment, in a real browser: it verifies itself, a changed byte turns it red, and axe-core
// finds nothing on it or on the page of one call.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { KeySet, verifyPackage } from "../../../sdk/typescript/dist/verify.js";
import { PROGRAM, deploy } from "../../../sdk/typescript/e2e/deployment.mjs";
import { LOOKS, isAccessible, isPrintable, launch, open } from "./browser.mjs";

const SEED = "21".repeat(32);
let world;
let browser;
let address;
let session;

async function ask(id, method, params) {
  const answer = await fetch(`${world.gateway}/mcp/notes`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${world.api_key}`, "content-type": "application/json", accept: "application/json, text/event-stream",
      ...(session ? { "mcp-session-id": session } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  session ??= answer.headers.get("mcp-session-id");
  return answer.text();
}

const call = (path) => ask(1, "tools/call", { name: "note_write", arguments: { path, text: "x" } });

before(async () => {
  [browser, world] = await Promise.all([launch(), deploy(SEED)]);
  address = world.evidence + world.page;
  await ask(0, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "browser", version: "1" } });
  await call("/notes/a.txt");
  await call("/elsewhere/b.txt");
  await call("/notes/c.txt");
});
after(async () => {
  await browser?.close();
  await world?.stop();
});

async function verified(page) {
  await page.goto(address);
  await page.click("#verify button");
  await page.waitForSelector("#verify[data-verdict]", { timeout: 30_000 });
  return { verdict: await page.getAttribute("#verify", "data-verdict"), text: await page.innerText("#verify") };
}

test("the page verifies itself, and its policy forbids nothing that it needs", async () => {
  const page = await open(browser);
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "verified", text);
  const size = Number(/of ([\d,]+) entries/.exec(text)[1]);
  assert.ok(size >= 10, text);
  assert.match(text, /receipts, each under the same root\s+[1-9]/);
  assert.match(text, /came from the same server/);
  assert.deepEqual(page.complaints, []);

  await call("/notes/d.txt");
  const again = await verified(page);
  assert.equal(again.verdict, "verified", again.text);
  assert.match(again.text, new RegExp(`continues the checkpoint that this browser kept\\s+${size} entries`));
});

const TAMPERED = {
  "a receipt": [/\/receipts\/\d+$/, (text) => text.replace(/"sig":"(.)/, flipped), /receipts\/\d+: signature/],
  "a statement": [/\/entries\.json/, (text) => text.replace(/"nonce":"(.)/, flipped), /entry \d+: signature of the statement does not hold/],
  "an entry": [/\/entries\.json/, (text) => text.replace(/"prev":"sha256:(.)/, flipped), /entry 0:/],
  "the checkpoint": [/\/checkpoint$/, (text) => text.replace(/\n(.)(?=[^\n]{43}\n\n)/, flipped), /checkpoint: signature/],
  "the key set": [/\/jwks\.json$/, (text) => text.replace(/"kid":"(.)/, flipped), /jwks\.json:/],
  "a verdict on the page itself": [/\/p\/[^/]+$/, (text) => text.replace(">ALLOW<", ">DENY<"), /the page shows entry \d+ with the verdict DENY; what was signed says ALLOW/],
};

function flipped(whole, letter) {
  return whole.slice(0, -1) + (letter === "a" ? "b" : "a");
}

for (const [what, [path, change, named]] of Object.entries(TAMPERED)) {
  test(`${what}, changed on the way, turns it red and is named`, async () => {
    const page = await open(browser);
    await page.route((url) => path.test(url.pathname), async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: change(await answer.text()) });
    });
    const { verdict, text } = await verified(page);
    assert.equal(verdict, "failed", text);
    assert.match(text, /BROKEN/);
    assert.match(text, named);
    if (what === "a receipt") await isAccessible(page, LOOKS[1]);
    await page.context().close();
  });
}

test("a record that got shorter since the last visit turns it red, with both notes", async () => {
  const page = await open(browser);
  const old = await (await fetch(`${address}/checkpoint`)).text();
  await call("/notes/e.txt");
  // The newest entry is published within two seconds.
  for (let ends = Date.now() + 10_000; (await (await fetch(`${address}/checkpoint`)).text()) === old;) assert.ok(Date.now() < ends, "no newer checkpoint");
  assert.equal((await verified(page)).verdict, "verified");
  await page.route((url) => url.pathname.endsWith("/checkpoint"), (route) => route.fulfill({ body: old }));
  const { verdict, text } = await verified(page);
  assert.equal(verdict, "failed");
  assert.match(text, /SHORTENED the record had \d+ entries/);
  assert.equal(await page.locator("#verify pre").count(), 2);
});

for (const look of LOOKS) {
  test(`axe-core finds nothing on the page and on that of one call: ${look.name}`, async () => {
    const page = await open(browser);
    await verified(page);
    await isAccessible(page, look);
    const action = await page.locator('a[href*="/a/act_"]').first().getAttribute("href");
    await page.goto(world.evidence + action);
    await isAccessible(page, look);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });
}

test("the page prints", async () => {
  const page = await open(browser);
  await verified(page);
  await isPrintable(page, { hidden: ["button", "nav", ".skip"] });
});

test("the page works without scripts, and says what is missing", async () => {
  const page = await open(browser, { javaScriptEnabled: false });
  await page.goto(address);
  assert.match(await page.innerText("#verify"), /Scripts are off/);
  assert.equal(await page.locator("#verify button").count(), 0);
});

/** Each call, each finding and each key, as the three verifiers name them. */
function told(report) {
  const isOurs = !Array.isArray(report.calls);
  const calls = isOurs ? Object.entries(report.calls).map(([row, count]) => `${row} ${count}`) : report.calls.map(({ account, status, count }) => `${account} ${status} ${count}`);
  return {
    answer: isOurs ? report.verdict.answer : report.outcome, first: report.first, size: report.size, root: report.root,
    bodies: [report.verified, report.withheld, report.erased], calls: calls.sort(), findings: report.findings,
    providers: report.providers.map(({ provider }) => provider).sort(), unchecked: (report.notChecked ?? report.not_checked).toSorted(),
  };
}

test("packages of this deployment are worth the same to the program, to the SDK and to verify.html", async () => {
  const folder = mkdtempSync(join(tmpdir(), "counterfoil-packages-"));
  const trust = join(folder, "jwks.json");
  writeFileSync(trust, await (await fetch(`${address}/jwks.json`)).text());
  const page = await open(browser);
  await page.goto(`${world.evidence}/assets/verify.html`);
  await page.context().setOffline(true);
  for (const [name, words] of [["whole", []], ["public", ["--public"]], ["later", ["--from", "8"]]]) {
    const zip = join(folder, `${name}.zip`);
    const env = { ...process.env, COUNTERFOIL_KEY: world.api_key };
    execFileSync(PROGRAM, ["package", zip, "--evidence", world.evidence, ...words], { env, stdio: ["ignore", "ignore", "inherit"] });

    const program = spawnSync(PROGRAM, ["verify", zip, "--trust", trust, "--json"], { encoding: "utf8" });
    const report = await verifyPackage(readFileSync(zip), { pinned: KeySet.parse(readFileSync(trust)) });
    assert.deepEqual(told(report), told(JSON.parse(program.stdout)), name);
    assert.deepEqual([report.verdict.answer, report.exitCode], ["UNANCHORED", program.status], report.verdict.why);

    await page.click("#clear");
    await page.setInputFiles("#files", [zip, trust]);
    await page.waitForSelector("#verdict[data-answer]");
    const text = await page.innerText("#verdict");
    assert.equal(await page.getAttribute("#verdict", "data-answer"), "UNANCHORED", text);
    assert.ok(text.includes(report.root) && text.includes(`${report.first} to ${report.size - 1}`), text);
  }
  rmSync(folder, { recursive: true });
});

test("verify.html is served whole, and runs", async () => {
  const page = await open(browser);
  await page.goto(`${world.evidence}/assets/verify.html`);
  await page.click("#clear");
  assert.match(await page.innerText("#verdict"), /no package yet/);
  assert.deepEqual(page.complaints, []);
});
