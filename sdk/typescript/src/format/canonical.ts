/**
 * RFC 8785: the one text of a value.
 *
 * Promised: two values that read alike have the same text, in every language. What has no such text (a lone surrogate,
 * NaN, nesting beyond 64, something that is no JSON at all) is refused with its place.
 */
import { digestOf } from "./bytes.js";
import { JsonError, MAX_BOUND_BYTES, MAX_DEPTH, parse, step, type Json } from "./json.js";

// White space and escapes may make a text longer than what it says, hardly eight times as long.
const WORTH_READING = 8 * MAX_BOUND_BYTES;

export function canonical(value: unknown): string {
  return written(value, "$", 0);
}

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

function written(value: unknown, path: string, depth: number): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw new JsonError(path, "number is not a finite double");
    return JSON.stringify(value);
  }
  if (typeof value === "string") {
    if (!value.isWellFormed()) throw new JsonError(path, "lone surrogate");
    return JSON.stringify(value);
  }
  if (typeof value !== "object") throw new JsonError(path, "not a JSON value");
  if (depth === MAX_DEPTH) throw new JsonError(path, "nesting deeper than 64");
  if (Array.isArray(value)) return `[${value.map((item, at) => written(item, `${path}[${at}]`, depth + 1)).join(",")}]`;
  return `{${members(value as Record<string, unknown>, path, depth).join(",")}}`;
}

function members(value: Record<string, unknown>, path: string, depth: number): string[] {
  // Array.prototype.sort compares UTF-16 code units, which is what RFC 8785 asks for.
  return Object.keys(value).sort().map((name) => {
    if (!name.isWellFormed()) throw new JsonError(path, "lone surrogate");
    return `${JSON.stringify(name)}:${written(value[name], path + step(name), depth + 1)}`;
  });
}
