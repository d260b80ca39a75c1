/**
 * Keys of a package: those that the chain introduced from its first entry on, or, where the package starts later, those that
 * the holder pinned.
 */
import { canonical } from "../format/canonical.js";
import type { JsonObject } from "../format/json.js";
import { signatureHolds } from "../format/note.js";
import { ofBase64url } from "../format/octets.js";
import type { Work } from "../format/work.js";
import type { Base, Trust } from "./base.js";
import { Keys, countsAtPlace, otherPurpose, type KeyStatement } from "./keys.js";
import type { Standing } from "./matter.js";
import { countsAt, pinOf, rawKey, thumbprintOf, type RawKey } from "./pins.js";
import { Fault, broken, unpinned, type Report } from "./report.js";
import { signatureOf, type Entry, type SignedStatement } from "./statement.js";
import { submittedHolds, type Submitted } from "./submitted.js";

/** An execution key as the chain has it: one key, one provider. */
interface ProviderKey {
  key: RawKey;
  provider: string;
  introduced: number;
  ended: number | null;
}

export class Keyring {
  private readonly keys = new Keys();
  /** Thumbprints of the ledger keys that the holder pinned. */
  private readonly trusted: string[];

  private constructor(
    private readonly base: Base,
    private readonly trust: Trust,
    /** Providers' keys from before the first entry: the package's word, unless the holder pinned them. */
    private readonly earlier: Map<string, ProviderKey>,
  ) {
    this.trusted = trust.pins.keys.filter(({ purpose }) => purpose === "ledger").map(({ kid }) => kid);
  }

  static *of(base: Base, trust: Trust): Work<Keyring> {
    return new Keyring(base, trust, base.first === 0 ? new Map() : yield* earlierKeys(base));
  }

  /** Throws a `Fault` unless a key of the right purpose that counts here signed the statement. */
  *signed(statement: SignedStatement, entry: Entry): Work<null> {
    const { kid } = statement;
    if (this.trusted.length === 0) throw new Fault(`the first ledger key \`${kid}\` is not one of those trusted`, "untrusted");
    const key = yield* this.signerOf(statement, entry);
    if (!(yield* signatureOf(statement, key))) throw new Fault(`signature does not hold under key \`${kid}\``);
    return null;
  }

  *follow(said: KeyStatement, entry: Entry): Work<null> {
    try {
      return yield* this.keys.follow(said, entry.seq);
    } catch (error) {
      if (!this.isFromBefore(error)) throw error;
      // The entry that introduced it stands before the first of this package.
      const key = this.earlier.get(said.thumbprint);
      if (key) key.ended ??= entry.seq;
      return null;
    }
  }

  /** Whether a key of the provider counts at that place. */
  canSign(provider: string, seq: number): boolean {
    return [...this.providers()].some(([, key]) => key.provider === provider && countsAtPlace(key, seq));
  }

  /**
   * What the signature is worth, and the key that the statement names. An alias that the wrapper resolves to no key is tried
   * against every key: the log operator cannot disown a statement by forgetting whose it is.
   */
  *standing(submitted: Submitted, received: JsonObject, seq: number): Work<{ standing: Standing; kid: string | null }> {
    const { thumbprint } = received.signer as { thumbprint: string | null };
    const named = received.form === "execution-native" ? submitted.kid : thumbprint;
    if (named !== null) {
      const key = this.find(named);
      return { standing: yield* standingUnder(submitted, key, seq), kid: key ? named : null };
    }
    for (const [kid, key] of this.introduced()) {
      const standing = yield* standingUnder(submitted, key, seq);
      if (standing.holds) return { standing, kid };
    }
    return { standing: { holds: false, ended: false }, kid: null };
  }

