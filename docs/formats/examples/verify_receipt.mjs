// Verify one receipt offline: node verify_receipt.mjs receipt.json jwks.json
//
// Exit 0 VERIFIED, 40 BROKEN, 50 UNPINNED. A verified DENY is still a DENY: read what is printed.
// Needs Node 20 (node:crypto alone), and proofs.mjs, strict_json.mjs and statements.json beside it.
// Not checked: that the log is complete, and that everybody is shown the same newest end of it.
import { readFileSync, realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rootOf, sha256, signedBy, sound, unbase64 } from "./proofs.mjs";
import { Broken, FORMAT, canonical, fits, need, plain, read } from "./strict_json.mjs";

export class Unpinned extends Error {}

export function pinned(jwks) { // kid -> { purpose, key, from, until }
  const trust = read(jwks);
  need(Array.isArray(trust?.keys), "not a key set");
  fits(trust.iss, "issuer", "$.iss");
  const keys = new Map();
  for (const { kty, crv, x, kid, purpose, from, until } of trust.keys) {
    fits(purpose, "purpose", "$.keys[].purpose");
    need(kty === "OKP" && crv === "Ed25519", "a key of another kind");
    const thumbprint = sha256(canonical({ crv, kty, x })).toString("base64url");
    need(kid === thumbprint && !keys.has(kid), "a kid that is not the thumbprint, or a key twice");
    const key = unbase64(x, "base64url");
    need(sound(key), "a key under which signatures prove nothing");
    keys.set(kid, { purpose, key, from: from ?? "", until: until ?? "9999" });
  }
  return { iss: trust.iss, keys };
}

export function verify(receiptBytes, jwksBytes) {
  const { iss, keys } = pinned(jwksBytes);
  const receipt = read(receiptBytes);
  fits(receipt, FORMAT.receipt, "$");
  const { statement, entry, proof } = receipt;
  plain([statement, entry]);

  const { payload, signature } = statement;
  const kind = Object.hasOwn(FORMAT.kinds, payload?.typ) && FORMAT.kinds[payload.typ];
  need(kind, "a statement of no known kind");
  fits(payload, kind.members, "$.statement.payload");
  need(Buffer.byteLength(canonical(payload)) <= kind.bytes, "the statement is too large");
  const signer = keys.get(signature.kid);
  if (!signer) throw new Unpinned("signed by a key that you did not pin");
  need(signer.purpose === kind.purpose, `signed by a key of purpose ${signer.purpose}`);
  need(signer.from <= entry.at && entry.at <= signer.until, "signed by a key that did not count then");
  need(signedBy(signer.key, unbase64(signature.sig, "base64url"), canonical(payload)), "the signature does not hold");
  if ((payload.iss ?? iss) !== iss) throw new Unpinned("of an issuer that you did not pin");

  need(entry.v === 1 && entry.project === payload.project, "the entry is of another project");
  need(entry.kind === kind.entry[payload.form ?? ""], "the entry is of another kind");
  need(entry.body === `sha256:${sha256(canonical(statement)).toString("hex")}`, "the entry is of another statement");
  need(entry.epoch === entry.at.slice(0, 10), "the entry is of another day");
  const late = Date.parse(entry.at) - Date.parse(payload.at);
  need(entry.kind !== "decision" || (late >= -2000 && late <= 15000), "the decision is too old for its entry, or ahead of it");
  const genesis = sha256(`counterfoil/genesis/v1\n${entry.project}`).toString("hex");
  need(entry.seq > 0 || entry.prev === `sha256:${genesis}`, "the first entry does not start the chain");

  const parts = new RegExp(`^${FORMAT.proof}$`, "u").exec(proof);
  need(parts, "the proof is malformed");
  const [, index, path, text, origin, size, root, lines] = parts;
  need(Number(index) === entry.seq, "the proof is of another place");
  need(`https://${origin}` === iss, "the checkpoint is of another log");
  const keyId = (key) => sha256(origin, "\n\x01", key).toString("hex", 0, 4);
  const pins = new Map([...keys.values()].map((pin) => [keyId(pin.key), pin]));
  const signatures = lines.split("\n").slice(0, -1).map((line) => line.split(" ")).map(([, name, raw]) => ({ name, raw: unbase64(raw) }));
  need(signatures.every(({ raw }) => raw.length > 4), "a signature line is too short");
  const known = signatures.map(({ name, raw }) => ({ name, raw, pin: pins.get(raw.toString("hex", 0, 4)) }))
    .filter(({ name, pin }) => name === origin && pin);
  if (known.length === 0) throw new Unpinned("the checkpoint is not signed by a log key that you pinned");
  const hold = known.every(({ raw, pin }) => signedBy(pin.key, raw.subarray(4), text));
  need(hold, "the checkpoint's signature does not hold");
  need(known.some(({ pin }) => pin.purpose === "log"), "the checkpoint is signed by a key of another purpose");
  need(entry.seq < Number(size) && Number(size) < 2 ** 53, "the tree is too small");
  const siblings = path.split("\n").slice(0, -1).map((hash) => unbase64(hash));
  const computed = rootOf(sha256("\0", canonical(entry)), entry.seq, Number(size), siblings);
  need(computed.equals(unbase64(root)), "the entry is not in the tree");
  return { payload, entry };
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    const { payload, entry } = verify(...process.argv.slice(2, 4).map((name) => readFileSync(name)));
    console.log("VERIFIED", payload.typ, payload.verdict ?? "", "entry", entry.seq, "at", entry.at);
  } catch (why) {
    if (!(why instanceof Broken || why instanceof Unpinned)) throw why;
    console.log(`${why instanceof Broken ? "BROKEN" : "UNPINNED"}: ${why.message}`);
    process.exitCode = why instanceof Broken ? 40 : 50;
  }
}
