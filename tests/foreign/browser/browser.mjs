// A Chromium of this machine, and what every test of a page asks of it.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
// Chromium starts no sandbox of its own as root, and asks its maker for nothing here.
const ARGUMENTS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync",
];
/** The ways in which a page is looked at. */
export const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1200, height: 900 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1200, height: 900 } },
  { name: "360 px", colorScheme: "light", viewport: { width: 360, height: 740 } },
  { name: "360 px, dark", colorScheme: "dark", viewport: { width: 360, height: 740 } },
];

export function launch() {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path));
  assert.ok(executablePath, "no Chromium: install chromium, or set CHROMIUM to its program");
  return chromium.launch({ executablePath, args: ARGUMENTS });
}

/** A page that fails the test if a script of it throws or its policy forbids something. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({ viewport: LOOKS[0].viewport, ...options });
  const page = await context.newPage();
  page.complaints = [];
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("console", (message) => { if (message.type() === "error") page.complaints.push(message.text()); });
  return page;
}

/** axe-core finds nothing, and nothing sticks out sideways. */
export async function isAccessible(page, look) {
  await page.emulateMedia({ colorScheme: look.colorScheme });
  await page.setViewportSize(look.viewport);
  // As the page's own script would run: its policy lets in nothing else, so axe comes in beside it.
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
  const violations = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html.slice(0, 120)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  assert.deepEqual(violations, [], `${look.name}: axe-core`);
  assert.ok(found.passes.length > 0, "axe-core looked at nothing");
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(wide <= room, `${look.name}: ${wide} px wide, and there are ${room}`);
}

/** What a printer gets: dark ink on white, nothing to click, nothing cut off. */
export async function isPrintable(page, { hidden }) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const shown = await page.evaluate((selectors) => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    const visible = selectors.filter((selector) => [...document.querySelectorAll(selector)].some((one) => one.checkVisibility()));
    return { backgroundColor, color, visible };
  }, hidden);
  await page.emulateMedia({ media: "screen" });
  assert.deepEqual(shown.visible, [], "what cannot be clicked on paper is not on it");
  const brightness = (color) => color.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
  assert.ok(brightness(shown.backgroundColor) > 700 && brightness(shown.color) < 200, `${shown.color} on ${shown.backgroundColor}`);
}
