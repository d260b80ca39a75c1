/**
 * A token taken apart, and what it claims. Nothing in it is believed before its signature holds.
 *
 *     <base64url header>.<base64url claims>.<base64url signature>        EdDSA over the first two, with the dot
 */
import { fromBase64url } from "../format/bytes.js";
import { JsonError, isObject, parse, type JsonObject } from "../format/json.js";
import { matches } from "../format/shapes.js";
import { refuse } from "./refusal.js";

export const LONGEST_TOKEN = 4096;

export interface Parts {
  signed: string;
  header: JsonObject;
  payload: Buffer;
  signature: Buffer;
}

/** Which call, as in docs/formats/capability.md. */
export interface Claims {
  iss: string;
  aud: string;
  /** For whom, under a name that only this provider sees. */
  sub: string;
  jti: string;
  iat: number;
  nbf: number;
  exp: number;
  /** The action. */
  txn: string;
  /** Digest of the decision's envelope. */
  dec: string;
  env: string;
  /** How often the project was killed. */
  gen: number;
  /** The provider seed. */
  os: string;
  call: { m: string; t: string; h: string };
  /** True for a recorded advisory verdict that is not ALLOW. */
  adv?: boolean;
  /** Digest of a person's answer; of the quote. */
  apv?: string;
  qt?: string;
  cnf?: JsonObject;
}

export function split(token: unknown): Parts {
  if (token === undefined || token === null) refuse("capability_missing");
  if (typeof token !== "string") refuse("capability_malformed");
  if (Buffer.byteLength(token) > LONGEST_TOKEN) refuse("capability_too_long");
  const parts = token.split(".");
  const [header, payload, signature] = parts.map(fromBase64url);
  if (parts.length !== 3 || !header || !payload || signature?.length !== 64) refuse("capability_malformed");
  return { signed: `${parts[0]}.${parts[1]}`, header: object(header), payload, signature };
}

/** `alg` and `typ` are ours to demand; any further member, `crit` and `jku` too, is refused. Returns the kid. */
export function headerKid(header: JsonObject, typ: string): string {
  const names = Object.keys(header).sort().join();
  const { alg, kid } = header;
  if (names !== "alg,kid,typ" || alg !== "EdDSA" || header.typ !== typ) refuse("capability_header");
  if (typeof kid !== "string" || !matches("thumbprint", kid)) refuse("capability_header");
  return kid;
}

export function readClaims(payload: Buffer): Claims {
  const claims = object(payload);
  const call = claims.call;
  const known = Object.entries(claims).every(([name, value]) => CLAIMS[name]?.(value) === true);
  const complete = REQUIRED.every((name) => Object.hasOwn(claims, name));
  const isCall = isObject(call) && Object.keys(call).sort().join() === "h,m,t";
  if (!known || !complete || !isCall || !Object.values(call).every(isText)) refuse("capability_malformed");
  return claims as unknown as Claims;
}

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => Number.isSafeInteger(value);
const like = (pattern: string) => (value: unknown) => typeof value === "string" && matches(pattern, value);

const REQUIRED = ["iss", "aud", "sub", "jti", "iat", "nbf", "exp", "txn", "dec", "env", "gen", "os", "call"];
const CLAIMS: Record<string, (value: unknown) => boolean> = {
  iss: isText, aud: isText, sub: isText, env: isText, call: isObject, cnf: isObject,
  jti: like("nonce"), os: like("nonce"), txn: like("act"), dec: like("digest"), apv: like("digest"), qt: like("digest"),
  iat: isNumber, nbf: isNumber, exp: isNumber, gen: (value) => isNumber(value) && Number(value) >= 0,
  adv: (value) => typeof value === "boolean",
};

function object(bytes: Buffer): JsonObject {
  try {
    const value = parse(bytes, "strict");
    return isObject(value) ? value : refuse("capability_malformed");
  } catch (error) {
    if (error instanceof JsonError) refuse("capability_malformed");
    throw error;
  }
}
