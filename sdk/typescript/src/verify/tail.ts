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
import { canonical } from "../format/canonical.js";
import { isObject, parse, type Json, type JsonObject } from "../format/json.js";
import { ofBase64url, textOf } from "../format/octets.js";
import { kindOf, type WrappedForm } from "../format/shapes.js";
import { digest, type Work } from "../format/work.js";
import { follows } from "./neighbours.js";
import { pinOf, type Pins } from "./pins.js";
import { Refused, checkStatement, refusalOf } from "./receipt.js";
import { MAX_BODY, canBeErased, entryOf, genesis, statementOf, type Entry, type SignedStatement } from "./statement.js";
import { readSubmitted, submittedHolds } from "./submitted.js";

export interface TailCounts {
  entries: number;
  /** Statements whose signature was checked, and those that are not shown. */
  statements: number;
  withheld: number;
  erased: number;
  /** Statements of providers inside of wrappers: signatures that were checked, and those whose key is in no key set. */
  inside: number;
  insideUnknown: number;
}

export interface Row {
  entry: Entry;
  body: Json | undefined;
  /** The form of a wrapped body that is not shown. */
  withheld: string | null;
}

const ROW_MEMBERS = ["entry", "seq", "body", "withheld", "absent"];
const FORM_KINDS = kindOf("received/v1")!.entry;

export function noTail(): TailCounts {
  return { entries: 0, statements: 0, withheld: 0, erased: 0, inside: 0, insideUnknown: 0 };
}

/** One answer, read. */
export function rowsIn(answer: Uint8Array): Row[] {
  const text = textOf(answer);
  const read = text === null ? null : parse(text, "foreign");
  if (!isObject(read) || read.typ !== "entries/v1" || !Array.isArray(read.entries)) {
    throw new Refused("BROKEN", "the server's list of entries does not read");
  }
  return read.entries.map((row, at) => rowOf(row, `$.entries[${at}]`));
}

function rowOf(row: Json, path: string): Row {
  if (!isObject(row) || Object.keys(row).some((name) => !ROW_MEMBERS.includes(name))) throw new Refused("BROKEN", `\`${path}\`: no entry`);
  const entry = entryOf(row.entry!, `${path}.entry`);
  const shown = [row.body, row.withheld, row.absent].filter((member) => member !== undefined);
  if (row.seq !== entry.seq || shown.length !== 1 || (row.absent !== undefined && row.absent !== true)) {
    throw new Refused("BROKEN", `entry ${entry.seq}: its line says not one thing`);
  }
  const withheld = isObject(row.withheld) ? String(row.withheld.form) : row.withheld === undefined ? null : "";
  return { entry, body: row.body, withheld };
}

/** One entry in its place. Throws `Refused`, naming it. */
export function* checkRow(row: Row, before: Entry | null, pins: Pins, counts: TailCounts): Work<null> {
  const { entry } = row;
  try {
    if (before) yield* follows(entry, before);
    else if (entry.seq === 0 && entry.prev !== (yield* genesis(entry.project))) throw new Refused("BROKEN", "does not follow the project's start");
    if (entry.epoch !== entry.at.slice(0, 10)) throw new Refused("BROKEN", "epoch is not the day of its time");
    parse(canonical(entry), "strict");
    counts.entries += 1;
    if (row.body !== undefined) yield* checkBody(row.body, entry, pins, counts);
    else if (row.withheld !== null) mayBeWithheld(row.withheld, entry, counts);
    else mayBeErased(entry, counts);
    return null;
  } catch (error) {
    const refusal = refusalOf(error);
    if (!(refusal instanceof Refused) || refusal.message.startsWith(`entry ${entry.seq}`)) throw refusal;
    throw new Refused(refusal.answer, `entry ${entry.seq}: ${refusal.message}`);
  }
}

function mayBeWithheld(form: string, entry: Entry, counts: TailCounts): void {
  const isOfOthers = Object.hasOwn(FORM_KINDS, form) && FORM_KINDS[form] === entry.kind;
  if (!isOfOthers) throw new Refused("BROKEN", `a body of kind ${entry.kind} is withheld`);
  counts.withheld += 1;
}

function mayBeErased(entry: Entry, counts: TailCounts): void {
  if (!canBeErased(entry.kind)) throw new Refused("BROKEN", `body of kind ${entry.kind} is empty, and that kind cannot be erased`);
  counts.erased += 1;
}

/** The first entry whose body is empty although no tombstone after it is of its day and covers it; null if there is none. */
export function unburied(rows: readonly Row[]): number | null {
  const tombstones = rows.flatMap(({ entry, body }) => (entry.kind === "tombstone" && isObject(body) ? [{ at: entry.seq, said: body.payload as JsonObject }] : []));
  const isCovered = ({ seq, epoch }: Entry) =>
    tombstones.some(({ at, said }) => at > seq && Number(said.first) <= seq && seq <= Number(said.last) && said.epoch === epoch);
  const absent = rows.filter(({ body, withheld }) => body === undefined && withheld === null);
  return absent.find(({ entry }) => !isCovered(entry))?.entry.seq ?? null;
}

function* checkBody(body: Json, entry: Entry, pins: Pins, counts: TailCounts): Work<null> {
  const text = canonical(body);
  parse(text, "strict", MAX_BODY);
  const statement = statementOf(body, "$");
  yield* checkStatement(statement, digest(text), entry, pins);
  counts.statements += 1;
  const { payload } = statement;
  if (payload.typ === "key/v1") keyIsListed(payload, entry, pins);
  if (payload.typ === "received/v1" && FORM_KINDS[String(payload.form)] === "execution") yield* checkInside(statement, pins, counts);
  return null;
}

/** What the record says of a key must be what the key set says of it. */
function keyIsListed(said: JsonObject, entry: Entry, pins: Pins): void {
  const { thumbprint, purpose, event, key } = said as { thumbprint: string; purpose: string; event: string; key: { x: string } };
  const listed = pinOf(pins, thumbprint);
  if (!listed) throw new Refused("BROKEN", `key \`${thumbprint}\` stands in the record and not in the key set`);
  const isSame = listed.purpose === purpose && listed.key.x === key.x;
  const isTimed = event === "introduced" ? listed.from === entry.at : listed.until !== null && listed.until <= entry.at;
  if (!isSame || !isTimed) throw new Refused("BROKEN", `key \`${thumbprint}\` is ${event} here, and the key set says otherwise`);
}

function* checkInside({ payload }: SignedStatement, pins: Pins, counts: TailCounts): Work<null> {
  const bytes = ofBase64url(String(payload.bytes));
  if (!bytes) throw new Refused("BROKEN", "its bytes are not base64url");
  const submitted = readSubmitted(bytes, payload.form as WrappedForm);
  const { thumbprint } = payload.signer as { thumbprint: string | null };
  const key = pinOf(pins, payload.form === "execution-native" ? submitted.kid : thumbprint ?? "");
  if (key?.purpose !== "execution") {
    counts.insideUnknown += 1;
    return null;
  }
  const holds = yield* submittedHolds(submitted, key.key);
  // A signature that holds may be of a key that had ended; one that fails cannot be said to hold.
  if (payload.holds === true && !holds) throw new Refused("BROKEN", "says that the signature inside of it holds, and it does not");
  counts.inside += 1;
  return null;
}
