/**
 * Runs work to its end with WebCrypto, which answers later: in a page, and wherever else there is nothing of Node.
 *
 * Promised: an engine that lacks Ed25519 is told apart by `canVerify`; nothing passes because it could not be checked.
 */
import type { webcrypto } from "node:crypto";
import { toBase64url, type Octets } from "./octets.js";
import type { Question, Reply, Work } from "./work.js";

const MOST_KEYS = 1000;
const KEYS = new Map<string, Promise<webcrypto.CryptoKey>>();

export async function later<T>(work: Work<T>): Promise<T> {
  let step = work.next();
  while (!step.done) step = work.next(await Promise.all(step.value.map(reply)));
  return step.value;
}

/** Whether this engine has Ed25519 and SHA-256: by verifying the first case of RFC 8032, and one changed signature. */
export async function canVerify(): Promise<boolean> {
  const bytes = (hex: string): Octets => Uint8Array.from(hex.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  const key = bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const signature = bytes(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  const other = signature.slice();
  other[0]! ^= 1;
  const message = new Uint8Array();
  try {
    const holds = await reply({ ask: "ed25519", key, message, signature });
    return holds === true && (await reply({ ask: "ed25519", key, message, signature: other })) === false;
  } catch {
    return false;
  }
}

async function reply(question: Question): Promise<Reply> {
  const { subtle } = globalThis.crypto;
  if (question.ask === "sha256") return new Uint8Array(await subtle.digest("SHA-256", question.bytes));
  return subtle.verify("Ed25519", await cryptoKey(question.key), question.signature, question.message);
}

function cryptoKey(key: Octets): Promise<webcrypto.CryptoKey> {
  const name = toBase64url(key);
  let imported = KEYS.get(name);
  if (!imported) {
    imported = globalThis.crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
    if (KEYS.size >= MOST_KEYS) KEYS.clear();
    KEYS.set(name, imported);
  }
  return imported;
}
