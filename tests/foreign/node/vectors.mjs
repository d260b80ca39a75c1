// Runs the JavaScript example of docs/formats over every case it can judge.
//
// Exit 0 only if every good receipt is VERIFIED and every malformed one gets the answer its case names.
import { readFileSync, readdirSync } from "node:fs";
import { Broken, canonical, plain, read } from "../../../docs/formats/examples/strict_json.mjs";
import { Unpinned, pinned, verify } from "../../../docs/formats/examples/verify_receipt.mjs";

const VECTORS = new URL("../../../docs/vectors/", import.meta.url);
const OURS = readFileSync(new URL("jwks.json", VECTORS));
const bytes = (value) => Buffer.from(JSON.stringify(value));

function answer(receipt, jwks) {
  try {
    verify(receipt, jwks);
    return "VERIFIED";
  } catch (why) {
    if (why instanceof Unpinned) return "UNPINNED";
    if (why instanceof Broken) return "BROKEN";
    throw why;
  }
}

function receiptCase(item) {
  const raw = "receipt_base64" in item ? Buffer.from(item.receipt_base64, "base64") : bytes(item.receipt);
  return answer(raw, "jwks" in item ? bytes(item.jwks) : OURS) === (item.answer ?? "VERIFIED");
}

function keySetCase(item) {
  try {
    pinned(bytes(item.jwks));
    return item.accepted;
  } catch {
    return !item.accepted;
  }
}

function strictCase(item) {
  const raw = "base64" in item ? Buffer.from(item.base64, "base64") : Buffer.from(item.text);
  try {
    const value = read(raw);
    plain(value);
    return canonical(value) === item.canonical;
  } catch (why) {
    if (!(why instanceof Broken)) throw why;
    return !("canonical" in item);
  }
}

const RUNNERS = { receipts: receiptCase, "malformed-receipts": receiptCase, "key-sets": keySetCase, "canonical-json": strictCase };

let [passed, failed] = [0, 0];
for (const [folder, run] of Object.entries(RUNNERS)) {
  for (const file of readdirSync(new URL(`${folder}/`, VECTORS)).filter((name) => name.endsWith(".json"))) {
    const item = JSON.parse(readFileSync(new URL(`${folder}/${file}`, VECTORS), "utf8"));
    // The examples read what we sign, nothing else; a key off the curve shows at its signature.
    if (item.profile === "foreign" || file === "not_on_the_curve.json") continue;
    let holds = false;
    try {
      holds = run(item);
    } catch (why) {
      console.log(why);
    }
    if (holds) passed += 1;
    else {
      failed += 1;
      console.log(`${folder}/${file}: not as its case says`);
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed < 100 ? 1 : 0;
