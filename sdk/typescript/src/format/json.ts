/**
 * One strict JSON reader.
 *
 * Promised: a text that is read has one reading. Whatever another reader might take otherwise is refused, and the refusal
 * names the place: `$.items[2].price`. Not promised: that the text was canonical; `canonical` makes it so.
 * Format and cases: docs/formats/canonical-json.md, docs/vectors/canonical-json.
 */
import { byteLength, textOf } from "./octets.js";

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

/**
 * `strict` is for what we sign; `foreign` for arguments, results and what others say; `receipt` is strict, but texts may have
 * line breaks, as a proof does.
 */
export type Profile = "strict" | "foreign" | "receipt";

export const MAX_DEPTH = 64;
export const MAX_STRICT_BYTES = 64 * 1024;
/** Largest canonical document that can be bound. */
export const MAX_BOUND_BYTES = 1024 * 1024;

export class JsonError extends Error {
  constructor(
    /** Such as `$.a[0].b`; `$` is the whole text. */
    readonly path: string,
    readonly reason: string,
  ) {
    super(`\`${path}\`: ${reason}`);
    this.name = "JsonError";
  }
}

export function parse(text: Uint8Array | string, profile: Profile, limit?: number): Json {
  const most = limit ?? (profile === "strict" ? MAX_STRICT_BYTES : Number.POSITIVE_INFINITY);
  if (byteLength(text) > most) throw new JsonError("$", `larger than ${most} bytes`);
  return new Reader(typeof text === "string" ? text : utf8(text), profile).document();
}

/** An object, and each of its members as the text that stands there: for what is hashed before it is believed. */
export function parseWithTexts(text: string, profile: Profile): { read: JsonObject; texts: ReadonlyMap<string, string> } {
  const reader = new Reader(text, profile);
  const read = reader.document();
  if (!isObject(read)) throw new JsonError("$", "not an object");
  return { read, texts: reader.texts };
}

export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** `.name` or `["two words"]`, as one step of a path. */
export function step(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function utf8(bytes: Uint8Array): string {
  // A byte order mark stays, and is then no JSON.
  const text = textOf(bytes);
  if (text === null) throw new JsonError("$", "not UTF-8");
  return text;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const WORDS: [string, Json][] = [["true", true], ["false", false], ["null", null]];

class Reader {
  /** The members of the outermost object, as they stand in the text. */
  readonly texts = new Map<string, string>();
  private at = 0;
  /** Names and places; they become a path only where something is refused. */
  private readonly path: (string | number)[] = [];

  constructor(
    private readonly text: string,
    private readonly profile: Profile,
  ) {}

  document(): Json {
    this.space();
    const value = this.value(0);
    this.space();
    if (this.at < this.text.length) throw this.refusal("not JSON (text after the end)");
    return value;
  }

  private refusal(reason: string): JsonError {
    const path = this.path.map((place) => (typeof place === "number" ? `[${place}]` : step(place)));
    return new JsonError(`$${path.join("")}`, reason);
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) this.at += 1;
  }

  private take(wanted: string): boolean {
    if (this.text[this.at] !== wanted) return false;
    this.at += 1;
    return true;
  }

  private value(depth: number): Json {
    const next = this.text[this.at];
    if (next === "{" || next === "[") {
      if (depth === MAX_DEPTH) throw this.refusal("nesting deeper than 64");
      this.at += 1;
      this.space();
      return next === "{" ? this.object(depth + 1) : this.array(depth + 1);
    }
    if (next === '"') return this.string();
    if (next !== undefined && "-0123456789".includes(next)) return this.number();
    return this.word();
  }

  private object(depth: number): Json {
    const members: JsonObject = {};
    if (this.take("}")) return members;
    do {
      this.space();
      this.member(members, depth);
      this.space();
    } while (this.take(","));
    if (!this.take("}")) throw this.refusal("not JSON (expected `,` or `}`)");
    return members;
  }

  private member(members: JsonObject, depth: number): void {
    if (this.text[this.at] !== '"') throw this.refusal("not JSON (expected a name)");
    const name = this.string();
    this.path.push(name);
    if (this.profile !== "foreign" && /[^\0-\x7f]/.test(name)) throw this.refusal("name is not ASCII");
    if (Object.hasOwn(members, name)) throw this.refusal("duplicate name");
    this.space();
    if (!this.take(":")) throw this.refusal("not JSON (expected `:`)");
    this.space();
    const start = this.at;
    const value = this.value(depth);
    if (depth === 1) this.texts.set(name, this.text.slice(start, this.at));
    // Plain assignment to `__proto__` would set a prototype instead of a member.
    Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
    this.path.pop();
  }

  private array(depth: number): Json {
    const items: Json[] = [];
    if (this.take("]")) return items;
    do {
      this.space();
      this.path.push(items.length);
      items.push(this.value(depth));
      this.path.pop();
      this.space();
    } while (this.take(","));
    if (!this.take("]")) throw this.refusal("not JSON (expected `,` or `]`)");
    return items;
  }

  private word(): Json {
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    throw this.refusal(this.at < this.text.length ? "not JSON (unexpected character)" : "not JSON (unexpected end)");
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (let open = true; open; this.at += 1) {
      const next = this.text[this.at];
      if (next === undefined) throw this.refusal("not JSON (unterminated string)");
      if (next === "\\") this.at += 1;
      else open = next !== '"';
    }
    const decoded = this.decoded(this.text.slice(start, this.at));
    const unsignable = this.profile === "strict" && /[\0-\x1f\u2028\u2029]/.test(decoded);
    if (unsignable) throw this.refusal("control or line separator character in a signed document");
    return decoded;
  }

  private decoded(token: string): string {
    let text: string;
    try {
      text = JSON.parse(token) as string;
    } catch {
      throw this.refusal("malformed string");
    }
    if (!text.isWellFormed()) throw this.refusal("lone surrogate");
    return text;
  }

  private number(): number {
    NUMBER.lastIndex = this.at;
    const found = NUMBER.exec(this.text);
    if (!found) throw this.refusal("not JSON (malformed number)");
    this.at = NUMBER.lastIndex;
    if (/[.eE]/.test(this.text[this.at] ?? " ")) throw this.refusal("not JSON (malformed number)");
    const value = Number(found[0]);
    const isInteger = found[1] === undefined && found[2] === undefined;
    if (isInteger && !Number.isSafeInteger(value)) throw this.refusal("integer beyond ±(2^53−1)");
    if (!isInteger && this.profile !== "foreign") throw this.refusal("fractional number in a signed document");
    if (Object.is(value, -0) && this.profile !== "foreign") throw this.refusal("minus zero in a signed document");
    if (!Number.isFinite(value)) throw this.refusal("number is not a finite double");
    return value;
  }
}
