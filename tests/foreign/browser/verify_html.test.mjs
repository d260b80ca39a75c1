// P1, P2, P7: verify.html in a real browser without a network: every published package comes out as it says.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { filesOf, zipped } from "../../../sdk/typescript/test/zipped.mjs";
import { LOOKS, isAccessible, isPrintable, launch, open } from "./browser.mjs";

const PAGE = new URL("../../../evidence-service/web/verify.html", import.meta.url);
const VECTORS = new URL("../../../docs/vectors/", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, VECTORS), "utf8"));
// The page has no registry, so whether a statement was owed is said to be unknown.
const OWED = {
  "execution_missing_and_omitted.json": "UNANCHORED",
  "observation_before_its_decision.json": "UNANCHORED",
};
const WORDS = { UNANCHORED: 10, INCOMPLETE: 20, OMITTED: 21, FORKED: 30, BROKEN: 40, UNPINNED: 50 };

let browser;
let page;
const asked = [];

before(async () => {
  browser = await launch();
  page = await open(browser);
  await page.goto(PAGE.href);
  page.on("request", (request) => asked.push(request.url()));
  await page.context().setOffline(true);
});
after(() => browser?.close());

const file = (name, buffer) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(buffer) });
const given = ({ jwks, since }) => [file("jwks.json", JSON.stringify(jwks)), ...(since ? [file("my.checkpoint", since)] : [])];

/** What the page says about these files. */
async function judged(files) {
  await page.click("#clear");
  await page.setInputFiles("#files", files);
  await page.waitForSelector("#verdict[data-answer]", { timeout: 20_000 });
  return { answer: await page.getAttribute("#verdict", "data-answer"), text: await page.innerText("#verdict"), tone: await page.getAttribute("#verdict", "class") };
}

const packed = (kase) => file("package.zip", zipped(filesOf(kase)));

for (const name of readdirSync(new URL("packages/", VECTORS)).filter((name) => name.endsWith(".json"))) {
  test(`the published package ${name} comes out as it says`, async () => {
    const kase = read(`packages/${name}`);
    const { answer, text, tone } = await judged([packed(kase), ...given(kase)]);
    const wanted = OWED[name] ?? kase.answer;
    assert.equal(answer, wanted, text);
    assert.match(text, new RegExp(`exit code ${WORDS[wanted]}\\b`));
    assert.equal(tone, wanted === "UNANCHORED" ? "ok" : "bad");
    assert.match(text, /not checked/i);
    if (OWED[name]) assert.match(text, /no registry was given/);
    if (wanted === "FORKED") assert.equal(await page.locator("#verdict pre").count(), 2);
  });
}

test("a package is dropped, and its counts are shown", async () => {
  const kase = read("packages/honest.json");
  await page.click("#clear");
  const files = [packed(kase), ...given(kase)].map(({ name, buffer }) => [name, buffer.toString("base64")]);
  const dropped = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
    return transfer;
  }, files);
  await page.dispatchEvent("#drop", "drop", { dataTransfer: dropped });
  await page.waitForSelector("#verdict[data-answer=UNANCHORED]");
  const text = await page.innerText("#verdict");
  for (const part of ["0 to 9", "pinned by you", "calls, governed matched", "only the log operator vouches"]) assert.ok(text.includes(part), text);
  assert.match(await page.innerText("#taken"), /package\.zip: the package/);
});

test("a receipt that the holder kept must stand in the package", async () => {
  const kase = read("packages/honest.json");
  const { receipt } = read("receipts/decision.json");
  const { answer } = await judged([packed(kase), ...given(kase), file("receipt.json", JSON.stringify(receipt))]);
  assert.ok(["FORKED", "INCOMPLETE"].includes(answer), answer);
});

test("without pinned keys, with two packages, or with something that is no package, nothing is verified", async () => {
  const kase = read("packages/honest.json");
  const damaged = [
    [[packed(kase)], /Drop the key set that you pinned/],
    [[packed(kase), packed(kase), ...given(kase)], /2 files of which one is wanted/],
    [[packed(kase), file("jwks.json", '{"iss":"https://gw.example/p/7-k3m9q2v8","keys":[{}]}')], /KeyError/],
  ];
  for (const [files, why] of damaged) {
    const { answer, text, tone } = await judged(files);
    assert.deepEqual([answer, tone], ["NOT VERIFIED", "bad"]);
    assert.match(text, why);
  }
});

