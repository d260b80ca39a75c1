/**
 * RFC 8785: the one text of a value.
 *
 * Promised: two values that read alike have the same text, in every language. What has no such text (a lone surrogate,
 * NaN, nesting beyond 64, something that is no JSON at all) is refused with its place.
 */
import { JsonError, MAX_DEPTH, step } from "./json.js";

export function canonical(value: unknown): string {
  return written(value, "$", 0);
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
