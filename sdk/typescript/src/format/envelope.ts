/**
 * Signed envelopes.
 *
 *     {"payload":{"typ":"execution/v1", …},"signature":{"alg":"Ed25519","kid":"p8Az…","sig":"ROyL…"}}
 *
 * The signature is Ed25519 over the canonical payload; the digest of an envelope is that of the whole of it.
 */
import { base64url, digestOf, fromBase64url } from "./bytes.js";
import { canonical } from "./canonical.js";
import type { JsonObject } from "./json.js";
import type { PublicKey } from "./keys.js";
import type { Signer } from "./signer.js";

export interface Envelope<P extends JsonObject = JsonObject> {
  payload: P;
  signature: { alg: string; kid: string; sig: string };
}

export async function sign<P extends JsonObject>(payload: P, signer: Signer): Promise<Envelope<P>> {
  const sig = base64url(await signer.sign(Buffer.from(canonical(payload))));
  return { payload, signature: { alg: "Ed25519", kid: signer.kid, sig } };
}

export function holdsUnder(envelope: Envelope, key: PublicKey): boolean {
  const signature = fromBase64url(envelope.signature.sig);
  return signature !== null && key.verify(canonical(envelope.payload), signature);
}

export function envelopeDigest(envelope: Envelope): string {
  return digestOf(canonical(envelope));
}
