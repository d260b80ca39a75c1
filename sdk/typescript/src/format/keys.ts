/**
 * Public keys, and the set of them that a reader pinned.
 *
 * Promised: a key in a set is what it says it is, or the whole set pins nothing. A key counts for one purpose alone.
 * Not promised: that the set came from whom you think. Fetch it once over HTTPS, keep it, and name it.
 * Format and cases: docs/formats/envelope.md, docs/vectors/key-sets.
 */
import { createPublicKey, verify as holds, type KeyObject } from "node:crypto";
import { base64url, fromBase64url, sha256 } from "./bytes.js";
import { canonical } from "./canonical.js";
import { isSmallOrder, isUsableKey } from "./curve.js";
import { isObject, parse, type Json } from "./json.js";
import { matches } from "./shapes.js";

export type Purpose = "decision" | "capability" | "ledger" | "log" | "tick" | "witness" | "execution";

export class KeyError extends Error {
  override name = "KeyError";
}

export class PublicKey {
  readonly #object: KeyObject;

  private constructor(readonly bytes: Buffer) {
    this.#object = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: this.x }, format: "jwk" });
  }

  /** From `x` of a JWK. */
  static parse(x: string): PublicKey {
    const bytes = fromBase64url(x);
    if (!bytes || !isUsableKey(bytes)) throw new KeyError(`\`${x}\` is no usable Ed25519 key`);
    return new PublicKey(bytes);
  }

  get x(): string {
    return base64url(this.bytes);
  }

  /** RFC 7638: the identity of a key. A `kid` is only somebody's word for it. */
  get thumbprint(): string {
    return base64url(sha256(canonical({ crv: "Ed25519", kty: "OKP", x: this.x })));
  }

  verify(message: Uint8Array | string, signature: Uint8Array): boolean {
    if (signature.length !== 64 || isSmallOrder(signature.subarray(0, 32))) return false;
    return holds(null, Buffer.from(message as string), this.#object, signature);
  }
}

export interface PinnedKey {
  readonly kid: string;
  readonly purpose: Purpose;
  readonly key: PublicKey;
  /** Times of the entries that introduced and retired it. */
  readonly from: string | null;
  readonly until: string | null;
}

export class KeySet {
  private constructor(
    /** `https://<host>/p/<slot>-<public id>` */
    readonly issuer: string,
    readonly keys: readonly PinnedKey[],
  ) {}

  /** Reads a JWKS that you decided to trust. */
  static parse(text: Uint8Array | string): KeySet {
    const set = parse(text, "foreign");
    if (!isObject(set) || !Array.isArray(set.keys)) throw new KeyError("key set does not read as {iss, keys}");
    if (typeof set.iss !== "string" || !matches("issuer", set.iss)) throw new KeyError("key set names no issuer");
    const keys = set.keys.map(pinned);
    if (new Set(keys.map((key) => key.kid)).size < keys.length) throw new KeyError("a key stands twice");
    return new KeySet(set.iss, keys);
  }

  /** The issuer without its scheme: the name of its log. */
  get origin(): string {
    return this.issuer.slice("https://".length);
  }

  byKid(kid: string): PinnedKey | null {
    return this.keys.find((key) => key.kid === kid) ?? null;
  }
}

function pinned(jwk: Json): PinnedKey {
  if (!isObject(jwk)) throw new KeyError("a key is no object");
  const { kty, crv, x, kid, purpose, from = null, until = null } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519") throw new KeyError("a key is not of kty OKP and crv Ed25519");
  if (typeof x !== "string" || typeof kid !== "string") throw new KeyError("a key lacks x or kid");
  if (typeof purpose !== "string" || !matches("purpose", purpose)) throw new KeyError("a key has no purpose that we know");
  const isTime = (time: Json) => time === null || (typeof time === "string" && matches("time", time));
  if (!isTime(from) || !isTime(until)) throw new KeyError("a key's time is none");
  const key = PublicKey.parse(x);
  if (key.thumbprint !== kid) throw new KeyError(`key \`${kid}\` has another thumbprint than its kid`);
  return { kid, purpose: purpose as Purpose, key, from: from as string | null, until: until as string | null };
}