test("a zip file that could be read in two ways is broken", async () => {
  const kase = read("packages/honest.json");
  const behind = Buffer.concat([Buffer.from([3, 0]), Buffer.from("more")]);
  const damaged = [
    [Buffer.concat([zipped(filesOf(kase)), Buffer.from("x")]), /does not end as a zip file/],
    [zipped([...filesOf(kase), filesOf(kase)[0]]), /stands twice/],
    [zipped([["tombstones", Buffer.alloc(0), { data: behind }]]), /does not unpack/],
  ];
  for (const [zip, why] of damaged) {
    const { answer, text } = await judged([file("package.zip", zip), ...given(kase)]);
    assert.equal(answer, "BROKEN");
    assert.match(text, why);
  }
});

test("what a package says is text, whatever it says", async () => {
  const kase = read("packages/honest.json");
  const evil = '<img src=x onerror="document.title=1">';
  const { text } = await judged([packed({ ...kase, files: { ...kase.files, "jwks.json": { text: JSON.stringify({ iss: evil, keys: [] }) } } }), ...given(kase), file(evil, "?")]);
  assert.match(text, /BROKEN/);
  assert.equal(await page.locator("img").count(), 0);
  assert.ok((await page.innerText("#taken")).includes(evil));
});

test("a browser without Ed25519 says that nothing was checked", async () => {
  const other = await open(browser);
  await other.addInitScript(() => { SubtleCrypto.prototype.importKey = () => Promise.reject(new DOMException("no", "NotSupportedError")); });
  await other.goto(PAGE.href);
  const kase = read("packages/honest.json");
  await other.setInputFiles("#files", [packed(kase), ...given(kase)]);
  await other.waitForSelector("#verdict[data-answer]");
  assert.match(await other.innerText("#verdict"), /NOT VERIFIED[\s\S]*no Ed25519/);
  await other.context().close();
});

test("a browser that takes any signature is found out", async () => {
  const other = await open(browser);
  await other.addInitScript(() => { SubtleCrypto.prototype.verify = async () => true; });
  await other.goto(PAGE.href);
  const kase = read("packages/honest.json");
  await other.setInputFiles("#files", [packed(kase), ...given(kase)]);
  await other.waitForSelector("#verdict[data-answer='NOT VERIFIED']");
  await other.context().close();
});

for (const look of LOOKS) {
  test(`axe-core finds nothing on it: ${look.name}`, async () => {
    for (const name of ["honest.json", "forked.json"]) {
      const kase = read(`packages/${name}`);
      await judged([packed(kase), ...given(kase)]);
      await isAccessible(page, look);
    }
  });
}

test("it prints", () => isPrintable(page, { hidden: ["button", "#files"] }));

test("it asked nobody for anything, and its own policy forbids it to", async () => {
  assert.deepEqual(asked, []);
  assert.deepEqual(page.complaints, []);
  const other = await open(browser);
  await other.goto(PAGE.href);
  const refused = await other.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "sent", (error) => String(error)));
  assert.match(refused, /TypeError/);
  assert.ok(other.complaints.some((text) => text.includes("Content Security Policy")), other.complaints.join());
  await other.context().close();
});

test("the policy names the script and the style by their hashes, and there is no other", () => {
  const text = readFileSync(PAGE, "utf8");
  const hash = (part) => `'sha256-${createHash("sha256").update(part).digest("base64")}'`;
  const [, style] = /<style>([\s\S]*?)<\/style>/.exec(text);
  const [, script] = /<script>([\s\S]*?)<\/script>/.exec(text);
  assert.ok(text.includes(`content="default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'"`));
  assert.equal(text.match(/<script/g).length, 1);
  assert.doesNotMatch(text, /\b(src|href)="/);
});
