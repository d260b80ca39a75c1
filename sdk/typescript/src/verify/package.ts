/**
 * Evidence packages: the entries from one checkpoint to another, their statements, and what proves them.
 *
 * Promised: everything is recomputed from the package's own bytes and the holder's pinned keys: chain, tree, signatures and key
 * states, days, what decides, times, and every finding that must be there; and it is said what could not be checked.
 * Not promised: that the end is the end. No package of this version carries witnesses, so the best answer is UNANCHORED: only
 * the log operator vouches that nothing follows. Verified never means allowed.
 * Files, steps and cases: docs/formats/package.md, docs/vectors/packages.
 */
import type { Work } from "../format/work.js";
import { ZipError, unzip } from "./zip.js";
import { Base, type Trust } from "./base.js";
import { Book } from "./book.js";
import { Chain } from "./chain.js";
import { leavesIn, linesIn, type Files } from "./files.js";
import { EXIT_CODES, Ended, UNCHECKED, broken, emptyReport, incomplete, verdict, type Report, type Verdict } from "./report.js";

export type { Trust } from "./base.js";
export type { Files } from "./files.js";
export type { Answer, ProviderPin, Report, Verdict } from "./report.js";

/** How many late or foreign decisions are looked at a second time. */
const MAX_SUSPECTS = 100_000;
const BETWEEN_WORDS = 500;

/** Whatever is wrong with the package is a verdict; an exception is a mistake of this program. */
export function* checkPackage(files: Files, trust: Trust): Work<Report> {
  const shown = { report: emptyReport(trust.pins.issuer) };
  const judged = yield* examined(files, trust, shown);
  return { ...shown.report, verdict: judged, exitCode: EXIT_CODES[judged.answer] };
}

/** As `checkPackage`, of the zip file. Throws `TooLargeError` where it does not fit into memory. */
export async function checkZip(zip: Blob, trust: Trust, run: <T>(work: Work<T>) => T | Promise<T>): Promise<Report> {
  let files: Files;
  try {
    files = await unzip(zip);
  } catch (error) {
    if (!(error instanceof ZipError)) throw error;
    return { ...emptyReport(trust.pins.issuer), verdict: verdict("BROKEN", `the zip file ${error.message}`), exitCode: EXIT_CODES.BROKEN };
  }
  return run(checkPackage(files, trust));
}

/** `shown.report` is what was found until verification ended. */
function* examined(files: Files, trust: Trust, shown: { report: Report }): Work<Verdict> {
  try {
    const base = yield* Base.read(files, trust);
    let book = new Book(base.first, null);
    yield* pass(files, trust, base, book, shown);
    const { suspects } = book;
    if (suspects.size > MAX_SUSPECTS) {
      shown.report.notChecked.push(UNCHECKED.late(suspects.size));
      return verdict("INCOMPLETE", "more late statements than can be reconciled");
    }
    // What came after its matter was settled needs the matter again: a second pass keeps it open.
    if (suspects.size > 0) {
      book = new Book(base.first, suspects);
      yield* pass(files, trust, base, book, shown);
    }
    return judgement(book, shown.report);
  } catch (error) {
    if (error instanceof Ended) return error.verdict;
    throw error;
  }
}

function judgement(book: Book, { incomplete: [missing] }: Report): Verdict {
  const found = book.omitted();
  if (found) return verdict("OMITTED", `${found.code} about entry ${found.seq} follows from the record, and stands nowhere`, { found });
  if (missing !== undefined) return verdict("INCOMPLETE", missing);
  return verdict("UNANCHORED", "all of it holds; only the log operator vouches for its end");
}

/** Reads all entries once. */
function* pass(files: Files, trust: Trust, base: Base, book: Book, shown: { report: Report }): Work<null> {
  shown.report = base.report();
  const chain = yield* Chain.of(base, trust, book);
  const lines = linesIn(longFile(files, "statements.jsonl"));
  for (const leaf of leavesIn(longFile(files, "entries.bin"))) {
    const line = lines.next();
    yield* chain.step(leaf, line.done ? null : line.value, shown.report);
    if (chain.size % BETWEEN_WORDS === 0) trust.progress?.(chain.size - base.first, base.end.size - base.first);
  }
  // A statement beside no entry: entries are missing, or the statement is too many.
  if (!lines.next().done) {
    if (chain.size < base.end.size) throw incomplete(`entries.bin ends before entry ${chain.size}`);
    throw broken(`statements.jsonl goes on where entry ${chain.size} would stand`);
  }
  return yield* chain.finish(files, shown.report);
}

function longFile(files: Files, name: string): Uint8Array {
  const file = files.get(name);
  if (!file) throw incomplete(`${name} is not in the package`);
  return file;
}
