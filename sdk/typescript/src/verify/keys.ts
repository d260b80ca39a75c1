/** Which keys count at a place in the chain: what the `key/v1` entries before it introduced and did not end. */
import { signatureHolds } from "../format/note.js";
import { ofBase64url } from "../format/octets.js";
import type { Work } from "../format/work.js";
import { rawKey, thumbprintOf, type Purpose, type RawKey } from "./pins.js";
import { Fault } from "./report.js";

export interface Known {
  key: RawKey;
  purpose: Purpose;
  provider: string | null;
  /** Numbers of the `key/v1` entries. */
  introduced: number;
  ended: number | null;
  isRevoked: boolean;
}

/** What a `key/v1` says. */
export interface KeyStatement {
  project: string;
  event: "introduced" | "retired" | "revoked";
  purpose: Purpose;
  provider: string | null;
  key: { kty: string; crv: string; x: string };
  thumbprint: string;
  possession: string | null;
}

export class Keys {
  readonly known = new Map<string, Known>();

  /** The key that may sign a statement of that purpose at the next place. */
  signer(kid: string, wanted: string): RawKey {
    const known = this.known.get(kid);
    if (!known) throw new Fault(`signed by key \`${kid}\`, which no entry before this one introduced`, "unknown");
    if (known.purpose !== wanted) throw otherPurpose(kid, known.purpose, wanted);
    if (known.ended !== null) throw new Fault(`signed by key \`${kid}\`, which entry ${known.ended} ended`);
    return known.key;
  }

  /** The chain's first statement introduces the ledger key that signs it, and that one is trusted. */
  *firstSigner(kid: string, first: KeyStatement, trusted: readonly string[]): Work<RawKey> {
    const introducesItself = first.purpose === "ledger" && first.event === "introduced" && first.thumbprint === kid;
    if (!introducesItself) throw new Fault(`signed by key \`${kid}\`, which no entry before this one introduced`, "unknown");
    if (!trusted.includes(kid)) throw new Fault(`the first ledger key \`${kid}\` is not one of those trusted`, "untrusted");
    return yield* keyOf(first);
  }

  /** Takes over what a `key/v1` at `seq` says. Its signature was checked before. */
  *follow(said: KeyStatement, seq: number): Work<null> {
    if (said.event === "introduced") return yield* this.introduce(said, seq);
    const known = this.known.get(said.thumbprint);
    if (!known) throw new Fault(`ends key \`${said.thumbprint}\`, which no entry before this one introduced`, "unknown");
    if (known.purpose !== said.purpose) throw otherPurpose(said.thumbprint, known.purpose, said.purpose);
    const revokes = said.event === "revoked";
    // A retired key can still turn out to have been stolen.
    if (known.ended !== null && (known.isRevoked || !revokes)) {
      throw new Fault(`ends key \`${said.thumbprint}\`, which entry ${known.ended} ended`);
    }
    known.ended ??= seq;
    known.isRevoked = revokes;
    return null;
  }

  private *introduce(said: KeyStatement, seq: number): Work<null> {
    const kid = said.thumbprint;
    const key = yield* keyOf(said);
    if (this.known.has(kid)) throw new Fault(`key \`${kid}\` was introduced before`);
    // An execution key is imported from its owner, who shows possession by its first statement.
    const isShown = said.possession === null ? said.purpose === "execution" : yield* possesses(key, said, said.possession);
    if (!isShown) throw new Fault(`key \`${kid}\` did not sign for its possession`);
    const { purpose, provider } = said;
    this.known.set(kid, { key, purpose, provider, introduced: seq, ended: null, isRevoked: false });
    return null;
  }
}

export function countsAtPlace({ introduced, ended }: { introduced: number; ended: number | null }, seq: number): boolean {
  return introduced < seq && (ended === null || ended >= seq);
}

export function otherPurpose(kid: string, found: string, wanted: string): Fault {
  return new Fault(`signed by key \`${kid}\` of purpose ${found}; ${wanted} is wanted`);
}

function* possesses(key: RawKey, { project, thumbprint }: KeyStatement, possession: string): Work<boolean> {
  const signature = ofBase64url(possession);
  const message = `counterfoil/possession/v1\n${project}\n${thumbprint}\n`;
  return signature !== null && (yield* signatureHolds(key.bytes, message, signature));
}

function* keyOf({ key: { kty, crv, x }, thumbprint }: KeyStatement): Work<RawKey> {
  if (kty !== "OKP" || crv !== "Ed25519") throw new Fault("key is not of kty OKP and crv Ed25519");
  const key = rawKey(x);
  if ((yield* thumbprintOf(x)) !== thumbprint) throw new Fault(`key \`${thumbprint}\` has another thumbprint`);
  return key;
}
