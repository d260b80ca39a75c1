/*
Verifies the record behind an evidence page, in the page. Written by evidence-service/web/make.mjs from sdk/typescript/src and evidence-service/web/parts: change those.
Long because it is one file on purpose: nothing else has to be fetched, and one digest says that it is this one.
Licensed under the Apache License, Version 2.0.
*/
"use strict";
(() => {
// sdk/typescript/src/format/octets.ts
const format_octets = (() => {
/**
 * Bytes and their spellings, with nothing but what every engine has: for code that also runs in a page.
 *
 * Promised: a base64 or base64url text decodes only if it is the spelling that an encoder would have written; anything else is null.
 */
const ENCODER = new TextEncoder();
const SLICE = 0x8000;
function utf8(text) {
    return typeof text === "string" ? ENCODER.encode(text) : text;
}
/** Null if the bytes are no UTF-8. A byte order mark stays. */
function textOf(bytes) {
    try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    }
    catch {
        return null;
    }
}
/** Length in UTF-8. */
function byteLength(text) {
    return utf8(text).length;
}
function concat(parts) {
    const all = parts.map(utf8);
    const whole = new Uint8Array(all.reduce((length, part) => length + part.length, 0));
    let at = 0;
    for (const part of all) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}
function same(one, other) {
    return one.length === other.length && one.every((byte, at) => byte === other[at]);
}
function hex(bytes) {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
function toBase64(bytes) {
    let text = "";
    for (let at = 0; at < bytes.length; at += SLICE)
        text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
    return btoa(text);
}
function toBase64url(bytes) {
    return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
function ofBase64(text) {
    return decoded(text, text, toBase64);
}
function ofBase64url(text) {
    return decoded(text, text.replaceAll("-", "+").replaceAll("_", "/"), toBase64url);
}
function decoded(text, standard, encode) {
    let bytes;
    try {
        bytes = Uint8Array.from(atob(standard), (letter) => letter.charCodeAt(0));
    }
    catch {
        return null;
    }
    // Engines skip what they need not understand, so only what is written back alike was understood.
    return encode(bytes) === text ? bytes : null;
}
return { utf8, textOf, byteLength, concat, same, hex, toBase64, toBase64url, ofBase64, ofBase64url };
})();

// sdk/typescript/src/format/later.ts
const format_later = (() => {
const { toBase64url } = format_octets;
const MOST_KEYS = 1000;
const KEYS = new Map();
async function later(work) {
    let step = work.next();
    while (!step.done)
        step = work.next(await Promise.all(step.value.map(reply)));
    return step.value;
}
/** Whether this engine has Ed25519 and SHA-256: by verifying the first case of RFC 8032, and one changed signature. */
async function canVerify() {
    const bytes = (hex) => Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));
    const key = bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    const signature = bytes("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
    const other = signature.slice();
    other[0] ^= 1;
    const message = new Uint8Array();
    try {
        const holds = await reply({ ask: "ed25519", key, message, signature });
        return holds === true && (await reply({ ask: "ed25519", key, message, signature: other })) === false;
    }
    catch {
        return false;
    }
}
async function reply(question) {
    const { subtle } = globalThis.crypto;
    if (question.ask === "sha256")
        return new Uint8Array(await subtle.digest("SHA-256", question.bytes));
    return subtle.verify("Ed25519", await cryptoKey(question.key), question.signature, question.message);
}
function cryptoKey(key) {
    const name = toBase64url(key);
    let imported = KEYS.get(name);
    if (!imported) {
        imported = globalThis.crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
        if (KEYS.size >= MOST_KEYS)
            KEYS.clear();
        KEYS.set(name, imported);
    }
    return imported;
}
return { later, canVerify };
})();

// sdk/typescript/src/format/json.ts
const format_json = (() => {
/**
 * One strict JSON reader.
 *
 * Promised: a text that is read has one reading. Whatever another reader might take otherwise is refused, and the refusal
 * names the place: `$.items[2].price`. Not promised: that the text was canonical; `canonical` makes it so.
 * Format and cases: docs/formats/canonical-json.md, docs/vectors/canonical-json.
 */
const { byteLength, textOf } = format_octets;
const MAX_DEPTH = 64;
const MAX_STRICT_BYTES = 64 * 1024;
/** Largest canonical document that can be bound. */
const MAX_BOUND_BYTES = 1024 * 1024;
class JsonError extends Error {
    path;
    reason;
    constructor(
    /** Such as `$.a[0].b`; `$` is the whole text. */
    path, reason) {
        super(`\`${path}\`: ${reason}`);
        this.path = path;
        this.reason = reason;
        this.name = "JsonError";
    }
}
function parse(text, profile, limit) {
    const most = limit ?? (profile === "strict" ? MAX_STRICT_BYTES : Number.POSITIVE_INFINITY);
    if (byteLength(text) > most)
        throw new JsonError("$", `larger than ${most} bytes`);
    return new Reader(typeof text === "string" ? text : utf8(text), profile).document();
}
/** An object, and each of its members as the text that stands there: for what is hashed before it is believed. */
function parseWithTexts(text, profile) {
    const reader = new Reader(text, profile);
    const read = reader.document();
    if (!isObject(read))
        throw new JsonError("$", "not an object");
    return { read, texts: reader.texts };
}
function isObject(value) {
    return value !== null && typeof value === "object" && !Array.isArray(value);
}
/** `.name` or `["two words"]`, as one step of a path. */
function step(name) {
    return /^[A-Za-z0-9_-]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
function utf8(bytes) {
    // A byte order mark stays, and is then no JSON.
    const text = textOf(bytes);
    if (text === null)
        throw new JsonError("$", "not UTF-8");
    return text;
}
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const WORDS = [["true", true], ["false", false], ["null", null]];
class Reader {
    text;
    profile;
    /** The members of the outermost object, as they stand in the text. */
    texts = new Map();
    at = 0;
    /** Names and places; they become a path only where something is refused. */
    path = [];
    constructor(text, profile) {
        this.text = text;
        this.profile = profile;
    }
    document() {
        this.space();
        const value = this.value(0);
        this.space();
        if (this.at < this.text.length)
            throw this.refusal("not JSON (text after the end)");
        return value;
    }
    refusal(reason) {
        const path = this.path.map((place) => (typeof place === "number" ? `[${place}]` : step(place)));
        return new JsonError(`$${path.join("")}`, reason);
    }
    space() {
        while (" \t\n\r".includes(this.text[this.at] ?? "x"))
            this.at += 1;
    }
    take(wanted) {
        if (this.text[this.at] !== wanted)
            return false;
        this.at += 1;
        return true;
    }
    value(depth) {
        const next = this.text[this.at];
        if (next === "{" || next === "[") {
            if (depth === MAX_DEPTH)
                throw this.refusal("nesting deeper than 64");
            this.at += 1;
            this.space();
            return next === "{" ? this.object(depth + 1) : this.array(depth + 1);
        }
        if (next === '"')
            return this.string();
        if (next !== undefined && "-0123456789".includes(next))
            return this.number();
        return this.word();
    }
    object(depth) {
        const members = {};
        if (this.take("}"))
            return members;
        do {
            this.space();
            this.member(members, depth);
            this.space();
        } while (this.take(","));
        if (!this.take("}"))
            throw this.refusal("not JSON (expected `,` or `}`)");
        return members;
    }
    member(members, depth) {
        if (this.text[this.at] !== '"')
            throw this.refusal("not JSON (expected a name)");
        const name = this.string();
        this.path.push(name);
        if (this.profile !== "foreign" && /[^\0-\x7f]/.test(name))
            throw this.refusal("name is not ASCII");
        if (Object.hasOwn(members, name))
            throw this.refusal("duplicate name");
        this.space();
        if (!this.take(":"))
            throw this.refusal("not JSON (expected `:`)");
        this.space();
        const start = this.at;
        const value = this.value(depth);
        if (depth === 1)
            this.texts.set(name, this.text.slice(start, this.at));
        // Plain assignment to `__proto__` would set a prototype instead of a member.
        Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
        this.path.pop();
    }
    array(depth) {
        const items = [];
        if (this.take("]"))
            return items;
        do {
            this.space();
            this.path.push(items.length);
            items.push(this.value(depth));
            this.path.pop();
            this.space();
        } while (this.take(","));
        if (!this.take("]"))
            throw this.refusal("not JSON (expected `,` or `]`)");
        return items;
    }
    word() {
        for (const [word, value] of WORDS) {
            if (this.text.startsWith(word, this.at)) {
                this.at += word.length;
                return value;
            }
        }
        throw this.refusal(this.at < this.text.length ? "not JSON (unexpected character)" : "not JSON (unexpected end)");
    }
    string() {
        const start = this.at;
        this.at += 1;
        for (let open = true; open; this.at += 1) {
            const next = this.text[this.at];
            if (next === undefined)
                throw this.refusal("not JSON (unterminated string)");
            if (next === "\\")
                this.at += 1;
            else
                open = next !== '"';
        }
        const decoded = this.decoded(this.text.slice(start, this.at));
        const unsignable = this.profile === "strict" && /[\0-\x1f\u2028\u2029]/.test(decoded);
        if (unsignable)
            throw this.refusal("control or line separator character in a signed document");
        return decoded;
    }
    decoded(token) {
        let text;
        try {
            text = JSON.parse(token);
        }
        catch {
            throw this.refusal("malformed string");
        }
        if (!text.isWellFormed())
            throw this.refusal("lone surrogate");
        return text;
    }
    number() {
        NUMBER.lastIndex = this.at;
        const found = NUMBER.exec(this.text);
        if (!found)
            throw this.refusal("not JSON (malformed number)");
        this.at = NUMBER.lastIndex;
        if (/[.eE]/.test(this.text[this.at] ?? " "))
            throw this.refusal("not JSON (malformed number)");
        const value = Number(found[0]);
        const isInteger = found[1] === undefined && found[2] === undefined;
        if (isInteger && !Number.isSafeInteger(value))
            throw this.refusal("integer beyond ±(2^53−1)");
        if (!isInteger && this.profile !== "foreign")
            throw this.refusal("fractional number in a signed document");
        if (Object.is(value, -0) && this.profile !== "foreign")
            throw this.refusal("minus zero in a signed document");
        if (!Number.isFinite(value))
            throw this.refusal("number is not a finite double");
        return value;
    }
}
return { MAX_DEPTH, MAX_STRICT_BYTES, MAX_BOUND_BYTES, JsonError, parse, parseWithTexts, isObject, step };
})();

// sdk/typescript/src/format/canonical.ts
const format_canonical = (() => {
/**
 * RFC 8785: the one text of a value.
 *
 * Promised: two values that read alike have the same text, in every language. What has no such text (a lone surrogate,
 * NaN, nesting beyond 64, something that is no JSON at all) is refused with its place.
 */
const { JsonError, MAX_DEPTH, step } = format_json;
function canonical(value) {
    return written(value, "$", 0);
}
function written(value, path, depth) {
    if (value === null || typeof value === "boolean")
        return String(value);
    if (typeof value === "number") {
        if (!Number.isFinite(value))
            throw new JsonError(path, "number is not a finite double");
        return JSON.stringify(value);
    }
    if (typeof value === "string") {
        if (!value.isWellFormed())
            throw new JsonError(path, "lone surrogate");
        return JSON.stringify(value);
    }
    if (typeof value !== "object")
        throw new JsonError(path, "not a JSON value");
    if (depth === MAX_DEPTH)
        throw new JsonError(path, "nesting deeper than 64");
    if (Array.isArray(value))
        return `[${value.map((item, at) => written(item, `${path}[${at}]`, depth + 1)).join(",")}]`;
    return `{${members(value, path, depth).join(",")}}`;
}
function members(value, path, depth) {
    // Array.prototype.sort compares UTF-16 code units, which is what RFC 8785 asks for.
    return Object.keys(value).sort().map((name) => {
        if (!name.isWellFormed())
            throw new JsonError(path, "lone surrogate");
        return `${JSON.stringify(name)}:${written(value[name], path + step(name), depth + 1)}`;
    });
}
return { canonical };
})();

// sdk/typescript/src/format/curve.ts
const format_curve = (() => {
/**
 * Which 32 bytes may be an Ed25519 key at all.
 *
 * OpenSSL, and so node:crypto, takes points of small order, under which signatures hold for messages that nobody signed. It
 * also takes second spellings, and bytes that are on no curve until they are used. All three are refused here.
 */
const { hex } = format_octets;
const P = 2n ** 255n - 19n;
const D = (-121665n * power(121666n, P - 2n)) % P;
// y of the points of order eight; with 0, 1 and -1 these are all that have small order.
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL = new Set([0n, 1n, P - 1n, Y8, P - Y8]);
function isSmallOrder(point) {
    return SMALL.has(yOf(point) % P);
}
function isUsableKey(point) {
    return point.length === 32 && yOf(point) < P && !isSmallOrder(point) && isOnCurve(yOf(point));
}
function yOf(point) {
    return BigInt(`0x${hex(Uint8Array.from(point).reverse()) || "0"}`) % 2n ** 255n;
}
/** Whether x² = (y² − 1) / (d·y² + 1) has a root (RFC 8032, section 5.1.3), by Euler's criterion. */
function isOnCurve(y) {
    const square = (y * y) % P;
    const x2 = ((square - 1n + P) * power(mod(D * square + 1n), P - 2n)) % P;
    return x2 === 0n || power(x2, (P - 1n) / 2n) === 1n;
}
function mod(value) {
    return ((value % P) + P) % P;
}
function power(base, exponent) {
    let result = 1n;
    for (let factor = mod(base), left = exponent; left > 0n; left >>= 1n) {
        if (left & 1n)
            result = (result * factor) % P;
        factor = (factor * factor) % P;
    }
    return result;
}
return { isSmallOrder, isUsableKey };
})();

// sdk/typescript/src/format/work.ts
const format_work = (() => {
/**
 * Work that needs hashes and signatures, and does not say who makes them.
 *
 * Node's functions answer at once, those of a page (WebCrypto) answer later, and what is verified must not depend on it. So
 * verification is a generator that asks: `now` runs it to its end with Node's, `later` with a page's.
 *
 *     const hash = yield* sha256("abc");
 */
const { concat, hex, utf8 } = format_octets;
function* sha256(...parts) {
    const [hash] = yield [{ ask: "sha256", bytes: parts.length === 1 ? utf8(parts[0]) : concat(parts) }];
    return hash;
}
/** `sha256:<hex>`, as digests stand in every format. */
function* digest(bytes) {
    return `sha256:${hex(yield* sha256(bytes))}`;
}
function* equationHolds(key, message, signature) {
    const [holds] = yield [{ ask: "ed25519", key: key, message: utf8(message), signature: signature }];
    return holds === true;
}
/** Several works side by side: what they ask at the same time is asked at the same time. */
function* together(works) {
    const all = works;
    const steps = all.map((work) => work.next());
    for (;;) {
        const open = steps.flatMap((step, at) => (step.done ? [] : [{ at, asked: step.value }]));
        if (open.length === 0)
            return steps.map((step) => step.value);
        const replies = yield open.flatMap(({ asked }) => asked);
        let used = 0;
        for (const { at, asked } of open) {
            steps[at] = all[at].next(replies.slice(used, used + asked.length));
            used += asked.length;
        }
    }
}
function* nothing() {
    return null;
}
return { sha256, digest, equationHolds, together, nothing };
})();

// sdk/typescript/src/format/note.ts
const format_note = (() => {
/**
 * Signed notes, checkpoints and tlog-proofs (C2SP), read and not yet believed.
 *
 * Promised: `Note.signature` says what a key's lines in a note are worth; lines of other keys are ignored, a failing line of this key
 * spoils the note. Not promised: that everybody was shown the same.
 * Format and cases: docs/formats/checkpoint.md, docs/vectors/checkpoints.
 */
const { isSmallOrder } = format_curve;
const { byteLength, ofBase64, same } = format_octets;
const { equationHolds, sha256 } = format_work;
const ED25519 = "\x01";
const MAX_NOTE = 64 * 1024;
// White space spelled out: languages differ about `\s`.
const LINE = /^\u2014 ([^\0-\x20+\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+) ([A-Za-z0-9+/]+=*)$/u;
class NoteError extends Error {
    name = "NoteError";
}
function* keyId(name, key) {
    return (yield* sha256(name, "\n", ED25519, key)).slice(0, 4);
}
/** Strictly: neither a short signature nor a nonce of small order. The key was looked at when it was pinned. */
function* signatureHolds(key, message, signature) {
    if (signature.length !== 64 || isSmallOrder(signature.subarray(0, 32)))
        return false;
    return yield* equationHolds(key, message, signature);
}
class Note {
    text;
    lines;
    constructor(
    /** What is signed, its last newline included. */
    text, lines) {
        this.text = text;
        this.lines = lines;
    }
    static parse(note) {
        if (byteLength(note) > MAX_NOTE)
            throw new NoteError("note is larger than 64 KiB");
        if (/[\0-\x09\x0b-\x1f]/.test(note))
            throw new NoteError("note has a control character");
        const split = note.lastIndexOf("\n\n");
        if (split < 0 || !note.endsWith("\n") || split + 2 >= note.length)
            throw new NoteError("note is not signed");
        const lines = note.slice(split + 2, -1).split("\n").map(signatureLine);
        return new Note(note.slice(0, split + 1), lines);
    }
    /** What the lines under this name and key say. `key` is the 32 bytes of a public key. */
    *signature(name, key) {
        const id = yield* keyId(name, key);
        const ours = this.lines.filter((line) => line.name === name && same(line.id, id));
        for (const line of ours) {
            if (!(yield* signatureHolds(key, this.text, line.signature)))
                return "fails";
        }
        return ours.length === 0 ? "absent" : "holds";
    }
    /** Reads the body as a checkpoint, believing nothing. */
    checkpoint() {
        const [origin, size, root, ...more] = this.text.slice(0, -1).split("\n");
        const hash = root === undefined ? null : ofBase64(root);
        const isNumber = size !== undefined && /^(0|[1-9][0-9]{0,15})$/.test(size) && Number.isSafeInteger(Number(size));
        if (!origin || !isNumber || hash?.length !== 32 || more.includes("")) {
            throw new NoteError("checkpoint does not read as origin, size, root");
        }
        return { origin, size: Number(size), root: hash };
    }
}
function parseLogProof(text) {
    const malformed = new NoteError("proof does not read as a C2SP tlog-proof");
    const split = text.indexOf("\n\n");
    if (split < 0)
        throw malformed;
    const [header, ...lines] = text.slice(0, split).split("\n");
    if (header !== "c2sp.org/tlog-proof@v1")
        throw malformed;
    // An `extra` line is allowed, unauthenticated, and of no use to us.
    if (lines[0]?.startsWith("extra "))
        lines.shift();
    const index = /^index (0|[1-9][0-9]{0,15})$/.exec(lines.shift() ?? "")?.[1];
    const path = lines.map(ofBase64);
    if (index === undefined || path.some((hash) => hash?.length !== 32))
        throw malformed;
    return { index: Number(index), path: path, checkpoint: text.slice(split + 2) };
}
function signatureLine(line) {
    const [, name, blob] = LINE.exec(line) ?? [];
    const bytes = blob === undefined ? null : ofBase64(blob);
    if (!name || !bytes || bytes.length < 5)
        throw new NoteError("a signature line of the note is malformed");
    return { name, id: bytes.subarray(0, 4), signature: bytes.subarray(4) };
}
return { NoteError, keyId, signatureHolds, Note, parseLogProof };
})();

// sdk/typescript/src/format/tree.ts
const format_tree = (() => {
/**
 * RFC 6962 trees: roots, and the two proofs that a log owes its readers.
 *
 * A node that cannot be had makes a root or path fail; a proof is believed only when it was recomputed.
 * Cases: docs/vectors/trees.
 */
const { same } = format_octets;
const { sha256 } = format_work;
function leafHash(data) {
    return sha256("\0", data);
}
function nodeHash(left, right) {
    return sha256("\x01", left, right);
}
/** The root of the first `size` leaves. */
function* rootOf(size, node) {
    return size === 0 ? yield* sha256("") : yield* spanHash(0, size, node);
}
function* inclusionPath(index, size, node) {
    return yield* pathIn(index, 0, size, node);
}
/** Leaf's sibling first. */
function* verifyInclusion(leaf, index, size, path, root) {
    if (index >= size)
        return false;
    const used = { count: 0 };
    const computed = yield* climb(leaf, index, size, path, used);
    return computed !== null && used.count === path.length && same(computed, root);
}
function* consistencyPath(old, size, node) {
    return old === 0 || old === size ? [] : yield* subProof(old, 0, size, node, true);
}
/** Whether a tree of `size` with `root` begins with the tree of `old` with `oldRoot` (RFC 9162, section 2.1.4.2). */
function* verifyConsistency(old, size, path, oldRoot, root) {
    if (old > size)
        return false;
    if (old === size)
        return path.length === 0 && same(oldRoot, root);
    if (old === 0)
        return path.length === 0;
    const proof = isPowerOfTwo(old) ? [oldRoot, ...path] : [...path];
    let [low, high] = [old - 1, size - 1];
    while (low % 2 === 1)
        [low, high] = [half(low), half(high)];
    const first = proof.shift();
    if (!first)
        return false;
    let [before, after] = [first, first];
    for (const sibling of proof) {
        if (high === 0)
            return false;
        if (low % 2 === 1 || low === high) {
            [before, after] = [yield* nodeHash(sibling, before), yield* nodeHash(sibling, after)];
            while (low !== 0 && low % 2 === 0)
                [low, high] = [half(low), half(high)];
        }
        else {
            after = yield* nodeHash(after, sibling);
        }
        [low, high] = [half(low), half(high)];
    }
    return high === 0 && same(before, oldRoot) && same(after, root);
}
const half = (n) => Math.floor(n / 2);
const isPowerOfTwo = (n) => Number.isInteger(Math.log2(n));
/** Largest power of two below `size`. */
function split(size) {
    let at = 1;
    while (at * 2 < size)
        at *= 2;
    return at;
}
function* spanHash(start, size, node) {
    if (isPowerOfTwo(size))
        return yield* node(Math.log2(size), start / size);
    const left = split(size);
    return yield* nodeHash(yield* spanHash(start, left, node), yield* spanHash(start + left, size - left, node));
}
function* pathIn(index, start, size, node) {
    if (size === 1)
        return [];
    const left = split(size);
    if (index < left)
        return [...(yield* pathIn(index, start, left, node)), yield* spanHash(start + left, size - left, node)];
    return [...(yield* pathIn(index - left, start + left, size - left, node)), yield* spanHash(start, left, node)];
}
function* subProof(old, start, size, node, isWhole) {
    if (old === size)
        return isWhole ? [] : [yield* spanHash(start, size, node)];
    const left = split(size);
    if (old <= left) {
        return [...(yield* subProof(old, start, left, node, isWhole)), yield* spanHash(start + left, size - left, node)];
    }
    return [...(yield* subProof(old - left, start + left, size - left, node, false)), yield* spanHash(start, left, node)];
}
/** The path is consumed from the leaf up, as the recursion returns. */
function* climb(leaf, index, size, path, used) {
    if (size === 1)
        return leaf;
    const left = split(size);
    const isLeft = index < left;
    const below = isLeft ? yield* climb(leaf, index, left, path, used) : yield* climb(leaf, index - left, size - left, path, used);
    const sibling = path[used.count];
    if (!below || !sibling)
        return null;
    used.count += 1;
    return isLeft ? yield* nodeHash(below, sibling) : yield* nodeHash(sibling, below);
}
return { leafHash, nodeHash, rootOf, inclusionPath, verifyInclusion, consistencyPath, verifyConsistency, split };
})();

// sdk/typescript/src/verify/continuation.ts
const verify_continuation = (() => {
/**
 * Whether a log still begins with what somebody holds of it.
 *
 * Tiles prove nothing by themselves. What they say of the older tree counts once it was led up to the newer root: then it is the
 * log's own word, and if what was held says otherwise, the log forked. Before that, the tiles are merely wrong.
 */
const { canonical } = format_canonical;
const { same } = format_octets;
const { consistencyPath, inclusionPath, leafHash, rootOf, verifyConsistency, verifyInclusion, } = format_tree;
/** What was held, against the newer tree, which `node` reads. `old` is not larger. */
function* continuation(old, newer, node) {
    const root = yield* rootOf(old.size, node);
    const path = yield* consistencyPath(old.size, newer.size, node);
    if (!(yield* verifyConsistency(old.size, newer.size, path, root, newer.root)))
        return "unproven";
    return same(root, old.root) ? "holds" : "forked";
}
/** What stands in the entry's place. */
function* placeOf(entry, head, node) {
    if (entry.seq >= head.size)
        return "unproven";
    const leaf = yield* node(0, entry.seq);
    const path = yield* inclusionPath(entry.seq, head.size, node);
    if (!(yield* verifyInclusion(leaf, entry.seq, head.size, path, head.root)))
        return "unproven";
    return same(leaf, yield* leafHash(canonical(entry))) ? "holds" : "forked";
}
return { continuation, placeOf };
})();

// sdk/typescript/src/format/published.ts
const format_published = (() => {
/** The published shapes: docs/formats/examples/statements.json. */
const PUBLISHED = {"about":"The members of a receipt. {} is an object with exactly these members, in any order; a name ending in ? may be null, one ending in ~ may be absent; {\"*\": x} has any member names; [x] is a list of x. int (0 and up), bool, null, string and any are as they sound; every other text names a pattern below, or is one. A pattern matches the whole string.","proof":"c2sp[.]org/tlog-proof@v1\\n(?:extra [A-Za-z0-9+/=]*\\n)?index (0|[1-9][0-9]{0,15})\\n((?:[A-Za-z0-9+/]{43}=\\n)*)\\n(([^\\x00-\\x20+\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ud800-\\udfff]+)\\n(0|[1-9][0-9]{0,15})\\n([A-Za-z0-9+/]{43}=)\\n(?:[^\\x00-\\x1f\\ud800-\\udfff]+\\n)*)\\n((?:— [^\\x00-\\x20+\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ud800-\\udfff]+ [A-Za-z0-9+/]+=*\\n)+)","patterns":{"string":"[^\\x00-\\x1f]*","text":"[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]{1,280}","lines":"[^\\x00-\\x09\\x0b-\\x1f]*","time":"(19[7-9][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z","day":"[0-9]{4}-[0-9]{2}-[0-9]{2}","digest":"sha256:[0-9a-f]{64}","commit":"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]","thumbprint":"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]","signature":"[A-Za-z0-9_-]{85}[AQgw]","nonce":"[A-Za-z0-9_-]{21}[AQgw]","base64url":"[A-Za-z0-9_-]*","base64":"[A-Za-z0-9+/]{43}=","https":"https://[A-Za-z0-9._~:/%!$&'()*+,;=-]{1,500}","issuer":"https://[a-z0-9.-]+/p/(0|[1-9][0-9]*)-[a-z0-9]{8}","provider":"[a-z][a-z0-9-]{0,15}","word":"[a-z][a-z0-9_]{0,31}","rule":"[A-Za-z0-9_.-]{1,64}","tool":"[^\\x00-\\x1f]{1,128}","prj":"prj_[0-9a-f]{32}","act":"act_[0-9a-f]{32}","ses":"ses_[0-9a-f]{32}","run":"run_[0-9a-f]{32}","agt":"agt_[0-9a-f]{32}","hld":"hld_[0-9a-f]{32}","grt":"grt_[0-9a-f]{32}","env":"live|test","verb":"read|list|search|create|update|delete|move|send|publish|pay|execute|authorize|quote","operation":"read|write|send|delete|execute|unknown","data_class":"none|operational|financial|credential|personal|unknown","destination":"none|internal|external|third_party|unknown","magnitude":"none|single|bulk|unknown","reversibility":"reversible|costly|terminal|unknown","source":"declared|catalogued|inferred|derived|unknown","json_type":"null|boolean|number|string|array|object","verdict":"ALLOW|DENY|STEP_UP|MODIFY|DEFER","reason":"rule|no_rule|unknown_tool|noun_missing|definition_changed|no_such_tool|not_bindable|malformed|policy_error|killed|revoked|over_cap|stale|skew|person_required|grant|approved|answered_no|hold_expired|control_verb|break_glass","mark":"break_glass|vendor_approved","status":"returned|error|timeout|cancelled|refused|not_sent|asked","not_sent":"ack_unknown|too_late|killed|client_gone|no_capability","purpose":"decision|capability|ledger|log|tick|witness|execution","event":"introduced|retired|revoked","outcome":"EXECUTED|SKIPPED|FAILED|BLOCKED|ESCALATED|ABANDONED|NOT_ATTEMPTED","error_code":"[A-Za-z0-9_.-]{1,64}","share":"all|some|none|unknown","basis":"declared|measured|probed","say":"deny|approve_once|approve_for","grant_event":"given|renewed|shortened|removed","scope":"(?:agt|key)_[0-9a-f]{32}|live|test","probe_case":"missing|receipt|oversized|alg_none|hmac|other_type|critical_header|unknown_key|forged_key|other_issuer|other_audience|other_environment|expired|not_yet|too_long|other_tool|changed_argument|replayed","probe_outcome":"refused|passed|unclear","removal":"retention|request|archive","code":"EXECUTION_WITHOUT_DECISION|INVALID_VENDOR_SIGNATURE|REVOKED_KEY|WRONG_SIGNER|DUPLICATE_EXECUTION|CONTRADICTING_EXECUTIONS|ARGUMENTS_DIFFER|RESULT_DIFFERS|CHARGE_MISMATCH|EXECUTED_AGAINST_VERDICT|STATEMENT_CONTRADICTS_OBSERVATION|OUTCOME_UNKNOWN|MISSING_EXECUTION|LATE_EXECUTION|BROKEN_CHAIN|TOOL_CHANGED|SECRET_ECHO|BACKDATED|SEEN_DIFFERS|CATALOG_SIGNATURE|UNKNOWN_PREVIOUS"},"receipt":{"typ":"receipt/v1","statement":{"payload":"any","signature":{"alg":"Ed25519","kid":"thumbprint","sig":"signature"}},"entry":{"v":"int","project":"prj","seq":"int","epoch":"day","at":"time","kind":"[a-z]+","body":"digest","prev":"digest"},"proof":"lines"},"kinds":{"decision/v1":{"purpose":"decision","entry":{"":"decision"},"bytes":65536,"members":{"typ":"decision/v1","iss":"issuer","project":"prj","env":"env","action":"act","follows?":"act","supersedes?":"digest","session?":"ses","run?":"run","at":"time","nonce":"nonce","origin":"mcp|stdio|sdk|console|commission","mode":"gateway|hook","via":"string","agent":"agt","principal?":"commit","provider?":"provider","tool?":"tool","pin?":"digest","class?":{"service":"word","verb":"verb","nouns":[{"type":"word","commit":"commit"}],"operation":"operation","data_class":"data_class","destination":"destination","magnitude":"magnitude","reversibility":"reversibility","source":{"operation":"source","data_class":"source","destination":"source","magnitude":"source","reversibility":"source"}},"shape?":{"*":{"type":"json_type","size":"int"}},"args?":"commit","facts":"commit","verdict":"verdict","reason":"reason","rules":["rule"],"policy":"digest","grants":"digest","control":"int","gen":"int","effect":"enforced|advisory","marks":["mark"],"hold?":"hld","answers?":{"hold":"hld","decision":"digest","answer":"digest"},"capability?":"nonce","ask?":{"seq":"int","prev?":"string","at":"time"},"quote?":{"digest":"digest","amount":"commit","currency":"string"},"plan?":{"digest":"digest","step":"string"}}},"observation/v1":{"purpose":"decision","entry":{"":"observation"},"bytes":65536,"members":{"typ":"observation/v1","iss":"issuer","project":"prj","env":"env","action":"act","decision":"digest","provider":"provider","tool":"tool","status":"status","reason?":"not_sent","is_error?":"bool","result?":"commit","error?":"commit","sent_at?":"time","at":"time","nonce":"nonce"}},"received/v1":{"purpose":"ledger","bytes":1572864,"entry":{"execution-native":"execution","vendor-wire":"execution","catalog":"catalog","webauthn":"answer"},"members":{"typ":"received/v1","form":"execution-native|vendor-wire|catalog|webauthn","signer":{"kid?":"string","thumbprint?":"thumbprint"},"project":"prj","at":"time","holds":"bool","bytes":"base64url"}},"key/v1":{"purpose":"ledger","entry":{"":"key"},"bytes":65536,"members":{"typ":"key/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","event":"event","purpose":"purpose","provider?":"provider","key":{"kty":"string","crv":"string","x":"string"},"thumbprint":"thumbprint","replaces?":"thumbprint","compromised_since?":"time","possession?":"signature","source~":{"url":"https","host":"[a-z0-9.-]+","at":"time","digest":"digest"}}},"rules/v1":{"purpose":"ledger","entry":{"":"rules"},"bytes":65536,"members":{"typ":"rules/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","document":"digest","policy":"digest","reason?":"string","expires_at?":"time"}},"registry/v1":{"purpose":"ledger","entry":{"":"registry"},"bytes":65536,"members":{"typ":"registry/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","document":"digest","policy":"digest","reason?":"string","expires_at?":"time"}},"epoch/v1":{"purpose":"ledger","entry":{"":"epoch"},"bytes":65536,"members":{"typ":"epoch/v1","iss":"issuer","project":"prj","at":"time","epoch":"string","first":"int","last":"int","root":"base64","counts":{"*":"int"}}},"finding/v1":{"purpose":"ledger","entry":{"":"finding"},"bytes":65536,"members":{"typ":"finding/v1","iss":"issuer","project":"prj","at":"time","code":"code","action?":"act","statement?":"digest","seq?":"int"}},"clearance/v1":{"purpose":"ledger","entry":{"":"clearance"},"bytes":65536,"members":{"typ":"clearance/v1","iss":"issuer","project":"prj","at":"time","finding":"digest","code":"code","action":"act","statement":"digest","seq":"int"}},"resolution/v1":{"purpose":"ledger","entry":{"":"resolution"},"bytes":65536,"members":{"typ":"resolution/v1","iss":"issuer","project":"prj","at":"time","behalf":"string","authorization?":"null","finding":"digest","note":"text"}},"coverage/v1":{"purpose":"ledger","entry":{"":"coverage"},"bytes":65536,"members":{"typ":"coverage/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","providers":[{"provider":"provider","share":"share","basis":"basis"}],"reason?":"text"}},"settings/v1":{"purpose":"ledger","entry":{"":"settings"},"bytes":65536,"members":{"typ":"settings/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","name":"word","value":"text"}},"tombstone/v1":{"purpose":"ledger","entry":{"":"tombstone"},"bytes":65536,"members":{"typ":"tombstone/v1","iss":"issuer","project":"prj","at":"time","behalf":"string","removal":"removal","epoch":"string","first":"int","last":"int"}},"probe/v1":{"purpose":"ledger","entry":{"":"probe"},"bytes":65536,"members":{"typ":"probe/v1","iss":"issuer","project":"prj","at":"time","behalf":"string","provider":"provider","tool":"tool","began_at":"time","cases":[{"case":"probe_case","outcome":"probe_outcome"}]}},"kill/v1":{"purpose":"ledger","entry":{"":"kill"},"bytes":65536,"members":{"typ":"kill/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","reason?":"string","scope~":"scope"}},"incident/v1":{"purpose":"ledger","entry":{"":"incident"},"bytes":65536,"members":{"typ":"incident/v1","iss":"issuer","project":"prj","at":"time","code":"string","behalf":"string","reason":"string"}},"hold/v1":{"purpose":"ledger","entry":{"":"hold"},"bytes":65536,"members":{"typ":"hold/v1","iss":"issuer","project":"prj","at":"time","event":"expired|swept","hold":"hld","action":"act","decision":"digest"}},"answer/v1":{"purpose":"ledger","entry":{"":"answer"},"bytes":65536,"members":{"typ":"answer/v1","iss":"issuer","project":"prj","at":"time","behalf":"string","authorization?":"null","by":"login|local","hold":"hld","action":"act","decision":"digest","card":"digest","answer":"say","grants":["grt"],"until?":"time"}},"grant/v1":{"purpose":"ledger","entry":{"":"grant"},"bytes":65536,"members":{"typ":"grant/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","event":"grant_event","grant":"grt","agent":"agt","service":"word","verb":"verb","document":"digest","until":"time","answer?":"digest","reason?":"text"}},"resume/v1":{"purpose":"ledger","entry":{"":"resume"},"bytes":65536,"members":{"typ":"resume/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","scope~":"scope","reason?":"text"}},"breakglass/v1":{"purpose":"ledger","entry":{"":"breakglass"},"bytes":65536,"members":{"typ":"breakglass/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","event":"opened|closed","until":"time","reason":"text"}},"shadow/v1":{"purpose":"ledger","entry":{"":"shadow"},"bytes":65536,"members":{"typ":"shadow/v1","iss":"issuer","project":"prj","at":"time","control":"int","floor":"int","gen":"int","behalf":"string","authorization?":"null","event":"opened|closed","until":"time","reason":"text"}},"session/v1":{"purpose":"ledger","entry":{"":"session"},"bytes":65536,"members":{"typ":"session/v1","iss":"issuer","project":"prj","at":"time","session":"ses","event":"opened|closed","via":"key_[0-9a-f]{32}","agent":"agt","external?":"commit","declared?":"commit","principal?":"commit","request?":"commit","task?":"commit","grant?":"commit","parent?":"ses","started_at?":"time"}}},"wrapped":{"execution-native":{"purpose":"execution","bytes":65536,"members":{"typ":"execution/v1","iss":"provider","project":"prj","action":"act","provider":"provider","tool":"tool","decision":"digest","capability?":"nonce","args?":"commit","outcome":"outcome","result?":"commit","error_code?":"error_code","charged?":"commit","started_at?":"time","executed_at":"time","nonce":"nonce","seen?":{"size":"int","root":"base64"}}},"vendor-wire":{"purpose":"execution","bytes":4096,"members":{"action_id":"string","decision_id":"string","outcome":"outcome","result_hash?":"digest","error_code?":"error_code","executed_at":"string","signature":{"kid":"string","alg":"Ed25519","value":"signature"}}}}};
return { PUBLISHED };
})();

// sdk/typescript/src/format/shapes.ts
const format_shapes = (() => {
/**
 * Exactly the members of a format.
 *
 * The shapes stand in formats/statements.json, which is the published file of docs/formats/examples word for word. {} is an
 * object with exactly these members, `name?` may be null, {"*": x} has any names, [x] is a list of x; other texts name a
 * pattern or are one, and a pattern matches the whole string.
 */
const { isObject, step } = format_json;
const { PUBLISHED } = format_published;
const FORMATS = PUBLISHED;
const COMPILED = new Map();
const RECEIPT = FORMATS.receipt;
const WRAPPED = FORMATS.wrapped;
/** Every kind that an entry can have. */
const ENTRY_KINDS = new Set(Object.values(FORMATS.kinds).flatMap(({ entry }) => Object.values(entry)));
const CODES = FORMATS.patterns.code.split("|");
class ShapeError extends Error {
    name = "ShapeError";
}
/** What a `typ` looks like, or null where nobody knows it. */
function kindOf(typ) {
    return typeof typ === "string" && Object.hasOwn(FORMATS.kinds, typ) ? FORMATS.kinds[typ] : null;
}
/** Whether the text matches a named pattern (or one written out). */
function matches(pattern, text) {
    let compiled = COMPILED.get(pattern);
    if (!compiled) {
        const source = Object.hasOwn(FORMATS.patterns, pattern) ? FORMATS.patterns[pattern] : pattern;
        compiled = new RegExp(`^(?:${source})$`, "u");
        COMPILED.set(pattern, compiled);
    }
    return compiled.test(text) && (pattern !== "time" || isTime(text));
}
/** Where a code of a finding stands in the published list: findings about one entry are named in this order. */
function codeOrder(code) {
    return CODES.indexOf(code);
}
/** Throws, naming the place, unless the value is of this shape. */
function demand(value, shape, path) {
    const need = (holds, what) => {
        if (!holds)
            throw new ShapeError(`\`${path}\`: ${what}`);
    };
    if (Array.isArray(shape)) {
        need(Array.isArray(value), "not a list");
        value.forEach((item, at) => demand(item, shape[0], `${path}[${at}]`));
    }
    else if (typeof shape === "object") {
        demandMembers(value, shape, path);
    }
    else if (shape === "int") {
        need(Number.isSafeInteger(value) && value >= 0, "not a whole number from 0 up");
    }
    else if (shape === "bool") {
        need(typeof value === "boolean", "not true or false");
    }
    else if (shape === "null") {
        need(value === null, "not null");
    }
    else if (shape !== "any") {
        need(typeof value === "string" && matches(shape, value), `does not match ${shape}`);
    }
}
function demandMembers(value, shape, path) {
    if (!isObject(value))
        throw new ShapeError(`\`${path}\`: not an object`);
    const any = shape["*"];
    const wanted = any === undefined
        ? Object.entries(shape)
            .filter(([name]) => !name.endsWith("~") || Object.hasOwn(value, name.slice(0, -1)))
            .map(([name, inner]) => ({ name: name.replace(/[?~]$/, ""), nullable: name.endsWith("?"), inner }))
        : Object.keys(value).map((name) => ({ name, nullable: false, inner: any }));
    const surplus = Object.keys(value).find((name) => !wanted.some((member) => member.name === name));
    if (surplus !== undefined)
        throw new ShapeError(`\`${path}${step(surplus)}\`: not a member of this format`);
    for (const { name, nullable, inner } of wanted) {
        if (!Object.hasOwn(value, name))
            throw new ShapeError(`\`${path}${step(name)}\`: missing`);
        if (!nullable || value[name] !== null)
            demand(value[name], inner, path + step(name));
    }
}
function isTime(text) {
    // 30 February parses as 1 March, which is then written otherwise.
    const time = new Date(text);
    return !Number.isNaN(time.valueOf()) && time.toISOString() === text;
}
return { RECEIPT, WRAPPED, ENTRY_KINDS, ShapeError, kindOf, matches, codeOrder, demand };
})();

// sdk/typescript/src/verify/pins.ts
const verify_pins = (() => {
/**
 * The keys that a reader pinned.
 *
 * Promised: a key in a set is what it says it is, or the whole set pins nothing. A key counts for one purpose alone.
 * Not promised: that the set came from whom you think. Fetch it once over HTTPS, keep it, and name it.
 * Format and cases: docs/formats/envelope.md, docs/vectors/key-sets.
 */
const { canonical } = format_canonical;
const { isUsableKey } = format_curve;
const { isObject, parse } = format_json;
const { ofBase64url, toBase64url } = format_octets;
const { matches } = format_shapes;
const { sha256, together } = format_work;
class KeyError extends Error {
    name = "KeyError";
}
/** From `x` of a JWK. */
function rawKey(x) {
    const bytes = ofBase64url(x);
    if (!bytes || !isUsableKey(bytes))
        throw new KeyError(`\`${x}\` is no usable Ed25519 key`);
    return { bytes, x };
}
/** RFC 7638: the identity of a key. A `kid` is only somebody's word for it. */
function* thumbprintOf(x) {
    return toBase64url(yield* sha256(canonical({ crv: "Ed25519", kty: "OKP", x })));
}
function pinOf(pins, kid) {
    return pins.keys.find((key) => key.kid === kid) ?? null;
}
/** A receipt alone gives times, not positions: the window is that of the key's entries, both ends included. */
function countsAt(pin, at) {
    return (pin.from ?? "") <= at && at <= (pin.until ?? "9999");
}
/** Reads a JWKS that somebody decided to trust. */
function* readPins(text) {
    const set = parse(text, "foreign");
    if (!isObject(set) || !Array.isArray(set.keys))
        throw new KeyError("key set does not read as {iss, keys}");
    if (typeof set.iss !== "string" || !matches("issuer", set.iss))
        throw new KeyError("key set names no issuer");
    const keys = yield* together(set.keys.map(pin));
    if (new Set(keys.map((key) => key.kid)).size < keys.length)
        throw new KeyError("a key stands twice");
    return { issuer: set.iss, origin: set.iss.slice("https://".length), keys };
}
/**
 * The same pins, and keys that a provider gave out itself: a JWKS or one JWK, by whatever names the provider calls them. They are
 * taken for keys of executions.
 */
function* withProviderKeys(pins, text) {
    const document = parse(text, "foreign");
    const listed = isObject(document) && Array.isArray(document.keys) ? document.keys : [document];
    const keys = new Map(pins.keys.map((pin) => [pin.kid, pin]));
    for (const jwk of listed) {
        if (!isObject(jwk) || jwk.kty !== "OKP" || jwk.crv !== "Ed25519")
            continue;
        if (typeof jwk.x !== "string")
            throw new KeyError("a provider's key lacks x");
        const kid = yield* thumbprintOf(jwk.x);
        keys.set(kid, { kid, purpose: "execution", key: rawKey(jwk.x), from: null, until: null });
    }
    return { origin: pins.origin, issuer: pins.issuer, keys: [...keys.values()] };
}
function* pin(jwk) {
    if (!isObject(jwk))
        throw new KeyError("a key is no object");
    const { kty, crv, x, kid, purpose, from = null, until = null } = jwk;
    if (kty !== "OKP" || crv !== "Ed25519")
        throw new KeyError("a key is not of kty OKP and crv Ed25519");
    if (typeof x !== "string" || typeof kid !== "string")
        throw new KeyError("a key lacks x or kid");
    if (typeof purpose !== "string" || !matches("purpose", purpose))
        throw new KeyError("a key has no purpose that we know");
    const isTime = (time) => time === null || (typeof time === "string" && matches("time", time));
    if (!isTime(from) || !isTime(until))
        throw new KeyError("a key's time is none");
    const key = rawKey(x);
    if ((yield* thumbprintOf(x)) !== kid)
        throw new KeyError(`key \`${kid}\` has another thumbprint than its kid`);
    return { kid, purpose: purpose, key, from: from, until: until };
}
return { KeyError, rawKey, thumbprintOf, pinOf, countsAt, readPins, withProviderKeys };
})();

// sdk/typescript/src/verify/statement.ts
const verify_statement = (() => {
/**
 * A signed statement and its entry: what each is, and that they belong together.
 *
 * Formats: docs/formats/envelope.md, docs/formats/entry.md. Shapes: formats/statements.json.
 */
const { canonical } = format_canonical;
const { parse } = format_json;
const { signatureHolds } = format_note;
const { byteLength, ofBase64url } = format_octets;
const { RECEIPT, demand, kindOf } = format_shapes;
const { digest } = format_work;
class StatementError extends Error {
    name = "StatementError";
}
/** Bodies of these kinds hold nothing personal and can never be erased. */
const NEVER_ERASED = [
    "finding", "clearance", "resolution", "epoch", "tombstone", "key", "rules", "registry", "kill", "resume", "incident",
];
const SHAPES = RECEIPT;
/** A wrapped statement of 1.5 MiB and its signature; every kind has its own limit besides. */
const MAX_BODY = 1.5 * 1024 * 1024 + 4096;
// A decision is at most this far ahead of its entry, and this far behind, in milliseconds.
const MOST_AHEAD = 2_000;
const MOST_BEHIND = 15_000;
/** Reads an envelope that a strict parser let through. */
function statementOf(envelope, path) {
    demand(envelope, SHAPES.statement, path);
    const { payload, signature } = envelope;
    const kind = kindOf(payload?.typ);
    if (!kind)
        throw new StatementError("statement of no kind that we know");
    demand(payload, kind.members, `${path}.payload`);
    const signed = canonical(payload);
    if (byteLength(signed) > kind.bytes)
        throw new StatementError("statement is too large");
    return { payload, kind, signed, kid: signature.kid, sig: signature.sig };
}
/** A body as it is stored: canonical, and of a kind that we know. */
function statementInBody(body) {
    const envelope = parse(body, "strict", MAX_BODY);
    if (canonical(envelope) !== body)
        throw new StatementError("body is not in canonical form");
    return statementOf(envelope, "$");
}
function entryOf(value, path) {
    demand(value, SHAPES.entry, path);
    const entry = value;
    if (entry.v !== 1)
        throw new StatementError("entry of another version");
    return entry;
}
function* signatureOf(statement, key) {
    const signature = ofBase64url(statement.sig);
    return signature !== null && (yield* signatureHolds(key.bytes, statement.signed, signature));
}
function canBeErased(kind) {
    return !NEVER_ERASED.includes(kind);
}
/** The kind that its entry must have. */
function entryKindOf({ kind, payload }) {
    const form = String(payload.form ?? "");
    return Object.hasOwn(kind.entry, form) ? kind.entry[form] : undefined;
}
function genesis(project) {
    return digest(`counterfoil/genesis/v1\n${project}`);
}
/** Whether a decision is too far from its entry for the entry to have been accepted. */
function isSkewed(statement, entry) {
    const behind = Date.parse(entry.at) - Date.parse(String(statement.payload.at));
    return statement.payload.typ === "decision/v1" && !(behind >= -MOST_AHEAD && behind <= MOST_BEHIND);
}
return { StatementError, MAX_BODY, statementOf, statementInBody, entryOf, signatureOf, canBeErased, entryKindOf, genesis, isSkewed };
})();

// sdk/typescript/src/verify/receipt.ts
const verify_receipt = (() => {
/**
 * One receipt under pinned keys, in the order in which a sceptic would ask. Runs in Node and in a page.
 *
 * Format and cases: docs/formats/receipt.md, docs/vectors/receipts, docs/vectors/malformed-receipts.
 */
const { canonical } = format_canonical;
const { JsonError, parse } = format_json;
const { Note, NoteError, parseLogProof } = format_note;
const { toBase64 } = format_octets;
const { RECEIPT, ShapeError, demand } = format_shapes;
const { leafHash, verifyInclusion } = format_tree;
const { digest, together } = format_work;
const { KeyError, countsAt, pinOf } = verify_pins;
const { StatementError, entryKindOf, entryOf, genesis, isSkewed, signatureOf, statementOf, } = verify_statement;
class Refused extends Error {
    answer;
    name = "Refused";
    constructor(answer, message) {
        super(message);
        this.answer = answer;
    }
    /** As the program `counterfoil verify` exits. */
    get exitCode() {
        return this.answer === "BROKEN" ? 40 : 50;
    }
}
/** A wrapped statement of 1.5 MiB, its proof, and room. */
const MAX_RECEIPT = 2 * 1024 * 1024;
/** Throws `Refused` unless all of it holds together under these keys. */
function* checkReceipt(receipt, pins) {
    try {
        return yield* checked(receipt, pins);
    }
    catch (error) {
        throw refusalOf(error);
    }
}
/** What does not read is BROKEN; anything that is no answer about the text stays what it is. */
function refusalOf(error) {
    const isAboutTheText = [JsonError, ShapeError, NoteError, KeyError, StatementError].some((kind) => error instanceof kind);
    return isAboutTheText ? new Refused("BROKEN", error.message) : error;
}
/** A note as a checkpoint of this issuer's log, signed by a pinned log key. */
function* signedCheckpoint(text, pins) {
    const note = Note.parse(text);
    const checkpoint = note.checkpoint();
    need(checkpoint.origin === pins.origin, `checkpoint is of log \`${checkpoint.origin}\`, not of \`${pins.origin}\``);
    yield* signedByLog(note, pins);
    return checkpoint;
}
/** A pinned log key must have signed; a line of any pinned key that fails spoils the note. */
function* signedByLog(note, pins) {
    let isByLog = false;
    let isKnown = false;
    for (const { key, purpose } of pins.keys) {
        const signature = yield* note.signature(pins.origin, key.bytes);
        need(signature !== "fails", "signature of the checkpoint does not hold");
        isKnown ||= signature === "holds";
        isByLog ||= signature === "holds" && purpose === "log";
    }
    if (!isKnown)
        throw new Refused("UNPINNED", "checkpoint is not signed by a pinned log key");
    need(isByLog, "checkpoint is signed by a key of another purpose than log");
    return null;
}
function need(holds, why) {
    if (!holds)
        throw new Refused("BROKEN", why);
}
function* checked(text, pins) {
    const read = parse(text, "receipt", MAX_RECEIPT);
    demand(read, RECEIPT, "$");
    // The proof alone may have line breaks.
    parse(canonical(read.statement), "strict", MAX_RECEIPT);
    parse(canonical(read.entry), "strict");
    const statement = statementOf(read.statement, "$.statement");
    const entry = entryOf(read.entry, "$.entry");
    const named = yield* checkStatement(statement, digest(canonical(read.statement)), entry, pins);
    const checkpoint = yield* included(entry, String(read.proof), pins);
    return { payload: statement.payload, digest: named, entry, checkpoint };
}
/** That a pinned key signed the statement, and that the entry is its. Returns the digest of its envelope. */
function* checkStatement(statement, envelope, entry, pins) {
    const [named] = yield* together([envelope, signedByPinned(statement, entry, pins)]);
    yield* isEntryOf(entry, statement, named);
    return named;
}
function* signedByPinned(statement, entry, pins) {
    const { kid, kind, payload: { iss } } = statement;
    const signer = pinOf(pins, kid);
    if (!signer)
        throw new Refused("UNPINNED", `signed by key \`${kid}\`, which is not pinned`);
    need(signer.purpose === kind.purpose, `needs a key of purpose ${kind.purpose}; this one is for ${signer.purpose}`);
    need(countsAt(signer, entry.at), `key \`${kid}\` did not count at ${entry.at}`);
    need(yield* signatureOf(statement, signer.key), "signature of the statement does not hold");
    if (iss !== undefined && iss !== pins.issuer) {
        throw new Refused("UNPINNED", `issued by \`${String(iss)}\`, not by the pinned \`${pins.issuer}\``);
    }
    return null;
}
function* isEntryOf(entry, statement, named) {
    need(entry.project === statement.payload.project, "entry belongs to another project than the statement");
    need(entry.body === named, "entry names another statement");
    need(entry.kind === entryKindOf(statement), "entry is of another kind than the statement");
    need(entry.epoch === entry.at.slice(0, 10), "entry.epoch is not the day of entry.at");
    const start = yield* genesis(entry.project);
    need(entry.seq > 0 || entry.prev === start, "first entry does not follow the start of its project's chain");
    need(!isSkewed(statement, entry), "decision is more than 2 s ahead of its entry, or 15 s behind");
    return null;
}
function* included(entry, text, pins) {
    const proof = parseLogProof(text);
    need(proof.index === entry.seq, "proof is for another place than the entry's");
    const checkpoint = yield* signedCheckpoint(proof.checkpoint, pins);
    const leaf = yield* leafHash(canonical(entry));
    const holds = yield* verifyInclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root);
    need(holds, "entry is not in the tree of the checkpoint");
    return { ...checkpoint, root: toBase64(checkpoint.root), note: proof.checkpoint };
}
return { Refused, checkReceipt, refusalOf, signedCheckpoint, signedByLog, checkStatement };
})();

// sdk/typescript/src/verify/neighbours.ts
const verify_neighbours = (() => {
/** Receipts whose entries follow each other. */
const { canonical } = format_canonical;
const { digest } = format_work;
const { Refused, checkReceipt } = verify_receipt;
/** Throws `Refused` unless each verifies and each but the first follows the one before. */
function* checkChain(receipts, pins) {
    const chain = [];
    for (const receipt of receipts) {
        const verified = yield* checkReceipt(receipt, pins);
        const before = chain.at(-1);
        if (before)
            yield* follows(verified.entry, before.entry);
        chain.push(verified);
    }
    return chain;
}
/** Throws `Refused` unless the entry is the next one after `before`. */
function* follows(entry, before) {
    const place = `entry ${entry.seq}`;
    if (entry.seq !== before.seq + 1)
        throw new Refused("BROKEN", `${place} stands where entry ${before.seq + 1} is due`);
    const hash = yield* digest(canonical(before));
    if (entry.prev !== hash)
        throw new Refused("BROKEN", `${place}: its prev is \`${entry.prev}\`, the hash of entry ${before.seq} is \`${hash}\``);
    if (entry.project !== before.project)
        throw new Refused("BROKEN", `${place} is of another project`);
    if (entry.at < before.at)
        throw new Refused("BROKEN", `${place}: its time is before that of the entry before`);
    return null;
}
return { checkChain, follows };
})();

// sdk/typescript/src/verify/submitted.ts
const verify_submitted = (() => {
/**
 * An execution as somebody sent it, in one of the two forms. Its signature is not believed yet.
 *
 * Promised: what is read has one reading and exactly the members of its form; what names no action or decision of ours says null.
 * Format and cases: docs/formats/execution.md, docs/vectors/executions.
 */
const { canonical } = format_canonical;
const { parse } = format_json;
const { signatureHolds } = format_note;
const { byteLength, ofBase64url } = format_octets;
const { RECEIPT, ShapeError, WRAPPED, demand, matches } = format_shapes;
const { digest } = format_work;
const ENVELOPE = RECEIPT.statement;
const LONGEST_TEXT = 128;
function readSubmitted(text, form) {
    return form === "execution-native" ? native(text) : sixFields(text);
}
/** The same for two statements that say the same, whatever their times and nonces. */
function fingerprintOf(submitted) {
    return digest(canonical(submitted.said));
}
function* submittedHolds(submitted, key) {
    const signature = ofBase64url(submitted.sig);
    return signature !== null && (yield* signatureHolds(key.bytes, submitted.signed, signature));
}
function native(text) {
    const { bytes, members } = WRAPPED["execution-native"];
    const whole = parse(text, "strict", bytes);
    demand(whole, ENVELOPE, "$");
    const { payload, signature } = whole;
    demand(payload, members, "$.payload");
    if (payload.iss !== payload.provider)
        throw new ShapeError("`$.payload.provider`: another than iss");
    const { action, decision, outcome, provider, tool, args, result } = payload;
    return {
        whole, kid: signature.kid, sig: signature.sig, signed: canonical(payload), said: [action, decision, outcome, result],
        action: action, decision: decision, outcome: outcome, provider: provider, tool: tool, args: args, result: result,
    };
}
function sixFields(text) {
    const { bytes, members } = WRAPPED["vendor-wire"];
    const whole = parse(text, "foreign", bytes);
    demand(whole, members, "$");
    const { signature, ...six } = whole;
    const { kid, value } = signature;
    const isLong = (member) => typeof member === "string" && byteLength(member) > LONGEST_TEXT;
    if ([...Object.values(six), kid].some(isLong))
        throw new ShapeError("`$`: a text of more than 128 bytes");
    const [action, decision] = [String(six.action_id), String(six.decision_id)];
    return {
        whole, kid, sig: value, signed: canonical(six), said: [six.action_id, six.decision_id, six.outcome, six.result_hash],
        action: matches("act", action) ? action : null,
        decision: /^dec_[0-9a-f]{64}$/.test(decision) ? decision.replace("dec_", "sha256:") : null,
        outcome: String(six.outcome), provider: null, tool: null, args: null, result: null,
    };
}
return { readSubmitted, fingerprintOf, submittedHolds };
})();

// sdk/typescript/src/verify/tail.ts
const verify_tail = (() => {
/**
 * The newest entries of a record, with their statements, as the record's own server gives them.
 *
 *     entries.json?from=41
 *     {"typ":"entries/v1","size":1200,"entries":[{"entry":{…},"seq":41,"body":{"payload":…,"signature":…}}, …]}
 *
 * Promised: every entry follows the one before; every body that is there was signed by a key of the set, at a time at which it
 * counted, and is the one that its entry names; what a wrapper says of the signature inside of it is so. Not promised: bodies that
 * are withheld or erased; they are counted, and erased ones have their tombstones. Keys that ended before are judged by the times in the key set, not by the record.
 */
const { canonical } = format_canonical;
const { isObject, parse } = format_json;
const { ofBase64url, textOf } = format_octets;
const { kindOf } = format_shapes;
const { digest } = format_work;
const { follows } = verify_neighbours;
const { pinOf } = verify_pins;
const { Refused, checkStatement, refusalOf } = verify_receipt;
const { MAX_BODY, canBeErased, entryOf, genesis, statementOf } = verify_statement;
const { readSubmitted, submittedHolds } = verify_submitted;
const ROW_MEMBERS = ["entry", "seq", "body", "withheld", "absent"];
const FORM_KINDS = kindOf("received/v1").entry;
function noTail() {
    return { entries: 0, statements: 0, withheld: 0, erased: 0, inside: 0, insideUnknown: 0 };
}
/** One answer, read. */
function rowsIn(answer) {
    const text = textOf(answer);
    const read = text === null ? null : parse(text, "foreign");
    if (!isObject(read) || read.typ !== "entries/v1" || !Array.isArray(read.entries)) {
        throw new Refused("BROKEN", "the server's list of entries does not read");
    }
    return read.entries.map((row, at) => rowOf(row, `$.entries[${at}]`));
}
function rowOf(row, path) {
    if (!isObject(row) || Object.keys(row).some((name) => !ROW_MEMBERS.includes(name)))
        throw new Refused("BROKEN", `\`${path}\`: no entry`);
    const entry = entryOf(row.entry, `${path}.entry`);
    const shown = [row.body, row.withheld, row.absent].filter((member) => member !== undefined);
    if (row.seq !== entry.seq || shown.length !== 1 || (row.absent !== undefined && row.absent !== true)) {
        throw new Refused("BROKEN", `entry ${entry.seq}: its line says not one thing`);
    }
    const withheld = isObject(row.withheld) ? String(row.withheld.form) : row.withheld === undefined ? null : "";
    return { entry, body: row.body, withheld };
}
/** One entry in its place. Throws `Refused`, naming it. */
function* checkRow(row, before, pins, counts) {
    const { entry } = row;
    try {
        if (before)
            yield* follows(entry, before);
        else if (entry.seq === 0 && entry.prev !== (yield* genesis(entry.project)))
            throw new Refused("BROKEN", "does not follow the project's start");
        if (entry.epoch !== entry.at.slice(0, 10))
            throw new Refused("BROKEN", "epoch is not the day of its time");
        parse(canonical(entry), "strict");
        counts.entries += 1;
        if (row.body !== undefined)
            yield* checkBody(row.body, entry, pins, counts);
        else if (row.withheld !== null)
            mayBeWithheld(row.withheld, entry, counts);
        else
            mayBeErased(entry, counts);
        return null;
    }
    catch (error) {
        const refusal = refusalOf(error);
        if (!(refusal instanceof Refused) || refusal.message.startsWith(`entry ${entry.seq}`))
            throw refusal;
        throw new Refused(refusal.answer, `entry ${entry.seq}: ${refusal.message}`);
    }
}
function mayBeWithheld(form, entry, counts) {
    const isOfOthers = Object.hasOwn(FORM_KINDS, form) && FORM_KINDS[form] === entry.kind;
    if (!isOfOthers)
        throw new Refused("BROKEN", `a body of kind ${entry.kind} is withheld`);
    counts.withheld += 1;
}
function mayBeErased(entry, counts) {
    if (!canBeErased(entry.kind))
        throw new Refused("BROKEN", `body of kind ${entry.kind} is empty, and that kind cannot be erased`);
    counts.erased += 1;
}
/** The first entry whose body is empty although no tombstone after it is of its day and covers it; null if there is none. */
function unburied(rows) {
    const tombstones = rows.flatMap(({ entry, body }) => (entry.kind === "tombstone" && isObject(body) ? [{ at: entry.seq, said: body.payload }] : []));
    const isCovered = ({ seq, epoch }) => tombstones.some(({ at, said }) => at > seq && Number(said.first) <= seq && seq <= Number(said.last) && said.epoch === epoch);
    const absent = rows.filter(({ body, withheld }) => body === undefined && withheld === null);
    return absent.find(({ entry }) => !isCovered(entry))?.entry.seq ?? null;
}
function* checkBody(body, entry, pins, counts) {
    const text = canonical(body);
    parse(text, "strict", MAX_BODY);
    const statement = statementOf(body, "$");
    yield* checkStatement(statement, digest(text), entry, pins);
    counts.statements += 1;
    const { payload } = statement;
    if (payload.typ === "key/v1")
        keyIsListed(payload, entry, pins);
    if (payload.typ === "received/v1" && FORM_KINDS[String(payload.form)] === "execution")
        yield* checkInside(statement, pins, counts);
    return null;
}
/** What the record says of a key must be what the key set says of it. */
function keyIsListed(said, entry, pins) {
    const { thumbprint, purpose, event, key } = said;
    const listed = pinOf(pins, thumbprint);
    if (!listed)
        throw new Refused("BROKEN", `key \`${thumbprint}\` stands in the record and not in the key set`);
    const isSame = listed.purpose === purpose && listed.key.x === key.x;
    const isTimed = event === "introduced" ? listed.from === entry.at : listed.until !== null && listed.until <= entry.at;
    if (!isSame || !isTimed)
        throw new Refused("BROKEN", `key \`${thumbprint}\` is ${event} here, and the key set says otherwise`);
}
function* checkInside({ payload }, pins, counts) {
    const bytes = ofBase64url(String(payload.bytes));
    if (!bytes)
        throw new Refused("BROKEN", "its bytes are not base64url");
    const submitted = readSubmitted(bytes, payload.form);
    const { thumbprint } = payload.signer;
    const key = pinOf(pins, payload.form === "execution-native" ? submitted.kid : thumbprint ?? "");
    if (key?.purpose !== "execution") {
        counts.insideUnknown += 1;
        return null;
    }
    const holds = yield* submittedHolds(submitted, key.key);
    // A signature that holds may be of a key that had ended; one that fails cannot be said to hold.
    if (payload.holds === true && !holds)
        throw new Refused("BROKEN", "says that the signature inside of it holds, and it does not");
    counts.inside += 1;
    return null;
}
return { noTail, rowsIn, checkRow, unburied };
})();

// sdk/typescript/src/verify/tiles.ts
const verify_tiles = (() => {
const { nodeHash } = format_tree;
const WIDTH = 256;
const LEVELS = 8;
/** What a server sent is not what was asked for. */
class TileError extends Error {
    name = "TileError";
}
class Missing extends Error {
    level;
    index;
    constructor(level, index) {
        super("tile not fetched yet");
        this.level = level;
        this.index = index;
    }
}
class Tiles {
    fetch;
    size;
    #held = new Map();
    constructor(fetch, size) {
        this.fetch = fetch;
        this.size = size;
    }
    /** Runs a computation over nodes, fetching the tiles that it turns out to need. */
    async with(compute) {
        for (;;) {
            try {
                return await compute((level, index) => this.#node(level, index));
            }
            catch (error) {
                if (!(error instanceof Missing))
                    throw error;
                await this.#load(error.level, error.index);
            }
        }
    }
    *#node(level, index) {
        const height = level % LEVELS;
        const [row, first, count] = [Math.floor(level / LEVELS), index * 2 ** height, 2 ** height];
        const tile = Math.floor(first / WIDTH);
        const bytes = this.#held.get(`${row}/${tile}`);
        if (!bytes)
            throw new Missing(row, tile);
        const start = first - tile * WIDTH;
        return yield* reduced(Array.from({ length: count }, (_, at) => bytes.slice((start + at) * 32, (start + at + 1) * 32)));
    }
    async #load(level, index) {
        const complete = Math.floor(this.size / WIDTH ** level);
        const width = Math.min(WIDTH, complete - index * WIDTH);
        const path = tilePath(level, index, width);
        const bytes = await this.fetch(path);
        if (width < 1 || bytes.length !== width * 32)
            throw new TileError(`${path} is not of ${width} hashes`);
        this.#held.set(`${level}/${index}`, bytes);
    }
}
/** The leaves of entries `index`·256 to `index`·256 + `width` − 1. */
async function entryLeaves(fetch, index, width) {
    const path = tilePath("entries", index, width);
    const bytes = await fetch(path);
    const leaves = [];
    for (let at = 0; at < bytes.length;) {
        const length = bytes[at] * 256 + (bytes[at + 1] ?? 0);
        const leaf = bytes.slice(at + 2, at + 2 + length);
        if (leaf.length !== length || at + 2 > bytes.length)
            throw new TileError(`${path} ends inside an entry`);
        leaves.push(leaf);
        at += 2 + length;
    }
    if (leaves.length !== width)
        throw new TileError(`${path} is not of ${width} entries`);
    return leaves;
}
/** 1234067 is `x001/x234/067`. */
function tilePath(level, index, width) {
    const groups = [String(index % 1000).padStart(3, "0")];
    for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
        groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
    }
    return `tile/${level}/${groups.join("/")}${width < WIDTH ? `.p/${width}` : ""}`;
}
function* reduced(hashes) {
    let row = hashes;
    while (row.length > 1) {
        const above = [];
        for (let at = 0; at < row.length; at += 2)
            above.push(yield* nodeHash(row[at], row[at + 1]));
        row = above;
    }
    return row[0];
}
return { WIDTH, TileError, Tiles, entryLeaves, tilePath };
})();

// sdk/typescript/src/verify/record.ts
const verify_record = (() => {
/**
 * A record, checked over the network by whoever looks at its page.
 *
 * Promised: the newest entries are one chain under signed statements and, with the tiles of the older ones, give the root of a
 * checkpoint that the log key signed; every receipt that was asked for stands in that tree; what was kept at an earlier visit is
 * its beginning, under the same log key. Otherwise the first thing that fails is named.
 * Not promised: older statements; that others are shown the same; and, in a page, that the server sent this code unchanged.
 */
const { canonical } = format_canonical;
const { isObject } = format_json;
const { Note } = format_note;
const { same, textOf, toBase64 } = format_octets;
const { leafHash, nodeHash, rootOf } = format_tree;
const { together } = format_work;
const { continuation, placeOf } = verify_continuation;
const { readPins, rawKey } = verify_pins;
const { Refused, checkReceipt, refusalOf, signedCheckpoint } = verify_receipt;
const { checkRow, noTail, rowsIn, unburied } = verify_tail;
const { TileError, Tiles } = verify_tiles;
class RecordFails extends Error {
    answer;
    notes;
    name = "RecordFails";
    constructor(answer, message, 
    /** Signed notes that contradict each other. */
    notes = []) {
        super(message);
        this.answer = answer;
        this.notes = notes;
    }
}
/** How many of the newest entries are recomputed from their bytes. */
const MOST_ENTRIES = 1024;
/** A checkpoint is published at most two seconds after an entry. */
const MOST_PAUSES = 8;
/** Throws `RecordFails` with the first thing that fails. */
async function checkRecord(asked) {
    const { kept } = asked;
    const pins = await place("jwks.json", async () => asked.run(readPins(await asked.fetch("jwks.json"))));
    if (pins.issuer !== asked.issuer)
        throw new RecordFails("BROKEN", `jwks.json: of \`${pins.issuer}\`, not of \`${asked.issuer}\``);
    const old = await keptHead(asked, pins);
    const { head, note } = await newest(asked, pins, old);
    const tiles = new Tiles(asked.fetch, head.size);
    const x = await logKey(asked, pins, note);
    const from = Math.max(0, head.size - MOST_ENTRIES);
    const rows = await readTail(asked, from, head.size);
    const tail = noTail();
    const statements = new Map();
    let before = null;
    for (const row of rows) {
        await place("", () => asked.run(checkRow(row, before, pins, tail)));
        before = row.entry;
        if (isObject(row.body))
            statements.set(row.entry.seq, { entry: row.entry, payload: row.body.payload });
    }
    const missing = unburied(rows);
    if (missing !== null)
        throw new RecordFails("BROKEN", `entry ${missing}: body is empty and no tombstone covers it`);
    const leaves = await asked.run(together(rows.map(({ entry }) => leafHash(canonical(entry)))));
    const read = (compute) => place("tiles", () => tiles.with((node) => asked.run(compute(overLeaves(leaves, from, node)))));
    const root = await read((node) => rootOf(head.size, node));
    if (!same(root, head.root))
        throw new RecordFails("BROKEN", "the entries and tiles do not give the root of the checkpoint");
    if (old && kept) {
        const found = await read((node) => continuation(old, head, node));
        const why = `the record does not continue the one of ${old.size} entries that was here on ${kept.at}`;
        demandHolds(found, why, [kept.note, note]);
    }
    for (const verified of await checkReceipts(asked, pins, head, note, read))
        statements.set(verified.entry.seq, verified);
    return {
        checkpoint: { size: head.size, root: toBase64(head.root), note }, keys: pins.keys.length, from, tail,
        receipts: asked.receipts.length, statements, since: old && kept && { size: old.size, at: kept.at },
        keep: { note, x, at: asked.now.toISOString() },
    };
}
/** The newest checkpoint that has every entry whose receipt was asked for. */
async function newest(asked, pins, old) {
    const reaches = Math.max(-1, ...asked.receipts);
    for (let pauses = 0;; pauses += 1) {
        const note = textOf(await place("checkpoint", () => asked.fetch("checkpoint"))) ?? "";
        const { kept } = asked;
        const head = await place("checkpoint", async () => asked.run(signedCheckpoint(note, pins)));
        if (old && kept && head.size < old.size) {
            throw new RecordFails("SHORTENED", `the record had ${old.size} entries on ${kept.at} and has ${head.size} now`, [kept.note, note]);
        }
        if (head.size > reaches)
            return { head, note };
        if (pauses === MOST_PAUSES)
            throw new RecordFails("BROKEN", `checkpoint: ends at entry ${head.size - 1}, and the page shows entry ${reaches}`);
        await asked.pause();
    }
}
/** What an earlier visit saw, under the key that it saw. */
async function keptHead({ kept, run }, pins) {
    if (!kept)
        return null;
    const { head, signature } = await place("what this browser kept", async () => {
        const note = Note.parse(kept.note);
        return { head: note.checkpoint(), signature: await run(note.signature(pins.origin, rawKey(kept.x).bytes)) };
    });
    if (signature === "holds" && head.origin === pins.origin)
        return head;
    throw new RecordFails("BROKEN", "what this browser kept is not signed by the key that it kept");
}
/** `x` of the log key: that of the earlier visit, if there was one. */
async function logKey({ kept, run }, pins, text) {
    const note = Note.parse(text);
    const signed = async (x, by) => (await run(by.signature(pins.origin, rawKey(x).bytes))) === "holds";
    if (kept) {
        if (await signed(kept.x, note))
            return kept.x;
        throw new RecordFails("UNPINNED", `the log key changed since ${kept.at}, and nobody else says that it should`, [kept.note, text]);
    }
    for (const { purpose, key } of pins.keys) {
        if (purpose === "log" && (await signed(key.x, note)))
            return key.x;
    }
    throw new RecordFails("UNPINNED", "checkpoint is not signed by a log key");
}
async function readTail({ fetch }, from, size) {
    const rows = [];
    while (from + rows.length < size) {
        const path = `entries.json?from=${from + rows.length}`;
        const more = await place(path, async () => rowsIn(await fetch(path)));
        const due = from + rows.length;
        if (more[0]?.entry.seq !== due)
            throw new RecordFails("BROKEN", `${path}: entry ${due} is not there`);
        rows.push(...more);
    }
    return rows.slice(0, size - from);
}
/** Subtrees of entries whose bytes were read are recomputed; only what is left of them is taken from tiles. */
function overLeaves(leaves, from, tiles) {
    const made = new Map();
    return function* node(level, index) {
        const first = index * 2 ** level;
        if (first < from)
            return yield* tiles(level, index);
        if (level === 0)
            return leaves[first - from];
        const name = `${level}/${index}`;
        const hash = made.get(name) ?? (yield* nodeHash(yield* node(level - 1, index * 2), yield* node(level - 1, index * 2 + 1)));
        made.set(name, hash);
        return hash;
    };
}
function demandHolds(found, why, notes) {
    if (found === "unproven")
        throw new RecordFails("BROKEN", "the tiles do not lead to the root of the checkpoint");
    if (found === "forked")
        throw new RecordFails("FORKED", why, notes);
}
async function checkReceipts({ fetch, run, receipts }, pins, head, note, read) {
    const found = [];
    const passed = new Set();
    for (const seq of receipts) {
        const path = `receipts/${seq}`;
        const verified = await place(path, async () => run(checkReceipt(await fetch(path), pins)));
        const { entry, checkpoint } = verified;
        found.push(verified);
        if (entry.seq !== seq)
            throw new RecordFails("BROKEN", `${path}: is of entry ${entry.seq}`);
        const notes = [checkpoint.note, note];
        demandHolds(await read((node) => placeOf(entry, head, node)), `${path}: another entry stands in its place`, notes);
        if (passed.has(checkpoint.note) || checkpoint.size > head.size)
            continue;
        const through = Note.parse(checkpoint.note).checkpoint();
        demandHolds(await read((node) => continuation(through, head, node)), `${path}: its checkpoint is of another record`, notes);
        passed.add(checkpoint.note);
    }
    return found;
}
/** Names the place of whatever is refused there. */
async function place(name, work) {
    try {
        return await work();
    }
    catch (error) {
        const refusal = refusalOf(error);
        const at = name === "" ? "" : `${name}: `;
        if (refusal instanceof Refused)
            throw new RecordFails(refusal.answer, `${at}${refusal.message}`);
        if (refusal instanceof RecordFails)
            throw refusal;
        const answer = refusal instanceof TileError ? "BROKEN" : "UNREACHABLE";
        throw new RecordFails(answer, `${at}${refusal.message}`);
    }
}
return { RecordFails, MOST_ENTRIES, checkRecord };
})();

// evidence-service/web/parts/elements.mjs
const evidence_service_web_parts_elements = (() => {
// Elements without markup in strings: what a record says is text, whatever it says.

/** element("p", { class: "soft" }, "text", other) */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

function list(items) {
  return element("ul", {}, ...items.map((item) => element("li", {}, item)));
}

/** Two columns: what, and how many or which. */
function facts(pairs) {
  const rows = pairs.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, String(value))]);
  return element("dl", { class: "facts" }, ...rows);
}

