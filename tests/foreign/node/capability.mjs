// A JOSE library that is not ours, npm `jose`, judges a capability as a provider would.
//
// Reads {token, jwks, iss, aud, now} and prints {header, claims}, or {refused} for each of the ways to misuse it.
import { createLocalJWKSet, jwtVerify } from "jose";
import { readFileSync } from "node:fs";

const { token, jwks, iss, aud, now } = JSON.parse(readFileSync(0, "utf8"));
const keys = createLocalJWKSet(jwks);
const options = { issuer: iss, audience: aud, typ: "toolcap+jwt", algorithms: ["EdDSA"], clockTolerance: 5, currentDate: new Date(now * 1000) };

const refusal = async (text, changes = {}) => jwtVerify(text, keys, { ...options, ...changes }).then(() => null, (error) => error.code);
const { payload, protectedHeader } = await jwtVerify(token, keys, options);
const [head, body, signature] = token.split(".");
const other = Buffer.from(JSON.stringify({ ...payload, aud: "urn:another" })).toString("base64url");
console.log(JSON.stringify({
  header: protectedHeader,
  claims: payload,
  refused: {
    changed_claims: await refusal(`${head}.${other}.${signature}`),
    another_audience: await refusal(token, { audience: "urn:another" }),
    another_issuer: await refusal(token, { issuer: "https://gw.example/p/9-zzzzzzzz" }),
    after_its_end: await refusal(token, { currentDate: new Date((payload.exp + 6) * 1000) }),
    another_type: await refusal(token, { typ: "at+jwt" }),
  },
}));
