// What one check costs: a token verified, its arguments hashed, its jti used up in memory, in CPU time of this process.
//
//     npm run build && node bench/verify-and-consume.mjs
import { randomBytes } from "node:crypto";
import { Guard, callHash, memoryStore } from "counterfoil-sdk/capability";
import { SigningKey } from "counterfoil-sdk/execution";
import { KeySet, canonical, parse } from "counterfoil-sdk/verify";

const [CALLS, ROUNDS] = [3_000, 5];
const ISSUER = "https://gw.example/p/7-k3m9q2v8";
const AUDIENCE = "urn:counterfoil:7-k3m9q2v8:notes";
// Some 200 bytes.
const ARGS = { path: "/notes/2026/11/30/minutes.md", text: "x".repeat(120), copies: 3, tags: ["a", "b"] };
const key = SigningKey.fromSeed(Buffer.alloc(32, 0x12));
const jwk = { kty: "OKP", crv: "Ed25519", x: key.publicKey.x, kid: key.kid, purpose: "capability" };
const guard = new Guard({
  issuer: ISSUER, project: "prj_019355a0c0007000800000000000a001", provider: "notes", env: "live", store: memoryStore(() => {}),
  keys: KeySet.parse(JSON.stringify({ iss: ISSUER, keys: [jwk] })), generation: "seen",
});

const part = (value) => Buffer.from(canonical(value)).toString("base64url");

function call() {
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: ISSUER, aud: AUDIENCE, sub: "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", jti: randomBytes(16).toString("base64url"), iat, nbf: iat - 5,
    exp: iat + 60, txn: "act_019355a0c1007000800000000000b001", dec: `sha256:${"5f".repeat(32)}`, env: "live", gen: 3, os: "EIiJJtA4kt3i9xxgGwUUaA",
    call: { m: "tools/call", t: "note_write", h: callHash(AUDIENCE, "note_write", ARGS) },
  };
  const signed = `${part({ alg: "EdDSA", typ: "toolcap+jwt", kid: key.kid })}.${part(claims)}`;
  const token = `${signed}.${Buffer.from(key.sign(Buffer.from(signed))).toString("base64url")}`;
  return JSON.stringify({ name: "note_write", arguments: ARGS, _meta: { "dev.counterfoil/capability": token } });
}

async function once() {
  const calls = Array.from({ length: CALLS }, call);
  const began = process.cpuUsage();
  for (const text of calls) await guard.admit(parse(text, "foreign"));
  const { user, system } = process.cpuUsage(began);
  return (user + system) / CALLS;
}

let best = Number.POSITIVE_INFINITY;
for (let round = 0; round < ROUNDS; round += 1) best = Math.min(best, await once());
console.log(`verify + consume (memory): ${best.toFixed(0).padStart(6)} µs CPU a call  counterfoil-sdk, TypeScript`);
