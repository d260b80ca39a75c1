/**
 * The keys that a reader pinned.
 *
 * Promised: a key in a set is what it says it is, or the whole set pins nothing. A key counts for one purpose alone.
 * Not promised: that the set came from whom you think. Fetch it once over HTTPS, keep it, and name it.
 * Format and cases: docs/formats/envelope.md, docs/vectors/key-sets.
 */
import { canonical } from "../format/canonical.js";
import { isUsableKey } from "../format/curve.js";
import { isObject, parse, type Json } from "../format/json.js";
import { ofBase64url, toBase64url, type Octets } from "../format/octets.js";
import { matches } from "../format/shapes.js";
import { sha256, together, type Work } from "../format/work.js";

export type Purpose = "decision" | "capability" | "ledger" | "log" | "tick" | "witness" | "execution";

export class KeyError extends Error {
  override name = "KeyError";
}

/** The 32 bytes of a usable Ed25519 key, and their spelling in a JWK. */
export interface RawKey {
  readonly bytes: Uint8Array;
  readonly x: string;
}

export interface Pin {
  readonly kid: string;
  readonly purpose: Purpose;
  readonly key: RawKey;
  /** Times of the entries that introduced and retired it. */
  readonly from: string | null;
  readonly until: string | null;
}

export interface Pins {
  /** `https://<host>/p/<slot>-<public id>` */
  readonly issuer: string;
  /** The issuer without its scheme: the name of its log. */
  readonly origin: string;
  readonly keys: readonly Pin[];
}

/** From `x` of a JWK. */
export function rawKey(x: string): { bytes: Octets; x: string } {
  const bytes = ofBase64url(x);
  if (!bytes || !isUsableKey(bytes)) throw new KeyError(`\`${x}\` is no usable Ed25519 key`);
  return { bytes, x };
}

/** RFC 7638: the identity of a key. A `kid` is only somebody's word for it. */
export function* thumbprintOf(x: string): Work<string> {
  return toBase64url(yield* sha256(canonical({ crv: "Ed25519", kty: "OKP", x })));
}

export function pinOf(pins: Pins, kid: string): Pin | null {
  return pins.keys.find((key) => key.kid === kid) ?? null;
}

/** A receipt alone gives times, not positions: the window is that of the key's entries, both ends included. */
export function countsAt(pin: Pin, at: string): boolean {
  return (pin.from ?? "") <= at && at <= (pin.until ?? "9999");
}

/** Reads a JWKS that somebody decided to trust. */
export function* readPins(text: Uint8Array | string): Work<Pins> {
  const set = parse(text, "foreign");
  if (!isObject(set) || !Array.isArray(set.keys)) throw new KeyError("key set does not read as {iss, keys}");
  if (typeof set.iss !== "string" || !matches("issuer", set.iss)) throw new KeyError("key set names no issuer");
  const keys = yield* together(set.keys.map(pin));
  if (new Set(keys.map((key) => key.kid)).size < keys.length) throw new KeyError("a key stands twice");
  return { issuer: set.iss, origin: set.iss.slice("https://".length), keys };
}

/**
 * The same pins, and keys that a provider gave out itself: a JWKS or one JWK, by whatever names the provider calls them. They are
 * taken for keys of executions.
 */
export function* withProviderKeys(pins: Pins, text: Uint8Array | string): Work<Pins> {
  const document = parse(text, "foreign");
  const listed = isObject(document) && Array.isArray(document.keys) ? document.keys : [document];
  const keys = new Map(pins.keys.map((pin) => [pin.kid, pin]));
  for (const jwk of listed) {
    if (!isObject(jwk) || jwk.kty !== "OKP" || jwk.crv !== "Ed25519") continue;
    if (typeof jwk.x !== "string") throw new KeyError("a provider's key lacks x");
    const kid = yield* thumbprintOf(jwk.x);
    keys.set(kid, { kid, purpose: "execution", key: rawKey(jwk.x), from: null, until: null });
  }
  return { origin: pins.origin, issuer: pins.issuer, keys: [...keys.values()] };
}

function* pin(jwk: Json): Work<Pin> {
  if (!isObject(jwk)) throw new KeyError("a key is no object");
  const { kty, crv, x, kid, purpose, from = null, until = null } = jwk;
  if (kty !== "OKP" || crv !== "Ed25519") throw new KeyError("a key is not of kty OKP and crv Ed25519");
  if (typeof x !== "string" || typeof kid !== "string") throw new KeyError("a key lacks x or kid");
  if (typeof purpose !== "string" || !matches("purpose", purpose)) throw new KeyError("a key has no purpose that we know");
  const isTime = (time: Json) => time === null || (typeof time === "string" && matches("time", time));
  if (!isTime(from) || !isTime(until)) throw new KeyError("a key's time is none");
  const key = rawKey(x);
  if ((yield* thumbprintOf(x)) !== kid) throw new KeyError(`key \`${kid}\` has another thumbprint than its kid`);
  return { kid, purpose: purpose as Purpose, key, from: from as string | null, until: until as string | null };
}
