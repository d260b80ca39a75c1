/**
 * The guard of one provider.
 *
 * The order of its checks is the one to keep: nothing in a token is believed before its signature holds, and nothing is used up
 * that may not run (docs/formats/capability.md).
 */
import { base64url, sha256 } from "../format/bytes.js";
import { canonical } from "../format/canonical.js";
import { JsonError, isObject, type JsonObject } from "../format/json.js";
import type { PinnedKey } from "../format/keys.js";
import { matches } from "../format/shapes.js";
import { Refused, verifyReceipt, type KeySet } from "../verify.js";
import { Admitted, type Executions } from "./admitted.js";
import { Generation, type Following } from "./generation.js";
import { GatewayKeys, type KeySource } from "./keys.js";
import { CapabilityRefusal, refuse } from "./refusal.js";
import type { UsedStore } from "./stores.js";
import { headerKid, readClaims, split, type Claims } from "./token.js";

export const CAPABILITY = "dev.counterfoil/capability";
export const RECEIPT = "dev.counterfoil/receipt";

// Five seconds: both ends follow ledger time; more would stretch a thirty-second slip.
const LEEWAY = 5;
const LONGEST_LIFE = 60;

export interface GuardOptions extends Executions {
  /** The only issuer whose capabilities count: `https://<host>/p/<slot>-<public id>`. */
  issuer: string;
  /** Ours, as the registry names us. */
  provider: string;
  /** `prj_…`, for what we sign. */
  project: string;
  env: "live" | "test";
  /** Where used capabilities are remembered. There is no guard without one. */
  store: UsedStore;
  /** Our registered resource; by default `urn:counterfoil:<slot>-<public id>:<provider>`. */
  audience?: string;
  /** Where the gateway is reached, if not at the issuer's own address. */
  gateway?: string;
  /** By default `<issuer>/gateway-jwks.json` at the gateway. */
  keys?: KeySource;
  /** By default `follow`: refuse what an earlier kill generation minted, and everything when the feed is silent. */
  generation?: Following;
  /** Keys that you pinned; then every call must bring the receipt of its decision (mode `proof`). */
  proof?: KeySet;
  /** Whether calls that only a shadow window lets pass may run. By default they are refused. */
  advisory?: "refuse" | "run";
  /** Told of every refusal: the code, never the token. */
  onRefusal?: (refusal: CapabilityRefusal) => void;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export class Guard {
  readonly audience: string;
  readonly #keys: GatewayKeys;
  readonly #generation: Generation;
  readonly #now: () => number;

  constructor(readonly options: GuardOptions) {
    const { issuer, provider, project, store } = options;
    if (!matches("issuer", issuer)) throw new TypeError(`\`${issuer}\` is no issuer`);
    if (!matches("provider", provider)) throw new TypeError(`\`${provider}\` is no provider id`);
    if (!matches("prj", project)) throw new TypeError(`\`${project}\` is no project id`);
    if (typeof store?.consume !== "function") throw new TypeError("a guard needs a store for used capabilities");
    const page = issuer.slice(issuer.indexOf("/p/"));
    const base = (options.gateway ?? issuer.slice(0, issuer.indexOf("/p/"))).replace(/\/+$/, "") + page;
    this.audience = options.audience ?? `urn:counterfoil:${page.slice(3)}:${provider}`;
    this.#now = options.now ?? Date.now;
    this.#keys = new GatewayKeys(options.keys ?? `${base}/gateway-jwks.json`, issuer, this.#now);
    this.#generation = new Generation(options.generation ?? "follow", `${base}/gen`, issuer, this.#keys, this.#now);
  }

  /**
   * Checks the capability of one `tools/call` and uses it up. `params` are those of the request as they came on the wire,
   * `header` the request's `Tool-Capability`, where there is one.
   */
  async admit(params: unknown, header?: string | null): Promise<Admitted> {
    try {
      return await this.#admit(isObject(params) ? params : {}, header ?? null);
    } catch (error) {
      if (error instanceof CapabilityRefusal) this.options.onRefusal?.(error);
      throw error;
    }
  }

  async #admit(params: JsonObject, header: string | null): Promise<Admitted> {
    const startedAt = new Date(this.#now());
    const meta = isObject(params._meta) ? params._meta : {};
    const token = meta[CAPABILITY] ?? header;
    if (header !== null && token !== header) refuse("capability_twice");

    const parts = split(token);
    const key = await this.#keys.find(headerKid(parts.header, "toolcap+jwt"));
    if (!key.key.verify(parts.signed, parts.signature)) refuse("capability_signature");
    const claims = readClaims(parts.payload);
    this.#demandPlace(claims);
    this.#demandTime(claims, key);
    this.#demandCall(claims, params);
    await this.#generation.demand(claims.gen);
    if (this.options.proof) demandReceipt(meta[RECEIPT], claims, this.options.project, this.options.proof);
    await this.#consume(claims);
    return new Admitted(claims, params.arguments, startedAt, this.options, this.#now);
  }

  #demandPlace(claims: Claims): void {
    if (claims.iss !== this.options.issuer) refuse("capability_issuer");
    if (claims.aud !== this.audience) refuse("capability_audience");
    if (claims.env !== this.options.env) refuse("capability_environment");
    const isAdvisory = claims.adv !== undefined && this.options.advisory !== "run";
    if (isAdvisory || claims.cnf !== undefined) refuse("capability_unsupported");
  }

  #demandTime(claims: Claims, key: PinnedKey): void {
    const now = Math.floor(this.#now() / 1000);
    const life = claims.exp - claims.iat;
    if (life <= 0 || life > LONGEST_LIFE) refuse("capability_life");
    const isBegun = claims.iat <= now + LEEWAY && claims.nbf <= now + LEEWAY;
    // A key that was replaced signs nothing new, but what it signed just before still counts.
    const isLiveKey = key.until === null || claims.iat <= Date.parse(key.until) / 1000 + LEEWAY;
    const isNow = isBegun && now < claims.exp + LEEWAY && isLiveKey;
    if (!isNow) refuse("capability_time", `the time here is ${new Date(now * 1000).toISOString()}`);
  }

  #demandCall(claims: Claims, params: JsonObject): void {
    const { m, t, h } = claims.call;
    if (m !== "tools/call" || t !== params.name) refuse("capability_tool");
    if (h !== bindable(() => callHash(this.audience, t, params.arguments, params.inputResponses))) {
      refuse("capability_arguments");
    }
  }

