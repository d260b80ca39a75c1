// "Verify in this page": what stands behind an evidence page, recomputed from the bytes that the server serves.
//
// The page has <div id="verify" data-iss="https://…" data-checkpoint="/p/<name>/checkpoint">; this adds a button and says there
// what was checked. What is kept between visits lies in this browser's local storage, under the issuer.
import { canVerify, later } from "../../../sdk/typescript/dist/format/later.js";
import { MOST_ENTRIES, RecordFails, checkRecord } from "../../../sdk/typescript/dist/verify/record.js";
import { element, facts, list, notes, plural } from "./elements.mjs";

const MOST_RECEIPTS = 100;
const LARGEST_ANSWER = 16 * 1024 * 1024;
const WEAKER = "This code came from the same server as the page, so a server that lies about the record could have changed it. "
  + "The check with a program of your own and keys that you pinned is stronger.";

const keptUnder = (issuer) => `counterfoil checkpoint ${issuer}`;

function kept(issuer) {
  const text = localStorage.getItem(keptUnder(issuer));
  if (text === null) return null;
  try {
    const { note, x, at } = JSON.parse(text);
    if ([note, x, at].every((member) => typeof member === "string")) return { note, x, at };
  } catch {
    // Said below: what was kept and cannot be read is not the same as a first visit.
  }
  throw new RecordFails("BROKEN", "what this browser kept does not read");
}

/** Reads below the page's own address, from its own server alone. */
function reader(base) {
  return async (path) => {
    const answer = await fetch(base + path, { cache: "no-store", credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (bytes.length > LARGEST_ANSWER) throw new Error("the answer is too large");
    return bytes;
  };
}

/** The entries that the page shows with a receipt, each once, in order. */
function shownReceipts(base) {
  const numbers = [...document.querySelectorAll("a[href]")].map((link) => {
    const [, seq] = new RegExp(`^${base}receipts/(0|[1-9][0-9]{0,15})$`).exec(link.getAttribute("href")) ?? [];
    return seq === undefined ? null : Number(seq);
  });
  const distinct = [...new Set(numbers.filter((seq) => seq !== null))].sort((one, other) => one - other);
  return { checked: distinct.slice(-MOST_RECEIPTS), left: Math.max(0, distinct.length - MOST_RECEIPTS) };
}

/** The first row of the page that says otherwise than the statement of its entry, or null. */
function disagreement(statements) {
  for (const row of document.querySelectorAll("tr")) {
    const head = row.querySelector("th[scope=row]");
    const number = head?.textContent.trim() ?? "";
    const stands = /^[0-9]+$/.test(number) ? statements.get(Number(number)) : undefined;
    if (!stands) continue;
    const { entry, payload } = stands;
    const [tag, [at, kind]] = [row.querySelector(".tag")?.textContent.trim(), [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim())];
    const said = [["verdict", tag, payload.verdict]];
    // In the list of entries, whose first cell is the receipt, time and kind stand next.
    if (head.querySelector("a[href*='/receipts/']")) said.push(["time", at, entry.at], ["kind", kind, entry.kind]);
    const wrong = said.find(([, shown, signed]) => shown !== undefined && shown !== signed);
    if (wrong) return `the page shows entry ${number} with the ${wrong[0]} ${wrong[1]}; what was signed says ${wrong[2] ?? "none"}`;
  }
  return null;
}

function passed({ checkpoint, keys, from, tail, receipts, since }, left) {
  const hidden = [
    tail.withheld > 0 ? plural(tail.withheld, "statement of somebody else is withheld", "statements of others are withheld") : null,
    tail.erased > 0 ? plural(tail.erased, "statement was erased", "statements were erased") : null,
    tail.insideUnknown > 0 ? plural(tail.insideUnknown, "provider's signature is of a key that is not listed", "providers' signatures are of keys that are not listed") : null,
    from > 0 ? `of entries 0 to ${from - 1} only their hashes were used: no more than ${MOST_ENTRIES} are recomputed here` : null,
    left > 0 ? plural(left, "receipt on this page was not fetched", "receipts on this page were not fetched") : null,
    since === null ? "that nothing was taken away before today: this browser has seen no earlier checkpoint of this record" : null,
  ];
  return [
    element("p", { class: "ok" }, element("b", {}, "Verified"), ", as far as this page can: everything that was checked holds."),
    facts([
      ["entries, one chain", tail.entries.toLocaleString("en")],
      ["statements, each signed by a key that counted then", tail.statements.toLocaleString("en")],
      ["providers' own signatures", tail.inside.toLocaleString("en")],
      ["receipts, each under the same root", receipts.toLocaleString("en")],
      ["keys in the key set", keys],
      ["root, recomputed and signed", `${checkpoint.root} of ${plural(checkpoint.size, "entry", "entries")}`],
      ...(since ? [["continues the checkpoint that this browser kept", `${plural(since.size, "entry", "entries")}, ${since.at}`]] : []),
    ]),
    element("p", {}, "Not checked:"),
    list([...hidden.filter((text) => text !== null), "the words of this page but verdicts, times and kinds", "that everybody else is shown this record"]),
  ];
}

function failed(error) {
  const isKnown = error instanceof RecordFails;
  const [answer, message] = isKnown ? [error.answer, error.message] : ["UNREACHABLE", String(error)];
  return [
    element("p", { class: "bad" }, element("b", {}, answer), ` ${message}`),
    element("p", {}, answer === "UNREACHABLE" ? "What cannot be read is not verified." : "This is the first thing that fails. What stands on this page is not what was signed."),
    ...(isKnown ? notes(error.notes) : []),
  ];
}

async function verify(place) {
  const { iss: issuer, checkpoint } = place.dataset;
  const base = checkpoint.slice(0, -"checkpoint".length);
  if (!(await canVerify())) {
    return { verdict: "unable", shown: [element("p", { class: "bad" }, element("b", {}, "NOT VERIFIED"), " This browser has no Ed25519 in WebCrypto, so nothing was checked. Use the program, or a newer browser.")] };
  }
  const { checked, left } = shownReceipts(base);
  try {
    const found = await checkRecord({
      fetch: reader(base), run: later, issuer, receipts: checked, kept: kept(issuer), now: new Date(),
      pause: () => new Promise((resolve) => { setTimeout(resolve, 500); }),
    });
    const wrong = disagreement(found.statements);
    if (wrong !== null) throw new RecordFails("BROKEN", wrong);
    localStorage.setItem(keptUnder(issuer), JSON.stringify(found.keep));
    return { verdict: "verified", shown: passed(found, left) };
  } catch (error) {
    return { verdict: "failed", shown: failed(error) };
  }
}

function begin(place) {
  const button = element("button", { type: "button" }, "Verify in this page");
  const answer = element("div", { role: "status", "aria-live": "polite" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    place.removeAttribute("data-verdict");
    answer.className = "";
    answer.replaceChildren(element("p", {}, "Reading and recomputing …"));
    const { verdict, shown } = await verify(place);
    answer.className = verdict === "verified" ? "card" : "card bad";
    answer.replaceChildren(...shown, element("p", { class: "soft" }, WEAKER));
    place.dataset.verdict = verdict;
    button.disabled = false;
  });
  place.append(element("p", {}, button), answer);
}

const place = document.getElementById("verify");
if (place?.dataset.checkpoint?.endsWith("/checkpoint")) begin(place);
