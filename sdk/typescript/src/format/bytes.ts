/**
 * Bytes and their one spelling.
 *
 * Promised: a base64 text decodes only if it is the spelling that the encoder would have written; anything else is null.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

export function sha256(...parts: (Uint8Array | string)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function hmacSha256(key: Uint8Array, message: Uint8Array | string): Buffer {
  return createHmac("sha256", key).update(message).digest();
}

/** `sha256:<hex>`, as digests stand in every format. */
export function digestOf(bytes: Uint8Array | string): string {
  return `sha256:${sha256(bytes).toString("hex")}`;
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

export function fromBase64url(text: string): Buffer | null {
  return decoded(text, "base64url");
}

export function fromBase64(text: string): Buffer | null {
  return decoded(text, "base64");
}

export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

function decoded(text: string, encoding: "base64" | "base64url"): Buffer | null {
  // Node skips what it does not understand, so only what it writes back alike was understood.
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : null;
}
