/**
 * Signed notes, checkpoints and tlog-proofs (C2SP).
 *
 * Promised: a checkpoint that `read` returns is signed under its origin by the key that was asked for; lines of other keys are
 * ignored, a failing line of this key spoils the note. Not promised: that everybody was shown the same.
 * Format and cases: docs/formats/checkpoint.md, docs/vectors/checkpoints.
 */
import { base64, fromBase64, sha256 } from "./bytes.js";
import type { PublicKey } from "./keys.js";
import type { Signer } from "./signer.js";

const ED25519 = "\x01";
const MAX_NOTE = 64 * 1024;
// White space spelled out: languages differ about `\s`.
const LINE = /^\u2014 ([^\0-\x20+\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+) ([A-Za-z0-9+/]+=*)$/u;

export interface Checkpoint {
  origin: string;
  size: number;
  root: Buffer;
}

export class NoteError extends Error {
  override name = "NoteError";
}

export function keyId(name: string, key: Uint8Array): Buffer {
  return sha256(name, "\n", ED25519, key).subarray(0, 4);
}

/** `<name>+<8 hex key id>+<base64(0x01 ‖ key)>` */
export function verifierKey(name: string, key: PublicKey): string {
  return `${name}+${keyId(name, key.bytes).toString("hex")}+${base64(Buffer.concat([Buffer.from(ED25519), key.bytes]))}`;
}

export type Signature = "holds" | "fails" | "absent";

export class Note {
  private constructor(
    /** What is signed, its last newline included. */
    readonly text: string,
    private readonly lines: { name: string; id: Buffer; signature: Buffer }[],
  ) {}

  static parse(note: string): Note {
    if (Buffer.byteLength(note) > MAX_NOTE) throw new NoteError("note is larger than 64 KiB");
    if (/[\0-\x09\x0b-\x1f]/.test(note)) throw new NoteError("note has a control character");
    const split = note.lastIndexOf("\n\n");
    if (split < 0 || !note.endsWith("\n") || split + 2 >= note.length) throw new NoteError("note is not signed");
    const lines = note.slice(split + 2, -1).split("\n").map(signatureLine);
    return new Note(note.slice(0, split + 1), lines);
  }

  signature(name: string, key: PublicKey): Signature {
    const id = keyId(name, key.bytes);
    const ours = this.lines.filter((line) => line.name === name && line.id.equals(id));
    if (ours.length === 0) return "absent";
    return ours.every((line) => key.verify(this.text, line.signature)) ? "holds" : "fails";
  }

  /** Reads the body as a checkpoint, believing nothing. */
  checkpoint(): Checkpoint {
    const [origin, size, root, ...more] = this.text.slice(0, -1).split("\n");
    const hash = root === undefined ? null : fromBase64(root);
    const isNumber = size !== undefined && /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size));
    if (!origin || !isNumber || hash?.length !== 32 || more.includes("")) {
      throw new NoteError("checkpoint does not read as origin, size, root");
    }
    return { origin, size: Number(size), root: hash };
  }
}

/** The checkpoint of a note that this key signed. */
export function readCheckpoint(note: string, key: PublicKey): Checkpoint {
  const parsed = Note.parse(note);
  const checkpoint = parsed.checkpoint();
  if (parsed.signature(checkpoint.origin, key) !== "holds") throw new NoteError("checkpoint is not signed by this key");
  return checkpoint;
}

/** A signed checkpoint; for logs in tests, and for whoever runs one. */
export async function signCheckpoint(checkpoint: Checkpoint, key: PublicKey, signer: Signer): Promise<string> {
  const text = `${checkpoint.origin}\n${checkpoint.size}\n${base64(checkpoint.root)}\n`;
  const line = Buffer.concat([keyId(checkpoint.origin, key.bytes), await signer.sign(Buffer.from(text))]);
  return `${text}\n\u2014 ${checkpoint.origin} ${base64(line)}\n`;
}

export interface LogProof {
  index: number;
  path: Buffer[];
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
  const path = lines.map(fromBase64);
  if (index === undefined || path.some((hash) => hash?.length !== 32)) throw malformed;
  return { index: Number(index), path: path as Buffer[], checkpoint: text.slice(split + 2) };
}

function signatureLine(line: string): { name: string; id: Buffer; signature: Buffer } {
  const [, name, blob] = LINE.exec(line) ?? [];
  const bytes = blob === undefined ? null : fromBase64(blob);
  if (!name || !bytes || bytes.length < 5) throw new NoteError("a signature line of the note is malformed");
  return { name, id: bytes.subarray(0, 4), signature: bytes.subarray(4) };
}
