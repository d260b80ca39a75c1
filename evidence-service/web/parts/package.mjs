// verify.html: a package, what its holder pinned and kept, and the answer. Files are told apart by what is in them.
import { canVerify, later } from "../../../sdk/typescript/dist/format/later.js";
import { checkZip } from "../../../sdk/typescript/dist/verify/package.js";
import { readPins, withProviderKeys } from "../../../sdk/typescript/dist/verify/pins.js";
import { element, facts, list, notes, plural } from "./elements.mjs";

const LARGEST_SMALL = 16 * 1024 * 1024;
const at = (id) => document.getElementById(id);
const ZIP = "PK\x03\x04";

let given = [];
let turn = 0;

async function readFile(file) {
  const head = await file.slice(0, 4).text();
  if (head === ZIP || head === "PK\x05\x06") return { file, kind: "package" };
  if (file.size > LARGEST_SMALL) return { file, kind: "unknown" };
  const text = await file.text();
  return { file, text, kind: kindOf(text) };
}

function kindOf(text) {
  if (/\n\n\u2014 /.test(text) && !text.startsWith("{")) return "checkpoint";
  try {
    const read = JSON.parse(text);
    if (Array.isArray(read?.keys) && typeof read.iss === "string") return "keys";
    if (Array.isArray(read?.keys) || typeof read?.kty === "string") return "provider";
    return read?.typ === "receipt/v1" ? "receipt" : "unknown";
  } catch {
    return "unknown";
  }
}

const TAKEN_FOR = {
  package: "the package", keys: "the keys that you pinned", provider: "keys that a provider gave out itself", checkpoint: "a checkpoint that you kept", receipt: "a receipt that you hold",
  unknown: "nothing that belongs here, and not used",
};

const of = (kind) => given.filter((one) => one.kind === kind);

async function judged() {
  const [packages, keys, checkpoints] = [of("package"), of("keys"), of("checkpoint")];
  if (packages.length === 0) return { tone: "", shown: [element("p", {}, "There is no package yet.")] };
  const surplus = [packages, keys, checkpoints].find((some) => some.length > 1);
  if (surplus) return usage(`There are ${surplus.length} files of which one is wanted: ${surplus.map(({ file }) => file.name).join(", ")}.`);
  if (keys.length === 0) return usage("Drop the key set that you pinned, jwks.json. Keys inside the package do not count for being in it.");
  if (!(await canVerify())) return usage("This browser has no Ed25519 in WebCrypto, so nothing was checked. Use the program, or a newer browser.");
  try {
    let pins = await later(readPins(keys[0].text));
    for (const { text } of of("provider")) pins = await later(withProviderKeys(pins, text));
    const progress = (done, all) => at("verdict").replaceChildren(element("p", {}, `${plural(done, "entry", "entries")} of ${all.toLocaleString("en")} …`));
    const trust = {
      pins, since: checkpoints[0]?.text ?? null, held: of("receipt").map(({ text }) => text), progress,
    };
    return answered(await checkZip(packages[0].file, trust, later));
  } catch (error) {
    return usage(`${error.name}: ${error.message}`);
  }
}

function usage(why) {
  return { tone: "bad", word: "NOT VERIFIED", shown: [element("p", { class: "bad" }, element("b", { class: "word" }, "NOT VERIFIED")), element("p", {}, why)] };
}

function answered(report) {
  const { verdict, exitCode, first, size, root } = report;
  const holds = verdict.answer === "UNANCHORED";
  const counted = (pairs) => Object.entries(pairs).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const providers = report.providers.map(({ provider, thumbprint, pinnedBy }) =>
    [`key of ${provider}`, `${thumbprint}, ${pinnedBy === "holder" ? "pinned by you" : "vouched for by the log operator alone"}`]);
  const found = counted(report.findings).map(([code, count]) => `${code} (${count})`);
  const open = report.openActions.join(", ") + (report.open > report.openActions.length ? " …" : "");
  return {
    tone: holds ? "ok" : "bad", word: verdict.answer,
    shown: [
      element("p", { class: holds ? "ok" : "bad" }, element("b", { class: "word" }, verdict.answer), ` exit code ${exitCode}`),
      element("p", {}, `${verdict.why[0].toUpperCase()}${verdict.why.slice(1)}.`), ...notes(verdict.notes),
      ...(found.length > 0 ? [element("p", { class: "bad" }, element("b", {}, "Findings stand in this record: "), found.join(", "), ".")] : []),
      element("h3", {}, "What was read"),
      facts([
        ["record", report.issuer], ["entries", size > first ? `${first} to ${size - 1}` : "none"], ["root", root ?? "none"],
        ["statements verified", report.verified], ["withheld", report.withheld], ["erased", report.erased],
        ...counted(report.calls).map(([row, count]) => [`calls, ${row.replaceAll("_", " ")}`, count]),
        ...(report.open > 0 ? [["calls still open at the edge", `${report.open}: ${open}`]] : []), ...providers,
      ]),
      ...(report.incomplete.length > 0 ? [element("h3", {}, "What is not here"), list(report.incomplete)] : []),
      element("h3", {}, "What was not checked"), list(report.notChecked),
    ],
  };
}

/** The newest set of files is what counts, however long an older one still takes. */
async function show() {
  const mine = (turn += 1);
  const place = at("verdict");
  delete place.dataset.answer;
  at("taken").replaceChildren(...(given.length > 0 ? given.map(({ file, kind }) => element("li", {}, `${file.name}: ${TAKEN_FOR[kind]}`)) : [element("li", {}, "nothing yet")]));
  place.replaceChildren(element("p", {}, "Reading and recomputing …"));
  const { tone, word, shown } = await judged();
  if (mine !== turn) return;
  place.className = tone;
  place.replaceChildren(...shown);
  if (word) place.dataset.answer = word;
}

async function take(files) {
  given = given.concat(await Promise.all([...files].map(readFile)));
  await show();
}

at("files").addEventListener("change", async (event) => {
  const files = [...event.target.files];
  event.target.value = "";
  await take(files);
});
at("clear").addEventListener("click", () => {
  given = [];
  return show();
});
// Anywhere: a file that misses the box must not be opened in place of this page.
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  at("drop").classList.add("over");
});
document.addEventListener("dragleave", () => at("drop").classList.remove("over"));
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  await take(event.dataTransfer.files);
});
