/**
 * The kill generation: slips of an earlier one are refused.
 *
 * Promised: followed at most two seconds ago, or asked for now; where the feed is silent beyond its own end, everything is
 * refused. A generation never goes back.
 */
import { isObject, parse } from "../format/json.js";
import { fetchBytes } from "../format/fetching.js";
import type { GatewayKeys } from "./keys.js";
import { refuse } from "./refusal.js";
import { headerKid, split } from "./token.js";

const FOLLOWED = 2_000;
const LEEWAY = 5;
/** `exp` is `iat` + 10 s; a longer life would outlive a kill. */
const LONGEST_LIFE = 10;

/** `seen` compares with the newest capability only: it learns of a kill from the first call after it. */
export type Following = "follow" | "seen";

export class Generation {
  #newest = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  #endsAt = 0;
  #asking: Promise<void> | null = null;

  constructor(
    private readonly following: Following,
    private readonly feed: string,
    private readonly issuer: string,
    private readonly keys: GatewayKeys,
    private readonly now: () => number,
  ) {}

  async demand(generation: number): Promise<void> {
    if (this.following === "follow") await this.#follow();
    if (generation < this.#newest) refuse("capability_killed");
    this.#newest = generation;
  }

  async #follow(): Promise<void> {
    if (this.now() - this.#askedAt > FOLLOWED) {
      // One question at a time, however many calls wait for it.
      this.#asking ??= this.#ask().finally(() => { this.#asking = null; });
      await this.#asking;
    }
    if (this.now() / 1000 >= this.#endsAt + LEEWAY) refuse("capability_generation");
  }

  async #ask(): Promise<void> {
    try {
      const asked = this.now();
      const claims = await this.#read((await fetchBytes(this.feed, 4096, FOLLOWED)).toString("latin1").trim());
      this.#newest = Math.max(this.#newest, claims.gen);
      this.#endsAt = Math.max(this.#endsAt, claims.exp);
      this.#askedAt = asked;
    } catch {
      // The feed of before counts until its end, and not longer.
    }
  }

  async #read(token: string): Promise<{ gen: number; exp: number }> {
    const parts = split(token);
    const { key } = await this.keys.find(headerKid(parts.header, "toolgen+jwt"));
    if (!key.verify(parts.signed, parts.signature)) refuse("capability_signature");
    const claims = parse(parts.payload, "strict");
    if (!isObject(claims) || Object.keys(claims).sort().join() !== "exp,gen,iat,iss") refuse("capability_malformed");
    const { exp, gen, iat, iss } = claims;
    const numbers = [exp, gen, iat].every(Number.isSafeInteger);
    const isShort = numbers && Number(exp) - Number(iat) <= LONGEST_LIFE && Number(iat) <= this.now() / 1000 + LEEWAY;
    if (iss !== this.issuer || !isShort) refuse("capability_generation");
    return { gen: Number(gen), exp: Number(exp) };
  }
}

