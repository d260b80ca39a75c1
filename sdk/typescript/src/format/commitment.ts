/**
 * Salted commitments: nothing guessable in public.
 *
 * disclosure = base64url of `["<salt>","<name>","<value>"]`, commitment = base64url(SHA-256(disclosure)); the salt is the first
 * 16 bytes of HMAC-SHA-256(seed, name). The provider seed comes in the capability as `os`.
 * Format and cases: docs/formats/commitments.md, docs/vectors/commitments.
 */
import { base64url, hmacSha256, sha256 } from "./bytes.js";
import { canonical } from "./canonical.js";

export function salt(seed: Uint8Array, name: string): Buffer {
  return hmacSha256(seed, name).subarray(0, 16);
}

/** The seed that providers share with the gateway, out of an action's opening seed. */
export function providerSeed(seed: Uint8Array): Buffer {
  return salt(seed, "provider");
}

export function disclosure(saltText: string, name: string, value: string): string {
  return base64url(Buffer.from(canonical([saltText, name, value])));
}

export function commitment(saltText: string, name: string, value: string): string {
  return base64url(sha256(disclosure(saltText, name, value)));
}

export function commit(seed: Uint8Array, name: string, value: string): string {
  return commitment(base64url(salt(seed, name)), name, value);
}
