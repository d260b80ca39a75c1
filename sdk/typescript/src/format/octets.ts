/**
 * Bytes and their spellings, with nothing but what every engine has: for code that also runs in a page.
 *
 * Promised: a base64 or base64url text decodes only if it is the spelling that an encoder would have written; anything else is null.
 */
const ENCODER = new TextEncoder();
const SLICE = 0x8000;

export type Octets = Uint8Array<ArrayBuffer>;

export function utf8(text: Uint8Array | string): Octets {
  return typeof text === "string" ? ENCODER.encode(text) : (text as Octets);
}

/** Null if the bytes are no UTF-8. A byte order mark stays. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Length in UTF-8. */
export function byteLength(text: Uint8Array | string): number {
  return utf8(text).length;
}

export function concat(parts: readonly (Uint8Array | string)[]): Octets {
  const all = parts.map(utf8);
  const whole = new Uint8Array(all.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of all) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function same(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE) text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  return btoa(text);
}

export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function ofBase64(text: string): Octets | null {
  return decoded(text, text, toBase64);
}

export function ofBase64url(text: string): Octets | null {
  return decoded(text, text.replaceAll("-", "+").replaceAll("_", "/"), toBase64url);
}

function decoded(text: string, standard: string, encode: (bytes: Uint8Array) => string): Octets | null {
  let bytes: Octets;
  try {
    bytes = Uint8Array.from(atob(standard), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
  // Engines skip what they need not understand, so only what is written back alike was understood.
  return encode(bytes) === text ? bytes : null;
}
