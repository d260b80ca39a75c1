// What every verifier of a transparency log needs, and nothing about receipts:
// SHA-256, base64 with one spelling, Ed25519 as strict as `verify_strict`, the root of an inclusion path.
import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { need } from "./strict_json.mjs";

// The y coordinates of the eight points of small order are 0, 1, -1, Y8 and -Y8.
const P = 2n ** 255n - 19n;
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;

export function sha256(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function unbase64(text, encoding = "base64") { // the one spelling of these bytes, no other
  const raw = Buffer.from(text, encoding);
  need(raw.toString(encoding) === text, "base64 in another spelling");
  return raw;
}

function yOf(point) {
  return BigInt(`0x${Buffer.from(point).reverse().toString("hex")}`) % 2n ** 255n;
}

function smallOrder(point) {
  return [0n, 1n, P - 1n, Y8, P - Y8].includes(yOf(point) % P);
}

export function sound(key) { // under a key of small order anything would verify, and OpenSSL lets it through
  return key.length === 32 && yOf(key) < P && !smallOrder(key);
}

export function signedBy(key, signature, message) {
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.toString("base64url") };
  return verifySignature(null, Buffer.from(message), createPublicKey({ key: jwk, format: "jwk" }), signature)
    && sound(key) && !smallOrder(signature.subarray(0, 32));
}

export function rootOf(node, index, size, path) { // RFC 9162, section 2.1.3.2
  const half = (n) => Math.floor(n / 2);
  let last = size - 1;
  for (const sibling of path) {
    need(last > 0, "the path is too long");
    if (index % 2 || index === last) {
      node = sha256("\x01", sibling, node);
      while (index && index % 2 === 0) [index, last] = [half(index), half(last)];
    } else {
      node = sha256("\x01", node, sibling);
    }
    [index, last] = [half(index), half(last)];
  }
  need(last === 0, "the path is too short");
  return node;
}
