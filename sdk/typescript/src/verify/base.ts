/** Where a package stands: both checkpoints under pinned keys, what the holder kept, and the small files. */
import { canonical } from "../format/canonical.js";
import { parse, type Json, type JsonObject } from "../format/json.js";
import { Frontier } from "../format/frontier.js";
import type { Checkpoint } from "../format/note.js";
import { parseLogProof } from "../format/note.js";
import { ofBase64, same, toBase64, type Octets } from "../format/octets.js";
import { RECEIPT, demand, type Shape } from "../format/shapes.js";
import { digest, type Work } from "../format/work.js";
import { MANIFEST, TOMBSTONES, documentIn, needed, textIn, type Files, type Manifest, type Tombstone } from "./files.js";
import { readPins, type Pins } from "./pins.js";
import { Refused, checkReceipt, refusalOf, signedCheckpoint } from "./receipt.js";
import { UNCHECKED, broken, emptyReport, forked, unpinned, type Report } from "./report.js";

/** What the holder brings. Nothing inside a package adds to it. */
export interface Trust {
  /** Our keys, and those providers' keys (purpose `execution`) that the holder got from the providers themselves. */
  pins: Pins;
  /** A checkpoint that the holder kept: the record must pass through it. */
  since?: string | null;
  /** Receipts that the holder kept: each must stand in its place. */
  held?: readonly (Uint8Array | string)[];
  /** Reads a registry's text, by the digest that the chain names; null where it is not at hand. `within` in milliseconds. */
  registry?: (document: string, provider: string) => { signs: boolean; within: number } | null;
  /** Told how many entries were read, now and then. */
  progress?: (entries: number, of: number) => void;
}

export interface ProviderKeyLine {
  provider: string;
  key: { kty: string; crv: string; x: string };
  thumbprint: string;
  introduced: number;
  ended: number | null;
}

const PROVIDER_KEYS: Shape = {
  keys: [{
    provider: "provider", key: { kty: "string", crv: "string", x: "string" }, thumbprint: "thumbprint", introduced: "int", "ended?": "int",
  }],
};
const ENVELOPE = (RECEIPT as { statement: Shape }).statement;

export class Base {
  /** The tree before the first entry. */
  frontier = Frontier.empty();
  /** Roots that the holder has seen signed, by size, with their notes. */
  readonly heldRoots = new Map<number, { root: Octets; note: string }>();
  /** Hashes of entries that the holder has receipts for, with the notes they stand under. */
  readonly heldEntries = new Map<number, { hash: string; note: string }>();
  private readonly incomplete: string[] = [];

  private constructor(
    readonly end: Checkpoint,
    readonly note: string,
    readonly manifest: Manifest,
    readonly manifestEnvelope: { payload: JsonObject; signature: { kid: string; sig: string } },
    readonly tombstones: Tombstone[],
    readonly jwks: Pins,
    readonly providerKeys: ProviderKeyLine[],
  ) {}

  static *read(files: Files, trust: Trust): Work<Base> {
    const note = textIn("new.checkpoint", needed(files, "new.checkpoint"));
    const end = yield* checkpoint("new.checkpoint", note, trust);
    const envelope = manifestIn(needed(files, "manifest.json"));
    const tombstones = files.has("tombstones") ? documentIn("tombstones", needed(files, "tombstones"), TOMBSTONES) : [];
    const jwks = yield* keySet(needed(files, "jwks.json"));
    const providers = documentIn("provider-keys.json", needed(files, "provider-keys.json"), PROVIDER_KEYS) as JsonObject;
    const base = new Base(
      end, note, envelope.payload as unknown as Manifest, envelope, tombstones as unknown as Tombstone[], jwks,
      providers.keys as unknown as ProviderKeyLine[],
    );
    if (files.has("old.checkpoint")) yield* base.startsAt(textIn("old.checkpoint", needed(files, "old.checkpoint")), files, trust);
    yield* base.keep(trust);
    const { iss, first, size } = base.manifest;
    const agrees = iss === trust.pins.issuer && first === base.first && size === end.size;
    if (!agrees) throw broken("manifest.json is of another package than its checkpoints");
    return base;
  }

