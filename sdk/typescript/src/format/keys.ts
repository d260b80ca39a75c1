/**
 * Public keys and pinned sets of them, with Node's own functions. What a set must be is said in ../verify/pins.
 */
import { now } from "./now.js";
import { signatureHolds } from "./note.js";
import { pinOf, rawKey, readPins, thumbprintOf, type Pin, type Pins, type Purpose, type RawKey } from "../verify/pins.js";

export { KeyError, type Purpose } from "../verify/pins.js";

export class PublicKey implements RawKey {
  readonly bytes: Buffer;

  private constructor(key: RawKey) {
    this.bytes = Buffer.from(key.bytes);
  }

  /** From `x` of a JWK. */
  static parse(x: string): PublicKey {
    return new PublicKey(rawKey(x));
  }

  /** A key of a set that was read. */
  static of(pin: Pin): PublicKey {
    return new PublicKey(pin.key);
  }

  get x(): string {
    return this.bytes.toString("base64url");
  }

  /** RFC 7638: the identity of a key. A `kid` is only somebody's word for it. */
  get thumbprint(): string {
    return now(thumbprintOf(this.x));
  }

  verify(message: Uint8Array | string, signature: Uint8Array): boolean {
    return now(signatureHolds(this.bytes, message, signature));
  }
}

export interface PinnedKey extends Pin {
  readonly purpose: Purpose;
  readonly key: PublicKey;
}

export class KeySet implements Pins {
  private constructor(
    /** `https://<host>/p/<slot>-<public id>` */
    readonly issuer: string,
    readonly keys: readonly PinnedKey[],
  ) {}

  /** Reads a JWKS that you decided to trust. Throws `KeyError` or `JsonError`. */
  static parse(text: Uint8Array | string): KeySet {
    const { issuer, keys } = now(readPins(text));
    return new KeySet(issuer, keys.map((pin) => ({ ...pin, key: PublicKey.of(pin) })));
  }

  /** The issuer without its scheme: the name of its log. */
  get origin(): string {
    return this.issuer.slice("https://".length);
  }

  byKid(kid: string): PinnedKey | null {
    return pinOf(this, kid) as PinnedKey | null;
  }
}
