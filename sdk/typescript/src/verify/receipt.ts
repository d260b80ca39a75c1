/**
 * One receipt under pinned keys, in the order in which a sceptic would ask. Runs in Node and in a page.
 *
 * Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
 */
import { canonical } from "../format/canonical.js";
import { JsonError, parse, type JsonObject } from "../format/json.js";
import { Note, NoteError, parseLogProof, type Checkpoint } from "../format/note.js";
import { toBase64 } from "../format/octets.js";
import { RECEIPT, ShapeError, demand } from "../format/shapes.js";
import { leafHash, verifyInclusion } from "../format/tree.js";
import { digest, together, type Work } from "../format/work.js";
import { KeyError, countsAt, pinOf, type Pins } from "./pins.js";
import {
  StatementError, entryKindOf, entryOf, genesis, isSkewed, signatureOf, statementOf, type Entry, type SignedStatement,
} from "./statement.js";

/** What a receipt shows. */
export interface Verified {
  payload: JsonObject;
  /** Digest of the statement's envelope. */
  digest: string;
  entry: Entry;
  checkpoint: { origin: string; size: number; root: string; note: string };
}

export class Refused extends Error {
  override name = "Refused";

  constructor(
    readonly answer: "BROKEN" | "UNPINNED",
    message: string,
  ) {
    super(message);
  }

  /** As the program `counterfoil verify` exits. */
  get exitCode(): 40 | 50 {
    return this.answer === "BROKEN" ? 40 : 50;
  }
}

/** A wrapped statement of 1.5 MiB, its proof, and room. */
const MAX_RECEIPT = 2 * 1024 * 1024;

/** Throws `Refused` unless all of it holds together under these keys. */
export function* checkReceipt(receipt: Uint8Array | string, pins: Pins): Work<Verified> {
  try {
    return yield* checked(receipt, pins);
  } catch (error) {
    throw refusalOf(error);
  }
}

/** What does not read is BROKEN; anything that is no answer about the text stays what it is. */
export function refusalOf(error: unknown): unknown {
  const isAboutTheText = [JsonError, ShapeError, NoteError, KeyError, StatementError].some((kind) => error instanceof kind);
  return isAboutTheText ? new Refused("BROKEN", (error as Error).message) : error;
}

/** A note as a checkpoint of this issuer's log, signed by a pinned log key. */
export function* signedCheckpoint(text: string, pins: Pins): Work<Checkpoint> {
  const note = Note.parse(text);
  const checkpoint = note.checkpoint();
  need(checkpoint.origin === pins.origin, `checkpoint is of log \`${checkpoint.origin}\`, not of \`${pins.origin}\``);
  yield* signedByLog(note, pins);
  return checkpoint;
}

/** A pinned log key must have signed; a line of any pinned key that fails spoils the note. */
export function* signedByLog(note: Note, pins: Pins): Work<null> {
  let isByLog = false;
  let isKnown = false;
  for (const { key, purpose } of pins.keys) {
    const signature = yield* note.signature(pins.origin, key.bytes);
    need(signature !== "fails", "signature of the checkpoint does not hold");
    isKnown ||= signature === "holds";
    isByLog ||= signature === "holds" && purpose === "log";
  }
  if (!isKnown) throw new Refused("UNPINNED", "checkpoint is not signed by a pinned log key");
  need(isByLog, "checkpoint is signed by a key of another purpose than log");
  return null;
}

function need(holds: boolean, why: string): asserts holds {
  if (!holds) throw new Refused("BROKEN", why);
}

function* checked(text: Uint8Array | string, pins: Pins): Work<Verified> {
  const read = parse(text, "receipt", MAX_RECEIPT) as JsonObject;
  demand(read, RECEIPT, "$");
  // The proof alone may have line breaks.
  parse(canonical(read.statement), "strict", MAX_RECEIPT);
  parse(canonical(read.entry), "strict");
  const statement = statementOf(read.statement!, "$.statement");
  const entry = entryOf(read.entry!, "$.entry");

  const named = yield* checkStatement(statement, digest(canonical(read.statement)), entry, pins);
  const checkpoint = yield* included(entry, String(read.proof), pins);
  return { payload: statement.payload, digest: named, entry, checkpoint };
}

/** That a pinned key signed the statement, and that the entry is its. Returns the digest of its envelope. */
export function* checkStatement(statement: SignedStatement, envelope: Work<string>, entry: Entry, pins: Pins): Work<string> {
  const [named] = yield* together([envelope, signedByPinned(statement, entry, pins)]);
  yield* isEntryOf(entry, statement, named);
  return named;
}

function* signedByPinned(statement: SignedStatement, entry: Entry, pins: Pins): Work<null> {
  const { kid, kind, payload: { iss } } = statement;
  const signer = pinOf(pins, kid);
  if (!signer) throw new Refused("UNPINNED", `signed by key \`${kid}\`, which is not pinned`);
  need(signer.purpose === kind.purpose, `needs a key of purpose ${kind.purpose}; this one is for ${signer.purpose}`);
  need(countsAt(signer, entry.at), `key \`${kid}\` did not count at ${entry.at}`);
  need(yield* signatureOf(statement, signer.key), "signature of the statement does not hold");
  if (iss !== undefined && iss !== pins.issuer) {
    throw new Refused("UNPINNED", `issued by \`${String(iss)}\`, not by the pinned \`${pins.issuer}\``);
  }
  return null;
}

function* isEntryOf(entry: Entry, statement: SignedStatement, named: string): Work<null> {
  need(entry.project === statement.payload.project, "entry belongs to another project than the statement");
  need(entry.body === named, "entry names another statement");
  need(entry.kind === entryKindOf(statement), "entry is of another kind than the statement");
  need(entry.epoch === entry.at.slice(0, 10), "entry.epoch is not the day of entry.at");
  const start = yield* genesis(entry.project);
  need(entry.seq > 0 || entry.prev === start, "first entry does not follow the start of its project's chain");
  need(!isSkewed(statement, entry), "decision is more than 2 s ahead of its entry, or 15 s behind");
  return null;
}

function* included(entry: Entry, text: string, pins: Pins): Work<Verified["checkpoint"]> {
  const proof = parseLogProof(text);
  need(proof.index === entry.seq, "proof is for another place than the entry's");
  const checkpoint = yield* signedCheckpoint(proof.checkpoint, pins);
  const leaf = yield* leafHash(canonical(entry));
  const holds = yield* verifyInclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root);
  need(holds, "entry is not in the tree of the checkpoint");
  return { ...checkpoint, root: toBase64(checkpoint.root), note: proof.checkpoint };
}
