/**
 * A signed statement and its entry: what each is, and that they belong together.
 *
 * Formats: docs/formats/envelope.md, docs/formats/entry.md. Shapes: formats/statements.json.
 */
import { canonical } from "../format/canonical.js";
import type { JsonObject } from "../format/json.js";
import { parse, type Json } from "../format/json.js";
import { signatureHolds } from "../format/note.js";
import { byteLength, ofBase64url } from "../format/octets.js";
import { RECEIPT, demand, kindOf, type Kind, type Shape } from "../format/shapes.js";
import { digest, type Work } from "../format/work.js";
import type { RawKey } from "./pins.js";

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

export interface SignedStatement {
  payload: JsonObject;
  kind: Kind;
  /** The canonical payload: what is signed. */
  signed: string;
  kid: string;
  sig: string;
}

export class StatementError extends Error {
  override name = "StatementError";
}

/** Bodies of these kinds hold nothing personal and can never be erased. */
const NEVER_ERASED = [
  "finding", "clearance", "resolution", "epoch", "tombstone", "key", "rules", "registry", "kill", "resume", "incident",
];
const SHAPES = RECEIPT as { statement: Shape; entry: Shape };
/** A wrapped statement of 1.5 MiB and its signature; every kind has its own limit besides. */
export const MAX_BODY = 1.5 * 1024 * 1024 + 4096;

// A decision is at most this far ahead of its entry, and this far behind, in milliseconds.
const MOST_AHEAD = 2_000;
const MOST_BEHIND = 15_000;

/** Reads an envelope that a strict parser let through. */
export function statementOf(envelope: Json, path: string): SignedStatement {
  demand(envelope, SHAPES.statement, path);
  const { payload, signature } = envelope as { payload: JsonObject; signature: { kid: string; sig: string } };
  const kind = kindOf(payload?.typ);
  if (!kind) throw new StatementError("statement of no kind that we know");
  demand(payload, kind.members, `${path}.payload`);
  const signed = canonical(payload);
  if (byteLength(signed) > kind.bytes) throw new StatementError("statement is too large");
  return { payload, kind, signed, kid: signature.kid, sig: signature.sig };
}

/** A body as it is stored: canonical, and of a kind that we know. */
export function statementInBody(body: string): SignedStatement {
  const envelope = parse(body, "strict", MAX_BODY);
  if (canonical(envelope) !== body) throw new StatementError("body is not in canonical form");
  return statementOf(envelope, "$");
}

export function entryOf(value: Json, path: string): Entry {
  demand(value, SHAPES.entry, path);
  const entry = value as unknown as Entry;
  if (entry.v !== 1) throw new StatementError("entry of another version");
  return entry;
}

export function* signatureOf(statement: SignedStatement, key: RawKey): Work<boolean> {
  const signature = ofBase64url(statement.sig);
  return signature !== null && (yield* signatureHolds(key.bytes, statement.signed, signature));
}

export function canBeErased(kind: string): boolean {
  return !NEVER_ERASED.includes(kind);
}

/** The kind that its entry must have. */
export function entryKindOf({ kind, payload }: SignedStatement): string | undefined {
  const form = String(payload.form ?? "");
  return Object.hasOwn(kind.entry, form) ? kind.entry[form] : undefined;
}

export function genesis(project: string): Work<string> {
  return digest(`counterfoil/genesis/v1\n${project}`);
}

/** Whether a decision is too far from its entry for the entry to have been accepted. */
export function isSkewed(statement: SignedStatement, entry: Entry): boolean {
  const behind = Date.parse(entry.at) - Date.parse(String(statement.payload.at));
  return statement.payload.typ === "decision/v1" && !(behind >= -MOST_AHEAD && behind <= MOST_BEHIND);
}
