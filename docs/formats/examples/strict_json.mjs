// The strict reader: JSON that has one reading only, and exactly the members of its format.
//
// `read` refuses duplicate and non-ASCII member names, numbers that are not integers up to 2^53-1,
// lone surrogates, invalid UTF-8 and deep nesting. `fits` compares with statements.json.
// Inside these limits `canonical` equals RFC 8785.
import { readFileSync } from "node:fs";

export const FORMAT = JSON.parse(readFileSync(new URL("statements.json", import.meta.url), "utf8"));

export class Broken extends Error {}

export function need(holds, why) {
  if (!holds) throw new Broken(why);
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isInteger = (text) => /^(0|-?[1-9]\d*)$/.test(text) && Number.isSafeInteger(Number(text));

// JSON.parse keeps the last of two equal names and rounds big numbers, so the text itself is read too:
// what it names and counts must all be there afterwards.
export function read(bytes) {
  let text, value;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new Broken(`not JSON: ${error.message}`);
  }
  let names = 0;
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*/g)) {
    if (token[0] !== '"') need(isInteger(token), `${token} is not an integer in range`);
    if (colon) names += 1;
  }
  need(names === countNames(value, 1), "a duplicate member name");
  return value;
}

function countNames(value, depth) {
  if (value === null || typeof value !== "object") return 0;
  need(depth <= 64, "nested too deep");
  const inside = Object.values(value).reduce((sum, inner) => sum + countNames(inner, depth + 1), 0);
  if (Array.isArray(value)) return inside;
  need(Object.keys(value).every((name) => /^[\0-\x7f]*$/.test(name)), "a non-ASCII member name");
  return inside + Object.keys(value).length;
}

export function plain(value) {
  if (typeof value === "string") need(!/[\0-\x1f\u2028\u2029\ud800-\udfff]/u.test(value), "a character that is not allowed");
  if (value === null || typeof value !== "object") return;
  const inside = Array.isArray(value) ? value : [...Object.keys(value), ...Object.values(value)];
  for (const inner of inside) plain(inner);
}

export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)}}`;
}

export function fits(value, shape, path) {
  if (Array.isArray(shape)) {
    need(Array.isArray(value), `${path} is not a list`);
    value.forEach((inner) => fits(inner, shape[0], `${path}[]`));
  } else if (isObject(shape)) {
    need(isObject(value), `${path} is not an object`);
    const wanted = shape["*"] ? Object.keys(value).map((name) => [name, false, shape["*"]])
      : Object.entries(shape).filter(([name]) => !name.endsWith("~") || Object.hasOwn(value, name.slice(0, -1)))
        .map(([name, inner]) => [name.replace(/[?~]$/, ""), name.endsWith("?"), inner]);
    const complete = wanted.length === Object.keys(value).length && wanted.every(([name]) => Object.hasOwn(value, name));
    need(complete, `${path} lacks a member or has one too many`);
    for (const [name, nullable, inner] of wanted)
      if (!nullable || value[name] !== null) fits(value[name], inner, `${path}.${name}`);
  } else if (shape === "int") {
    need(Number.isSafeInteger(value) && value >= 0, `${path} is not of type int`);
  } else if (shape === "bool") {
    need(typeof value === "boolean", `${path} is not of type bool`);
  } else if (shape === "null") {
    need(value === null, `${path} is not null`);
  } else if (shape !== "any") {
    const pattern = FORMAT.patterns[shape] ?? shape;
    need(typeof value === "string" && new RegExp(`^(?:${pattern})$`, "u").test(value), `${path} does not match ${shape}`);
    if (shape === "time") need(isTime(value), `${path} is no such time`);
  }
}

function isTime(text) { // 30 February is not a time
  const time = new Date(text);
  return !Number.isNaN(time.valueOf()) && time.toISOString() === text;
}
