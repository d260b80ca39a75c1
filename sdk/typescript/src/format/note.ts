/**
 * Signed notes, checkpoints and tlog-proofs (C2SP), read and not yet believed.
 *
 * Promised: `Note.signature` says what a key's lines in a note are worth; lines of other keys are ignored, a failing line of this key
 * spoils the note. Not promised: that everybody was shown the same.
 * Format and cases: docs/formats/checkpoint.md, docs/vectors/checkpoints.
 */
import { isSmallOrder } from "./curve.js";
import { byteLength, ofBase64, same, type Octets } from "./octets.js";
import { equationHolds, sha256, type Work } from "./work.js";

const ED25519 = "\x01";
const MAX_NOTE = 64 * 1024;
// White space spelled out: languages differ about `\s`.
const LINE = /^\u2014 ([^\0-\x20+\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+) ([A-Za-z0-9+/]+=*)$/u;

export interface Checkpoint {
  origin: string;
  size: number;
  root: Octets;
}

export class NoteError extends Error {
  override name = "NoteError";
}

export function* keyId(name: string, key: Uint8Array): Work<Octets> {
  return (yield* sha256(name, "\n", ED25519, key)).slice(0, 4);
}

/** Strictly: neither a short signature nor a nonce of small order. The key was looked at when it was pinned. */
export function* signatureHolds(key: Uint8Array, message: Uint8Array | string, signature: Uint8Array): Work<boolean> {
  if (signature.length !== 64 || isSmallOrder(signature.subarray(0, 32))) return false;
  return yield* equationHolds(key, message, signature);
}

export type Signature = "holds" | "fails" | "absent";

export class Note {
  private constructor(
    /** What is signed, its last newline included. */
    readonly text: string,
    private readonly lines: { name: string; id: Octets; signature: Octets }[],
  ) {}

  static parse(note: string): Note {
    if (byteLength(note) > MAX_NOTE) throw new NoteError("note is larger than 64 KiB");
    if (/[\0-\x09\x0b-\x1f]/.test(note)) throw new NoteError("note has a control character");
    const split = note.lastIndexOf("\n\n");
    if (split < 0 || !note.endsWith("\n") || split + 2 >= note.length) throw new NoteError("note is not signed");
    const lines = note.slice(split + 2, -1).split("\n").map(signatureLine);
    return new Note(note.slice(0, split + 1), lines);
  }

  /** What the lines under this name and key say. `key` is the 32 bytes of a public key. */
  *signature(name: string, key: Uint8Array): Work<Signature> {
    const id = yield* keyId(name, key);
    const ours = this.lines.filter((line) => line.name === name && same(line.id, id));
    for (const line of ours) {
      if (!(yield* signatureHolds(key, this.text, line.signature))) return "fails";
    }
    return ours.length === 0 ? "absent" : "holds";
  }

  /** Reads the body as a checkpoint, believing nothing. */
  checkpoint(): Checkpoint {
    const [origin, size, root, ...more] = this.text.slice(0, -1).split("\n");
    const hash = root === undefined ? null : ofBase64(root);
    const isNumber = size !== undefined && /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size));
    if (!origin || !isNumber || hash?.length !== 32 || more.includes("")) {
      throw new NoteError("checkpoint does not read as origin, size, root");
    }
    return { origin, size: Number(size), root: hash };
  }
}

export interface LogProof {
  index: number;
  path: Octets[];
  /** The signed note, as it was written. */
  checkpoint: string;
}

export function parseLogProof(text: string): LogProof {
  const malformed = new NoteError("proof does not read as a C2SP tlog-proof");
  const split = text.indexOf("\n\n");
  if (split < 0) throw malformed;
  const [header, ...lines] = text.slice(0, split).split("\n");
  if (header !== "c2sp.org/tlog-proof@v1") throw malformed;
  // An `extra` line is allowed, unauthenticated, and of no use to us.
  if (lines[0]?.startsWith("extra ")) lines.shift();
  const index = /^index (0|[1-9][0-9]{0,15})$/.exec(lines.shift() ?? "")?.[1];
  const path = lines.map(ofBase64);
  if (index === undefined || path.some((hash) => hash?.length !== 32)) throw malformed;
  return { index: Number(index), path: path as Octets[], checkpoint: text.slice(split + 2) };
}

function signatureLine(line: string): { name: string; id: Octets; signature: Octets } {
  const [, name, blob] = LINE.exec(line) ?? [];
  const bytes = blob === undefined ? null : ofBase64(blob);
  if (!name || !bytes || bytes.length < 5) throw new NoteError("a signature line of the note is malformed");
  return { name, id: bytes.subarray(0, 4) as Octets, signature: bytes.subarray(4) as Octets };
}