  async #consume(claims: Claims): Promise<void> {
    let isFirst: boolean;
    try {
      // Kept a minute longer than any clock here could still accept the token.
      isFirst = await this.options.store.consume(claims.aud, claims.jti, claims.exp + LEEWAY + 60);
    } catch {
      refuse("capability_store");
    }
    if (isFirst !== true) refuse("capability_used");
  }
}

/** base64url SHA-256 of the call document. Absent arguments count as {}. */
export function callHash(audience: string, tool: string, args: unknown, inputResponses?: unknown): string {
  const call = { v: 1, aud: audience, m: "tools/call", t: tool, a: args === undefined ? {} : args };
  return base64url(sha256(canonical(inputResponses === undefined ? call : { ...call, i: inputResponses })));
}

function bindable(hash: () => string): string {
  try {
    return hash();
  } catch (error) {
    if (error instanceof JsonError) refuse("capability_not_bindable", error.message);
    throw error;
  }
}

function demandReceipt(receipt: unknown, claims: Claims, project: string, pinned: KeySet): void {
  if (!isObject(receipt)) refuse("capability_receipt");
  try {
    const { payload, digest } = verifyReceipt(JSON.stringify(receipt), pinned);
    const isOurs = digest === claims.dec && payload.action === claims.txn && payload.capability === claims.jti;
    const isYes = payload.verdict === "ALLOW" || payload.effect === "advisory";
    if (payload.typ !== "decision/v1" || payload.project !== project || !isOurs || !isYes) refuse("capability_receipt");
  } catch (error) {
    if (error instanceof Refused) refuse("capability_receipt", error.message);
    throw error;
  }
}
