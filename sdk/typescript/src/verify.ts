/**
 * Receipts, checked offline under keys that you pinned.
 *
 * Promised: `verifyReceipt` returns only if the statement, its entry and its proof hold together under your key set. Otherwise
 * it throws `Refused`: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right, but no key
 * that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that nothing was left
 * out of the log, or that everybody is shown the same log: for that keep receipts, see `receipts`.
 * Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
 */
import { base64, digestOf, sha256 } from "./format/bytes.js";
import { canonical } from "./format/canonical.js";
import { envelopeDigest, holdsUnder, type Envelope } from "./format/envelope.js";
import { JsonError, parse, type JsonObject } from "./format/json.js";
import { KeyError, KeySet } from "./format/keys.js";
import { Note, NoteError, parseLogProof } from "./format/note.js";
import { RECEIPT, ShapeError, demand, kindOf, type Kind } from "./format/shapes.js";
import { leafHash, verifyInclusion } from "./format/tree.js";

export { KeySet, KeyError, PublicKey } from "./format/keys.js";
export { JsonError, parse, type Json, type JsonObject, type Profile } from "./format/json.js";
export { canonical, documentValue } from "./format/canonical.js";
export { commitment } from "./format/commitment.js";

export interface Entry {
  v: number;
  project: string;
  seq: number;
  epoch: string;
  at: string;
  kind: string;
  body: string;
  prev: string;
}

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

// A decision is at most this far ahead of its entry, and this far behind, in milliseconds.
const MOST_AHEAD = 2_000;
const MOST_BEHIND = 15_000;
/** A wrapped statement of 1.5 MiB, its proof, and room. */
const MAX_RECEIPT = 2 * 1024 * 1024;

export function verifyReceipt(receipt: Uint8Array | string, pinned: KeySet): Verified {
  try {
    return verified(receipt, pinned);
  } catch (error) {
    const isRefusal = error instanceof JsonError || error instanceof ShapeError || error instanceof NoteError;
    if (isRefusal || error instanceof KeyError) throw new Refused("BROKEN", error.message);
    throw error;
  }
}

function need(holds: boolean, why: string): asserts holds {
  if (!holds) throw new Refused("BROKEN", why);
}

function verified(text: Uint8Array | string, pinned: KeySet): Verified {
  const read = parse(text, "receipt", MAX_RECEIPT) as JsonObject;
  demand(read, RECEIPT, "$");
  const { statement, entry, proof } = read as unknown as { statement: Envelope; entry: Entry; proof: string };
  // The proof alone may have line breaks.
  parse(canonical(statement), "strict", MAX_RECEIPT);
  parse(canonical(entry), "strict");

  const kind = kindOf(statement.payload?.typ);
  need(kind !== null, "statement of no kind that we know");
  demand(statement.payload, kind.members, "$.statement.payload");
  need(Buffer.byteLength(canonical(statement.payload)) <= kind.bytes, "statement is too large");

  signedByPinned(statement, kind, entry, pinned);
  entryIsOf(entry, statement, kind);
  const checkpoint = included(entry, proof, pinned);
  return { payload: statement.payload, digest: entry.body, entry, checkpoint };
}

function signedByPinned(statement: Envelope, kind: Kind, entry: Entry, pinned: KeySet): void {
  const signer = pinned.byKid(statement.signature.kid);
  if (!signer) throw new Refused("UNPINNED", `signed by key \`${statement.signature.kid}\`, which is not pinned`);
  need(signer.purpose === kind.purpose, `needs a key of purpose ${kind.purpose}; this one is for ${signer.purpose}`);
  const counts = (signer.from ?? "") <= entry.at && entry.at <= (signer.until ?? "9999");
  need(counts, `key \`${signer.kid}\` did not count at ${entry.at}`);
  need(holdsUnder(statement, signer.key), "signature of the statement does not hold");
  const { iss } = statement.payload;
  if (iss !== undefined && iss !== pinned.issuer) {
    throw new Refused("UNPINNED", `issued by \`${String(iss)}\`, not by the pinned \`${pinned.issuer}\``);
  }
}

function entryIsOf(entry: Entry, statement: Envelope, kind: Kind): void {
  const { payload } = statement;
  need(entry.v === 1, "entry of another version");
  need(entry.project === payload.project, "entry belongs to another project than the statement");
  need(entry.body === envelopeDigest(statement), "entry names another statement");
  need(entry.kind === kind.entry[String(payload.form ?? "")], "entry is of another kind than the statement");
  need(entry.epoch === entry.at.slice(0, 10), "entry.epoch is not the day of entry.at");
  const start = digestOf(`counterfoil/genesis/v1\n${entry.project}`);
  need(entry.seq > 0 || entry.prev === start, "first entry does not follow the start of its project's chain");
  const behind = Date.parse(entry.at) - Date.parse(String(payload.at));
  const isNear = behind >= -MOST_AHEAD && behind <= MOST_BEHIND;
  need(entry.kind !== "decision" || isNear, "decision is more than 2 s ahead of its entry, or 15 s behind");
}

function included(entry: Entry, text: string, pinned: KeySet): Verified["checkpoint"] {
  const proof = parseLogProof(text);
  need(proof.index === entry.seq, "proof is for another place than the entry's");
  const note = Note.parse(proof.checkpoint);
  const checkpoint = note.checkpoint();
  need(checkpoint.origin === pinned.origin, `checkpoint is of log \`${checkpoint.origin}\`, not of \`${pinned.origin}\``);
  signedByLog(note, pinned);
  const leaf = leafHash(canonical(entry));
  const holds = verifyInclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root);
  need(holds, "entry is not in the tree of the checkpoint");
  return { ...checkpoint, root: base64(checkpoint.root), note: proof.checkpoint };
}

/** A pinned log key must have signed; a line of any pinned key that fails spoils the note. */
export function signedByLog(note: Note, pinned: KeySet): void {
  const lines = pinned.keys.map(({ key, purpose }) => ({ purpose, signature: note.signature(pinned.origin, key) }));
  const known = lines.filter(({ signature }) => signature !== "absent");
  if (known.length === 0) throw new Refused("UNPINNED", "checkpoint is not signed by a pinned log key");
  need(known.every(({ signature }) => signature === "holds"), "signature of the checkpoint does not hold");
  need(known.some(({ purpose }) => purpose === "log"), "checkpoint is signed by a key of another purpose than log");
}

/** The hash that the next entry's `prev` says. */
export function entryHash(entry: Entry): string {
  return `sha256:${sha256(canonical(entry)).toString("hex")}`;
}
