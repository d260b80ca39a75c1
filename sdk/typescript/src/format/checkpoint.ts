/** Checkpoints under one key, with Node's own functions: for whoever holds the key, or asks for it by name. */
import { base64 } from "./bytes.js";
import type { PublicKey } from "./keys.js";
import { Note, NoteError, keyId, type Checkpoint } from "./note.js";
import { now } from "./now.js";
import type { Signer } from "./signer.js";

/** `<name>+<8 hex key id>+<base64(0x01 ‖ key)>` */
export function verifierKey(name: string, key: PublicKey): string {
  const id = Buffer.from(now(keyId(name, key.bytes))).toString("hex");
  return `${name}+${id}+${base64(Buffer.concat([Buffer.of(1), key.bytes]))}`;
}

/** The checkpoint of a note that this key signed. */
export function readCheckpoint(note: string, key: PublicKey): Checkpoint {
  const parsed = Note.parse(note);
  const checkpoint = parsed.checkpoint();
  if (now(parsed.signature(checkpoint.origin, key.bytes)) !== "holds") throw new NoteError("checkpoint is not signed by this key");
  return checkpoint;
}

/** A signed checkpoint; for logs in tests, and for whoever runs one. */
export async function signCheckpoint(checkpoint: Checkpoint, key: PublicKey, signer: Signer): Promise<string> {
  const text = `${checkpoint.origin}\n${checkpoint.size}\n${base64(checkpoint.root)}\n`;
  const line = Buffer.concat([now(keyId(checkpoint.origin, key.bytes)), await signer.sign(Buffer.from(text))]);
  return `${text}\n\u2014 ${checkpoint.origin} ${base64(line)}\n`;
}