  /** The manifest's signer, the package's own key files, and who vouches for each provider's key. */
  *vouch(report: Report): Work<null> {
    yield* this.manifest();
    const { pins } = this.trust;
    for (const { kid, purpose } of this.base.jwks.keys) {
      const isKnown = this.keys.known.get(kid)?.purpose === purpose || this.earlier.has(kid) || pinOf(pins, kid)?.purpose === purpose;
      if (!isKnown) throw unpinned(`key \`${kid}\` is found only inside the package`);
    }
    for (const line of this.base.providerKeys) {
      const key = this.find(line.thumbprint);
      if (!key) throw unpinned(`key \`${line.thumbprint}\` is found only inside the package`);
      const isSame = line.provider === key.provider && line.introduced === key.introduced && line.ended === key.ended
        && line.key.x === key.key.x;
      if (!isSame) throw broken(`provider-keys.json: \`${line.thumbprint}\` is not as in the record`);
    }
    for (const [thumbprint, { provider }] of this.providers()) {
      const isPinned = pinOf(pins, thumbprint)?.purpose === "execution";
      report.providers.push({ provider, thumbprint, pinnedBy: isPinned ? "holder" : "operator" });
    }
    return null;
  }

  private *signerOf(statement: SignedStatement, entry: Entry): Work<RawKey> {
    const { kid, kind: { purpose }, payload } = statement;
    try {
      const isFirst = entry.seq === 0 && payload.typ === "key/v1";
      if (isFirst) return yield* this.keys.firstSigner(kid, payload as unknown as KeyStatement, this.trusted);
      return this.keys.signer(kid, purpose);
    } catch (error) {
      const pin = pinOf(this.trust.pins, kid);
      if (!this.isFromBefore(error) || !pin) throw error;
      if (pin.purpose !== purpose) throw otherPurpose(kid, pin.purpose, purpose);
      if (!countsAt(pin, entry.at)) throw error;
      return pin.key;
    }
  }

  private isFromBefore(error: unknown): boolean {
    return error instanceof Fault && error.kind === "unknown" && this.base.first > 0;
  }

  private find(kid: string): ProviderKey | null {
    const known = this.keys.known.get(kid);
    const introduced = known?.purpose === "execution" && known.provider !== null ? { ...known, provider: known.provider } : null;
    return introduced ?? this.earlier.get(kid) ?? null;
  }

  private *introduced(): Generator<[string, ProviderKey]> {
    for (const [kid, known] of this.keys.known) {
      if (known.purpose === "execution" && known.provider !== null) yield [kid, { ...known, provider: known.provider }];
    }
  }

  private *providers(): Generator<[string, ProviderKey]> {
    yield* this.introduced();
    yield* this.earlier;
  }

  private *manifest(): Work<null> {
    const { payload, signature: { kid, sig } } = this.base.manifestEnvelope;
    const known = this.keys.known.get(kid);
    const pinned = pinOf(this.trust.pins, kid);
    const key = known?.purpose === "ledger" ? known.key : pinned?.purpose === "ledger" ? pinned.key : null;
    if (!key) throw unpinned(`manifest.json is signed by key \`${kid}\``);
    const signature = ofBase64url(sig);
    const holds = signature !== null && (yield* signatureHolds(key.bytes, canonical(payload), signature));
    if (!holds) throw broken("manifest.json: signature does not hold");
    return null;
  }
}

function* standingUnder(submitted: Submitted, key: ProviderKey | null, seq: number): Work<Standing> {
  const holds = key !== null && key.introduced < seq && (yield* submittedHolds(submitted, key.key));
  if (!key || !holds) return { holds: false, ended: false };
  return key.ended !== null && key.ended < seq ? { holds: false, ended: true } : { holds: true, signer: key.provider };
}

function* earlierKeys({ providerKeys, first }: Base): Work<Map<string, ProviderKey>> {
  const earlier = new Map<string, ProviderKey>();
  for (const { provider, key: { x }, introduced, ended } of providerKeys) {
    if (introduced >= first) continue;
    // An end inside the package is taken from its entry, one before from here.
    const endedBefore = ended !== null && ended < first ? ended : null;
    const key = usable(x);
    if (key) earlier.set(yield* thumbprintOf(x), { key, provider, introduced, ended: endedBefore });
  }
  return earlier;
}

function usable(x: string): RawKey | null {
  try {
    return rawKey(x);
  } catch {
    return null;
  }
}
