/** Documents as commitments bind them: by the digest of their one text. */
import { digestOf } from "./bytes.js";
import { canonical } from "./canonical.js";
import { JsonError, MAX_BOUND_BYTES, parse, type Json } from "./json.js";

// White space and escapes may make a text longer than what it says, hardly eight times as long.
const WORTH_READING = 8 * MAX_BOUND_BYTES;

/** `sha256:…` of a document, as commitments bind it. */
export function documentValue(document: unknown): string {
  return digestOf(canonical(document));
}

/**
 * As `documentValue`, of a text on the wire; what has no canonical form is never refused but named:
 * `none:no_canonical_form`, `none:too_large`. Such a value is compared with nothing.
 */
export function boundValue(text: string, without: readonly string[] = []): string {
  if (text.length > WORTH_READING) return "none:too_large";
  let document: Json;
  try {
    document = parse(text, "foreign");
  } catch (error) {
    if (error instanceof JsonError) return "none:no_canonical_form";
    throw error;
  }
  if (document !== null && typeof document === "object" && !Array.isArray(document)) {
    for (const name of without) delete document[name];
  }
  const bytes = canonical(document);
  return Buffer.byteLength(bytes) > MAX_BOUND_BYTES ? "none:too_large" : digestOf(bytes);
}
