/**
 * Exactly the members of a format.
 *
 * The shapes stand in formats/statements.json, which is the published file of docs/formats/examples word for word. {} is an
 * object with exactly these members, `name?` may be null, {"*": x} has any names, [x] is a list of x; other texts name a
 * pattern or are one, and a pattern matches the whole string.
 */
import { isObject, step, type Json } from "./json.js";
import { PUBLISHED } from "./published.js";

export type Shape = string | [Shape] | { [name: string]: Shape };

export interface Kind {
  /** Which key signs it. */
  purpose: string;
  /** The kind of its entry; for `received/v1` by form. */
  entry: Record<string, string>;
  bytes: number;
  members: Shape;
}

interface Formats {
  patterns: Record<string, string>;
  receipt: Shape;
  kinds: Record<string, Kind>;
  /** What others sign, and the ledger wraps. */
  wrapped: Record<WrappedForm, { bytes: number; members: Shape }>;
}

export type WrappedForm = "execution-native" | "vendor-wire";

const FORMATS = PUBLISHED as Formats;
const COMPILED = new Map<string, RegExp>();

export const RECEIPT = FORMATS.receipt;
export const WRAPPED = FORMATS.wrapped;
/** Every kind that an entry can have. */
export const ENTRY_KINDS: ReadonlySet<string> = new Set(Object.values(FORMATS.kinds).flatMap(({ entry }) => Object.values(entry)));
const CODES = FORMATS.patterns.code!.split("|");

export class ShapeError extends Error {
  override name = "ShapeError";
}

/** What a `typ` looks like, or null where nobody knows it. */
export function kindOf(typ: unknown): Kind | null {
  return typeof typ === "string" && Object.hasOwn(FORMATS.kinds, typ) ? FORMATS.kinds[typ]! : null;
}

/** Whether the text matches a named pattern (or one written out). */
export function matches(pattern: string, text: string): boolean {
  let compiled = COMPILED.get(pattern);
  if (!compiled) {
    const source = Object.hasOwn(FORMATS.patterns, pattern) ? FORMATS.patterns[pattern]! : pattern;
    compiled = new RegExp(`^(?:${source})$`, "u");
    COMPILED.set(pattern, compiled);
  }
  return compiled.test(text) && (pattern !== "time" || isTime(text));
}

/** Where a code of a finding stands in the published list: findings about one entry are named in this order. */
export function codeOrder(code: string): number {
  return CODES.indexOf(code);
}

/** Throws, naming the place, unless the value is of this shape. */
export function demand(value: Json | undefined, shape: Shape, path: string): void {
  const need = (holds: boolean, what: string) => {
    if (!holds) throw new ShapeError(`\`${path}\`: ${what}`);
  };
  if (Array.isArray(shape)) {
    need(Array.isArray(value), "not a list");
    (value as Json[]).forEach((item, at) => demand(item, shape[0], `${path}[${at}]`));
  } else if (typeof shape === "object") {
    demandMembers(value, shape, path);
  } else if (shape === "int") {
    need(Number.isSafeInteger(value) && (value as number) >= 0, "not a whole number from 0 up");
  } else if (shape === "bool") {
    need(typeof value === "boolean", "not true or false");
  } else if (shape === "null") {
    need(value === null, "not null");
  } else if (shape !== "any") {
    need(typeof value === "string" && matches(shape, value), `does not match ${shape}`);
  }
}

function demandMembers(value: Json | undefined, shape: { [name: string]: Shape }, path: string): void {
  if (!isObject(value)) throw new ShapeError(`\`${path}\`: not an object`);
  const any = shape["*"];
  const wanted = any === undefined
    ? Object.entries(shape)
      .filter(([name]) => !name.endsWith("~") || Object.hasOwn(value, name.slice(0, -1)))
      .map(([name, inner]) => ({ name: name.replace(/[?~]$/, ""), nullable: name.endsWith("?"), inner }))
    : Object.keys(value).map((name) => ({ name, nullable: false, inner: any }));
  const surplus = Object.keys(value).find((name) => !wanted.some((member) => member.name === name));
  if (surplus !== undefined) throw new ShapeError(`\`${path}${step(surplus)}\`: not a member of this format`);
  for (const { name, nullable, inner } of wanted) {
    if (!Object.hasOwn(value, name)) throw new ShapeError(`\`${path}${step(name)}\`: missing`);
    if (!nullable || value[name] !== null) demand(value[name], inner, path + step(name));
  }
}

function isTime(text: string): boolean {
  // 30 February parses as 1 March, which is then written otherwise.
  const time = new Date(text);
  return !Number.isNaN(time.valueOf()) && time.toISOString() === text;
}