function notes(texts) {
  return texts.map((text) => element("pre", { tabindex: "0", "aria-label": "Signed note" }, text));
}

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
return { element, list, facts, notes, plural };
})();

// evidence-service/web/parts/record.mjs
const evidence_service_web_parts_record = (() => {
// "Verify in this page": what stands behind an evidence page, recomputed from the bytes that the server serves.
//
// The page has <div id="verify" data-iss="https://…" data-checkpoint="/p/<name>/checkpoint">; this adds a button and says there
// what was checked. What is kept between visits lies in this browser's local storage, under the issuer.
const { canVerify, later } = format_later;
const { MOST_ENTRIES, RecordFails, checkRecord } = verify_record;
const { element, facts, list, notes, plural } = evidence_service_web_parts_elements;

const MOST_RECEIPTS = 100;
const LARGEST_ANSWER = 16 * 1024 * 1024;
const WEAKER = "This code came from the same server as the page, so a server that lies about the record could have changed it. "
  + "The check with a program of your own and keys that you pinned is stronger.";

const keptUnder = (issuer) => `counterfoil checkpoint ${issuer}`;

function kept(issuer) {
  const text = localStorage.getItem(keptUnder(issuer));
  if (text === null) return null;
  try {
    const { note, x, at } = JSON.parse(text);
    if ([note, x, at].every((member) => typeof member === "string")) return { note, x, at };
  } catch {
    // Said below: what was kept and cannot be read is not the same as a first visit.
  }
  throw new RecordFails("BROKEN", "what this browser kept does not read");
}

/** Reads below the page's own address, from its own server alone. */
function reader(base) {
  return async (path) => {
    const answer = await fetch(base + path, { cache: "no-store", credentials: "same-origin", redirect: "error" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (bytes.length > LARGEST_ANSWER) throw new Error("the answer is too large");
    return bytes;
  };
}

/** The entries that the page shows with a receipt, each once, in order. */
function shownReceipts(base) {
  const numbers = [...document.querySelectorAll("a[href]")].map((link) => {
    const [, seq] = new RegExp(`^${base}receipts/(0|[1-9][0-9]{0,15})$`).exec(link.getAttribute("href")) ?? [];
    return seq === undefined ? null : Number(seq);
  });
  const distinct = [...new Set(numbers.filter((seq) => seq !== null))].sort((one, other) => one - other);
  return { checked: distinct.slice(-MOST_RECEIPTS), left: Math.max(0, distinct.length - MOST_RECEIPTS) };
}

/** The first row of the page that says otherwise than the statement of its entry, or null. */
function disagreement(statements) {
  for (const row of document.querySelectorAll("tr")) {
    const head = row.querySelector("th[scope=row]");
    const number = head?.textContent.trim() ?? "";
    const stands = /^[0-9]+$/.test(number) ? statements.get(Number(number)) : undefined;
    if (!stands) continue;
    const { entry, payload } = stands;
    const [tag, [at, kind]] = [row.querySelector(".tag")?.textContent.trim(), [...row.querySelectorAll("td")].map((cell) => cell.textContent.trim())];
    const said = [["verdict", tag, payload.verdict]];
    // In the list of entries, whose first cell is the receipt, time and kind stand next.
    if (head.querySelector("a[href*='/receipts/']")) said.push(["time", at, entry.at], ["kind", kind, entry.kind]);
    const wrong = said.find(([, shown, signed]) => shown !== undefined && shown !== signed);
    if (wrong) return `the page shows entry ${number} with the ${wrong[0]} ${wrong[1]}; what was signed says ${wrong[2] ?? "none"}`;
  }
  return null;
}

function passed({ checkpoint, keys, from, tail, receipts, since }, left) {
  const hidden = [
    tail.withheld > 0 ? plural(tail.withheld, "statement of somebody else is withheld", "statements of others are withheld") : null,
    tail.erased > 0 ? plural(tail.erased, "statement was erased", "statements were erased") : null,
    tail.insideUnknown > 0 ? plural(tail.insideUnknown, "provider's signature is of a key that is not listed", "providers' signatures are of keys that are not listed") : null,
    from > 0 ? `of entries 0 to ${from - 1} only their hashes were used: no more than ${MOST_ENTRIES} are recomputed here` : null,
    left > 0 ? plural(left, "receipt on this page was not fetched", "receipts on this page were not fetched") : null,
    since === null ? "that nothing was taken away before today: this browser has seen no earlier checkpoint of this record" : null,
  ];
  return [
    element("p", { class: "ok" }, element("b", {}, "Verified"), ", as far as this page can: everything that was checked holds."),
    facts([
      ["entries, one chain", tail.entries.toLocaleString("en")],
      ["statements, each signed by a key that counted then", tail.statements.toLocaleString("en")],
      ["providers' own signatures", tail.inside.toLocaleString("en")],
      ["receipts, each under the same root", receipts.toLocaleString("en")],
      ["keys in the key set", keys],
      ["root, recomputed and signed", `${checkpoint.root} of ${plural(checkpoint.size, "entry", "entries")}`],
      ...(since ? [["continues the checkpoint that this browser kept", `${plural(since.size, "entry", "entries")}, ${since.at}`]] : []),
    ]),
    element("p", {}, "Not checked:"),
    list([...hidden.filter((text) => text !== null), "the words of this page but verdicts, times and kinds", "that everybody else is shown this record"]),
  ];
}

function failed(error) {
  const isKnown = error instanceof RecordFails;
  const [answer, message] = isKnown ? [error.answer, error.message] : ["UNREACHABLE", String(error)];
  return [
    element("p", { class: "bad" }, element("b", {}, answer), ` ${message}`),
    element("p", {}, answer === "UNREACHABLE" ? "What cannot be read is not verified." : "This is the first thing that fails. What stands on this page is not what was signed."),
    ...(isKnown ? notes(error.notes) : []),
  ];
}

async function verify(place) {
  const { iss: issuer, checkpoint } = place.dataset;
  const base = checkpoint.slice(0, -"checkpoint".length);
  if (!(await canVerify())) {
    return { verdict: "unable", shown: [element("p", { class: "bad" }, element("b", {}, "NOT VERIFIED"), " This browser has no Ed25519 in WebCrypto, so nothing was checked. Use the program, or a newer browser.")] };
  }
  const { checked, left } = shownReceipts(base);
  try {
    const found = await checkRecord({
      fetch: reader(base), run: later, issuer, receipts: checked, kept: kept(issuer), now: new Date(),
      pause: () => new Promise((resolve) => { setTimeout(resolve, 500); }),
    });
    const wrong = disagreement(found.statements);
    if (wrong !== null) throw new RecordFails("BROKEN", wrong);
    localStorage.setItem(keptUnder(issuer), JSON.stringify(found.keep));
    return { verdict: "verified", shown: passed(found, left) };
  } catch (error) {
    return { verdict: "failed", shown: failed(error) };
  }
}

function begin(place) {
  const button = element("button", { type: "button" }, "Verify in this page");
  const answer = element("div", { role: "status", "aria-live": "polite" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    place.removeAttribute("data-verdict");
    answer.className = "";
    answer.replaceChildren(element("p", {}, "Reading and recomputing …"));
    const { verdict, shown } = await verify(place);
    answer.className = verdict === "verified" ? "card" : "card bad";
    answer.replaceChildren(...shown, element("p", { class: "soft" }, WEAKER));
    place.dataset.verdict = verdict;
    button.disabled = false;
  });
  place.append(element("p", {}, button), answer);
}

const place = document.getElementById("verify");
if (place?.dataset.checkpoint?.endsWith("/checkpoint")) begin(place);
return {  };
})();
})();
