// The JavaScript example's answer to each of many receipts: reads {receipts: [base64], jwks}, prints {answers}.
import { readFileSync } from "node:fs";
import { Broken } from "../../../docs/formats/examples/strict_json.mjs";
import { Unpinned, verify } from "../../../docs/formats/examples/verify_receipt.mjs";

const given = JSON.parse(readFileSync(0, "utf8"));
const jwks = Buffer.from(JSON.stringify(given.jwks));

function answer(receipt) {
  try {
    verify(Buffer.from(receipt, "base64"), jwks);
    return "VERIFIED";
  } catch (why) {
    if (why instanceof Unpinned) return "UNPINNED";
    if (why instanceof Broken) return "BROKEN";
    throw why;
  }
}

console.log(JSON.stringify({ answers: given.receipts.map(answer) }));