  /** Number of the first entry. */
  get first(): number {
    return this.frontier.size;
  }

  report(): Report {
    const { anchors, replay, grants, charges, before } = UNCHECKED;
    return {
      ...emptyReport(this.manifest.iss), first: this.first, size: this.end.size, root: toBase64(this.end.root),
      incomplete: [...this.incomplete],
      notChecked: [anchors, replay, grants, charges, ...(this.first > 0 ? [before(this.first)] : [])],
    };
  }

  private *startsAt(note: string, files: Files, trust: Trust): Work<null> {
    const old = yield* checkpoint("old.checkpoint", note, trust);
    const proof = textIn("consistency", needed(files, "consistency"));
    const blank = proof.indexOf("\n\n");
    if (blank < 0) throw broken("consistency has no blank line");
    const [head, ...hashes] = proof.slice(0, blank).split("\n");
    if (head !== `old ${old.size}` || proof.slice(blank + 2) !== this.note) {
      throw broken("consistency is not between these two checkpoints");
    }
    const path = hashes.map(ofBase64);
    if (path.some((hash) => hash?.length !== 32)) throw broken("consistency has a line that is no hash");
    if (old.size === this.end.size && !same(old.root, this.end.root)) throw forked(note, this.note);
    const frontier = yield* Frontier.ofConsistency(old.size, this.end.size, path as Octets[], old.root, this.end.root);
    if (!frontier) throw broken("consistency: path does not lead from one root to the other");
    this.frontier = frontier;
    return null;
  }

  /** Takes in what the holder kept, and says what of it this package cannot reach. */
  private *keep({ since, held = [], pins }: Trust): Work<null> {
    if (since) yield* this.keepRoot(yield* checkpoint("the checkpoint that you hold", since, { pins }), since);
    for (const receipt of held) {
      const { entry } = yield* named("a receipt that you hold", checkReceipt(receipt, pins));
      const { proof } = parse(receipt, "receipt", Number.POSITIVE_INFINITY) as { proof: string };
      const note = parseLogProof(proof).checkpoint;
      yield* this.keepRoot(yield* checkpoint("a receipt that you hold", note, { pins }), note);
      if (entry.seq >= this.end.size) this.incomplete.push(`you hold a receipt of entry ${entry.seq}, and the package ends before`);
      this.heldEntries.set(entry.seq, { hash: yield* digest(canonical(entry)), note });
    }
    return null;
  }

  private *keepRoot({ size, root }: Checkpoint, note: string): Work<null> {
    if (size > this.end.size) this.incomplete.push(`you hold a checkpoint of ${size} entries, the package ends before`);
    if (size < this.first) this.incomplete.push(`you hold a checkpoint of ${size} entries, the package starts after`);
    const other = this.heldRoots.get(size);
    if (other && !same(other.root, root)) throw forked(other.note, note);
    if (size === this.first && !same(yield* this.frontier.root(), root)) throw forked(this.note, note);
    this.heldRoots.set(size, { root, note });
    return null;
  }
}

function manifestIn(bytes: Uint8Array): Base["manifestEnvelope"] {
  try {
    const envelope = parse(bytes, "strict", 16 * 1024 * 1024);
    demand(envelope, ENVELOPE, "$");
    const { payload } = envelope as { payload: Json };
    demand(payload, MANIFEST, "$.payload");
    return envelope as Base["manifestEnvelope"];
  } catch (error) {
    throw broken(`manifest.json: ${(error as Error).message}`);
  }
}

function* keySet(bytes: Uint8Array): Work<Pins> {
  try {
    return yield* readPins(bytes);
  } catch (error) {
    throw broken(`jwks.json: ${(error as Error).message}`);
  }
}

function checkpoint(name: string, note: string, { pins }: Pick<Trust, "pins">): Work<Checkpoint> {
  return named(name, signedCheckpoint(note, pins));
}

function* named<T>(name: string, work: Work<T>): Work<T> {
  try {
    return yield* work;
  } catch (error) {
    const refusal = refusalOf(error);
    if (!(refusal instanceof Refused)) throw refusal;
    const why = `${name}: ${refusal.message}`;
    throw refusal.answer === "BROKEN" ? broken(why) : unpinned(why);
  }
}
