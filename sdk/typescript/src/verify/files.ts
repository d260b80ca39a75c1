/**
 * The files of a package, and what the two long ones consist of: leaves and lines, one of each for every entry.
 *
 * Format: docs/formats/package.md.
 */
import { parse, parseWithTexts, type Json, type JsonObject } from "../format/json.js";
import { textOf } from "../format/octets.js";
import { demand, kindOf, type Shape } from "../format/shapes.js";
import { digest, type Work } from "../format/work.js";
import { broken, incomplete } from "./report.js";
import { MAX_BODY } from "./statement.js";

/** A package's files by name, unpacked. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** Longest line of statements.jsonl: a `received/v1` of full size and what stands around it. */
const MAX_LINE = MAX_BODY;
/** Key sets, tombstones, a manifest. */
const MAX_SMALL = 16 * 1024 * 1024;

export const MANIFEST: Shape = {
  typ: "package/v1", iss: "issuer", project: "prj", at: "time", first: "int", size: "int",
  files: { "*": { bytes: "int", digest: "digest" } },
};
export const TOMBSTONES: Shape = [{ seq: "int", first: "int", last: "int" }];
const RECEIVED = kindOf("received/v1")!.members as { form: Shape; signer: Shape; holds: Shape };
const WITHHELD: Shape = { form: RECEIVED.form, signer: RECEIVED.signer, holds: RECEIVED.holds };

export interface Tombstone {
  seq: number;
  first: number;
  last: number;
}

export interface Manifest {
  iss: string;
  project: string;
  at: string;
  first: number;
  size: number;
  files: Record<string, { bytes: number; digest: string }>;
}

export type Shown = { body: string } | { withheld: JsonObject } | "absent";

/** A file that must be there, and is small enough to be read whole. */
export function needed(files: Files, name: string): Uint8Array {
  const file = files.get(name);
  if (!file) throw incomplete(`${name} is not in the package`);
  if (file.length > MAX_SMALL) throw broken(`${name} is larger than ${MAX_SMALL} bytes`);
  return file;
}

export function textIn(name: string, bytes: Uint8Array): string {
  const text = textOf(bytes);
  if (text === null) throw broken(`${name} is not UTF-8`);
  return text;
}

/** A JSON file of ours that is not signed. */
export function documentIn(name: string, bytes: Uint8Array, shape: Shape): Json {
  try {
    const document = parse(bytes, "foreign");
    demand(document, shape, "$");
    return document;
  } catch (error) {
    throw broken(`${name}: ${(error as Error).message}`);
  }
}

/** Fails on the first file that is not as it was packed. */
export function* compareWith(manifest: Manifest, files: Files): Work<null> {
  for (const [name, packed] of Object.entries(manifest.files)) {
    const file = files.get(name);
    if (!file) throw incomplete(`${name} is not in the package`);
    const isSame = file.length === packed.bytes && (yield* digest(file)) === packed.digest;
    if (!isSame) throw broken(`${name} is not as it was packed`);
  }
  const unlisted = ["entries.bin", "statements.jsonl", "new.checkpoint"].find((name) => !Object.hasOwn(manifest.files, name));
  if (unlisted !== undefined) throw broken(`${unlisted} is not in the manifest`);
  return null;
}

/** entries.bin: each leaf behind its length as two bytes, big-endian. */
export function* leavesIn(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 2 + bytes[at]! * 256 + (bytes[at + 1] ?? 0);
    if (end > bytes.length) throw broken("entries.bin ends inside an entry");
    yield bytes.subarray(at + 2, end);
    at = end;
  }
}

/** statements.jsonl: each line with its number, and what it shows of that entry's body. */
export function* linesIn(bytes: Uint8Array): Generator<{ seq: number; shown: Shown }> {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    if ((end < 0 ? bytes.length : end) - at > MAX_LINE) throw broken("statements.jsonl has too long a line");
    if (end < 0) throw incomplete("statements.jsonl ends inside a line");
    yield lineOf(textIn("statements.jsonl", bytes.subarray(at, end)));
    at = end + 1;
  }
}

function lineOf(text: string): { seq: number; shown: Shown } {
  let texts: ReadonlyMap<string, string>;
  let line: JsonObject;
  try {
    ({ read: line, texts } = parseWithTexts(text, "foreign"));
    demand(line.seq, "int", "$.seq");
    if (line.withheld !== undefined) demand(line.withheld, WITHHELD, "$.withheld");
  } catch (error) {
    throw broken(`statements.jsonl does not read: ${(error as Error).message}`);
  }
  const seq = line.seq as number;
  const [kind, ...more] = Object.keys(line).filter((name) => name !== "seq");
  if (more.length === 0 && kind === "body") return { seq, shown: { body: texts.get("body")! } };
  if (more.length === 0 && kind === "withheld") return { seq, shown: { withheld: line.withheld as JsonObject } };
  if (more.length === 0 && kind === "absent" && line.absent === true) return { seq, shown: "absent" };
  throw broken(`entry ${seq}: its line says not one thing`);
}
