// A gateway of these tests: its keys, its slips, its key set and generation feed, on a port of its own.
import { createServer } from "node:http";
import { callHash } from "../dist/capability.js";
import { base64url } from "../dist/format/bytes.js";
import { canonical } from "../dist/format/canonical.js";
import { SigningKey } from "../dist/format/signer.js";

export const ISSUER = "https://gw.example/p/7-k3m9q2v8";
export const PAGE = "/p/7-k3m9q2v8";
export const AUDIENCE = "urn:counterfoil:7-k3m9q2v8:notes";
export const PROJECT = "prj_019355a0c0007000800000000000a001";
export const KEY = SigningKey.fromSeed(Buffer.alloc(32, 0x12));
export const STRANGER = SigningKey.fromSeed(Buffer.alloc(32, 0x77));
export const EXECUTION_KEY = SigningKey.fromSeed(Buffer.alloc(32, 0x21));

let count = 0;
export const nonce = () => base64url(Buffer.from(`${String(process.pid).padStart(8)}${String(count++).padStart(8)}`));

export function jwk(key, purpose, more = {}) {
  const x = key.publicKey.x;
  return { kty: "OKP", crv: "Ed25519", x, kid: key.kid, use: "sig", alg: purpose === "capability" ? "EdDSA" : "Ed25519", purpose, ...more };
}

export function keySet(keys) {
  return JSON.stringify({ iss: ISSUER, keys });
}

export const GATEWAY_KEYS = keySet([jwk(KEY, "capability")]);

export function claims(tool, args, changes = {}) {
  const iat = Math.floor(Date.now() / 1000);
  return {
    iss: ISSUER, aud: AUDIENCE, sub: "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", jti: nonce(), iat, nbf: iat - 5, exp: iat + 30,
    txn: "act_019355a0c1007000800000000000b001", dec: `sha256:${"5f".repeat(32)}`, env: "live", gen: 3, os: "EIiJJtA4kt3i9xxgGwUUaA",
    call: { m: "tools/call", t: tool, h: callHash(AUDIENCE, tool, args, changes.inputResponses) }, ...changes.claims,
  };
}

export function token(payload, { key = KEY, header = {} } = {}) {
  const head = { alg: "EdDSA", typ: "toolcap+jwt", kid: key.kid, ...header };
  const signed = [head, payload].map((part) => base64url(Buffer.from(canonical(part)))).join(".");
  return `${signed}.${base64url(key.sign(Buffer.from(signed)))}`;
}

export function call(tool, args, capability, more = {}) {
  const meta = capability === undefined ? {} : { _meta: { "dev.counterfoil/capability": capability } };
  return { name: tool, arguments: args, ...meta, ...more };
}

/** Serves the key set and the feed; `state` can be changed while it runs. */
export async function gateway(state = {}) {
  Object.assign(state, { keys: GATEWAY_KEYS, gen: 3, isSilent: false, asked: 0, ...state });
  const server = createServer((request, response) => {
    if (state.isSilent) return request.socket.destroy();
    if (request.url === `${PAGE}/gateway-jwks.json`) return response.end((state.asked += 1) && state.keys);
    if (request.url !== `${PAGE}/gen`) return response.writeHead(404).end();
    const iat = Math.floor(Date.now() / 1000);
    response.end(token({ exp: iat + 10, gen: state.gen, iat, iss: ISSUER }, { header: { typ: "toolgen+jwt" } }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { state, address: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((resolve) => server.close(resolve)) };
}
