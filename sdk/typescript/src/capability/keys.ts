/**
 * The gateway's keys, where this provider was told to find them.
 *
 * Promised: a token never says where keys are. An unknown key id causes one fetch, and no more than one in ten seconds (one, while there is no set at all); a set
 * that could not be read again for an hour counts no more. Without a set, nobody is believed.
 */
import { readFile } from "node:fs/promises";
import { KeySet, type PinnedKey } from "../format/keys.js";
import { fetchBytes } from "../format/fetching.js";
import { refuse } from "./refusal.js";

/** An address, a file, or a set that you already pinned. */
export type KeySource = URL | string | KeySet;

const BETWEEN_FETCHES = 10_000;
const BETWEEN_FIRST_FETCHES = 1_000;
const FRESH = 5 * 60_000;
const OLDEST = 60 * 60_000;
const LARGEST = 256 * 1024;

export class GatewayKeys {
  #set: KeySet | null = null;
  #readAt = 0;
  #triedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | null = null;

  constructor(
    private readonly source: KeySource,
    private readonly issuer: string,
    private readonly now: () => number,
  ) {
    if (source instanceof KeySet) {
      if (source.issuer !== issuer) throw new TypeError(`the key set is of \`${source.issuer}\`, not of \`${issuer}\``);
      this.#set = source;
    }
  }

  async find(kid: string): Promise<PinnedKey> {
    const isOld = !(this.source instanceof KeySet) && this.now() - this.#readAt > FRESH;
    // One fetch at a time, however many calls wait for it.
    if (isOld || !this.#set?.byKid(kid)) await (this.#reading ??= this.#read().finally(() => { this.#reading = null; }));
    const isTooOld = !(this.source instanceof KeySet) && this.now() - this.#readAt > OLDEST;
    if (!this.#set || isTooOld) refuse("capability_keys");
    const key = this.#set.byKid(kid);
    return key?.purpose === "capability" ? key : refuse("capability_key");
  }

  async #read(): Promise<void> {
    const between = this.#set ? BETWEEN_FETCHES : BETWEEN_FIRST_FETCHES;
    if (this.source instanceof KeySet || this.now() - this.#triedAt < between) return;
    this.#triedAt = this.now();
    try {
      const set = KeySet.parse(await bytesOf(this.source));
      if (set.issuer !== this.issuer) return;
      this.#set = set;
      this.#readAt = this.now();
    } catch {
      // Whoever asked is refused; the set of before stays until it is too old.
    }
  }
}

async function bytesOf(source: URL | string): Promise<Uint8Array> {
  const isAddress = source instanceof URL || /^https?:\/\//.test(source);
  return isAddress ? fetchBytes(source, LARGEST) : readFile(source);
}
