/**
 * A key that signs: from a file, the environment, or somebody else's hardware.
 *
 * Promised: the seed leaves this object in no way; printing it shows the key id. A key file that others may read is refused.
 * Not promised: that the memory is wiped.
 */
import { createPrivateKey, sign as signWith, type KeyObject } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { KeyError, PublicKey } from "./keys.js";
import { isObject } from "./json.js";

export interface Signer {
  /** RFC 7638 thumbprint of the public half. */
  readonly kid: string;
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

// DER of an Ed25519 private key up to its 32 bytes (RFC 8410, section 7).
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

export class SigningKey implements Signer {
  readonly kid: string;
  readonly #object: KeyObject;

  private constructor(object: KeyObject, readonly publicKey: PublicKey) {
    this.#object = object;
    this.kid = publicKey.thumbprint;
  }

  static fromSeed(seed: Uint8Array): SigningKey {
    if (seed.length !== 32) throw new KeyError("an Ed25519 seed is 32 bytes");
    const object = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
    return new SigningKey(object, PublicKey.parse(object.export({ format: "jwk" }).x!));
  }

  /** A JWK with `d`, or the 32 bytes of the seed as hex, base64 or base64url. */
  static fromText(text: string): SigningKey {
    return SigningKey.fromSeed(seedOf(text.trim()));
  }

  static fromFile(path: string): SigningKey {
    if ((statSync(path).mode & 0o077) !== 0) throw new KeyError(`\`${path}\` can be read by others: chmod 600`);
    return SigningKey.fromText(readFileSync(path, "utf8"));
  }

  static fromEnvironment(name: string): SigningKey {
    const text = process.env[name];
    if (!text) throw new KeyError(`the environment has no ${name}`);
    return SigningKey.fromText(text);
  }

  sign(message: Uint8Array): Buffer {
    return signWith(null, message, this.#object);
  }

  toString(): string {
    return `SigningKey(${this.kid})`;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}

function seedOf(text: string): Buffer {
  if (text.startsWith("{")) {
    const jwk: unknown = JSON.parse(text);
    if (isObject(jwk) && jwk.crv === "Ed25519" && typeof jwk.d === "string") return Buffer.from(jwk.d, "base64url");
    throw new KeyError("the JWK is no private Ed25519 key");
  }
  return /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, "hex") : Buffer.from(text, "base64");
}
