/** One pass over the entries: chain, tree, signatures, key states, what decides, days. */
import { canonical } from "../format/canonical.js";
import { JsonError, parse, type JsonObject } from "../format/json.js";
import { ofBase64url, same, textOf, toBase64, type Octets } from "../format/octets.js";
import { ENTRY_KINDS, ShapeError, kindOf, type WrappedForm } from "../format/shapes.js";
import { leafHash } from "../format/tree.js";
import { digest, nothing, together, type Work } from "../format/work.js";
import { Answers } from "./answers.js";
import type { Base, Trust } from "./base.js";
import { Book } from "./book.js";
import { Control } from "./control.js";
import { Day } from "./day.js";
import { compareWith, type Files, type Shown } from "./files.js";
import { Grants } from "./grants.js";
import { Graves } from "./graves.js";
import { Keyring } from "./keyring.js";
import type { KeyStatement } from "./keys.js";
import { statedBy } from "./matter.js";
import type { Due } from "./open.js";
import { KeyError } from "./pins.js";
import { DEFAULT_SIGN_WITHIN } from "./reconcile.js";
import { Fault, UNCHECKED, broken, forked, incomplete, unpinned, type Ended, type Report } from "./report.js";
import {
  StatementError, canBeErased, entryKindOf, entryOf, genesis, isSkewed, statementInBody, type Entry, type SignedStatement,
} from "./statement.js";
import { fingerprintOf, readSubmitted } from "./submitted.js";

const FORM_KINDS = kindOf("received/v1")!.entry;

export class Chain {
  private readonly frontier;
  private lastHash: string | null;
  private lastAt: string | null = null;
  /** Null where the package does not start at entry 0: what was in force there is not in it. */
  private readonly control: Control | null;
  private readonly answers: Answers;
  /** As control. */
  private readonly grants: Grants | null;
  private readonly day: Day | null;
  /** Registries by the control number from which they are in force, ascending. */
  private readonly registries: { from: number; document: string }[] = [];
  private readonly graves: Graves;

  private constructor(
    private readonly base: Base,
    private readonly trust: Trust,
    private readonly keys: Keyring,
    private readonly book: Book,
    start: string,
  ) {
    const isWhole = base.first === 0;
    this.frontier = base.frontier.copy();
    this.lastHash = isWhole ? start : null;
    this.control = isWhole ? new Control() : null;
    this.answers = new Answers(isWhole);
    this.grants = isWhole ? new Grants() : null;
    this.day = isWhole ? new Day() : null;
    this.graves = new Graves(base.tombstones);
  }

  static *of(base: Base, trust: Trust, book: Book): Work<Chain> {
    return new Chain(base, trust, yield* Keyring.of(base, trust), book, yield* genesis(base.manifest.project));
  }

  /** How many entries the tree has so far: the number of the next. */
  get size(): number {
    return this.frontier.size;
  }

  *step(leaf: Uint8Array, line: { seq: number; shown: Shown } | null, report: Report): Work<null> {
    const seq = this.size;
    if (seq >= this.base.end.size) throw broken("entries.bin has more entries than new.checkpoint");
    try {
      return yield* this.entryAt(seq, leaf, line, report);
    } catch (error) {
      throw isFault(error) ? endedAt(seq, error) : error;
    }
  }

  /** After the last entry. */
  *finish(files: Files, report: Report): Work<null> {
    const { end, manifest } = this.base;
    if (this.size < end.size) throw incomplete(`entries.bin ends before entry ${this.size}`);
    if (!same(yield* this.frontier.root(), end.root)) throw broken("the entries do not give the root of new.checkpoint");
    report.incomplete.push(...this.graves.unborne());
    yield* this.keys.vouch(report);
    yield* compareWith(manifest, files);
    this.book.close(Date.parse(this.lastAt ?? manifest.at), report);
    if (report.withheld + report.erased > 0) report.notChecked.push(UNCHECKED.absences);
    return null;
  }

  private *entryAt(seq: number, leaf: Uint8Array, line: { seq: number; shown: Shown } | null, report: Report): Work<null> {
    const entry = this.entry(leaf, seq);
    if (!line) throw incomplete(`statements.jsonl ends before entry ${seq}`);
    if (line.seq !== seq) throw broken(`entry ${seq}: the statement beside it is that of entry ${line.seq}`);
    const { shown } = line;
    const body = shown !== "absent" && "body" in shown ? shown.body : null;
    const [entryHash, hash, named] = yield* together([digest(leaf), leafHash(leaf), body === null ? nothing() : digest(body)]);
    if (shown === "absent") this.absent(entry, report);
    else if ("withheld" in shown) this.withheld(entry, shown.withheld, report);
    if (named !== null && named !== entry.body) throw new Fault(`its body is \`${named}\`, not \`${entry.body}\``);
    const statement = body === null ? null : yield* this.statement(body, entry);
    yield* this.follow(statement?.payload ?? null, entry, entryHash, report);
    if (statement) report.verified += 1;
    return yield* this.append(entry, entryHash, hash);
  }

  /** The entry of a leaf, in canonical form and in its place in the chain. */
  private entry(leaf: Uint8Array, seq: number): Entry {
    const text = textOf(leaf);
    if (text === null) throw new Fault("leaf is not UTF-8");
    const entry = entryOf(parse(text, "strict"), "$");
    if (canonical(entry) !== text) throw new Fault("leaf is not in canonical form");
    const differs = (name: string, stands: unknown, follows: unknown) => {
      if (stands !== follows) throw new Fault(`its ${name} is \`${String(stands)}\`; the rest of the record gives \`${String(follows)}\``);
    };
    differs("seq", entry.seq, seq);
    differs("project", entry.project, this.base.manifest.project);
    differs("epoch", entry.epoch, entry.at.slice(0, 10));
    if (this.lastHash !== null) differs("prev", entry.prev, this.lastHash);
    if (!ENTRY_KINDS.has(entry.kind)) throw new Fault(`\`${entry.kind}\` is not a kind of entry that we know`);
    if (this.lastAt !== null && entry.at < this.lastAt) throw new Fault(`time is before that of the entry before, ${this.lastAt}`);
    return entry;
  }

  private *statement(body: string, entry: Entry): Work<SignedStatement> {
    const statement = statementInBody(body);
    yield* this.keys.signed(statement, entry);
    const { project, iss } = statement.payload;
    if (entry.kind !== entryKindOf(statement)) throw new Fault(`is of kind ${entry.kind}, and its body is not`);
    if (project !== entry.project) throw new Fault("its body is of another project");
    if (iss !== undefined && iss !== this.trust.pins.issuer) throw new Fault(`its body is issued by \`${String(iss)}\``);
    if (isSkewed(statement, entry)) throw new Fault("decision is more than 2 s ahead of its entry, or 15 s behind");
    return statement;
  }

  private withheld(entry: Entry, { form }: JsonObject, report: Report): void {
    report.withheld += 1;
    this.book.hide(entry);
    if (FORM_KINDS[String(form)] !== entry.kind) {
      report.incomplete.push(`entry ${entry.seq}: a body of kind ${entry.kind} is withheld`);
    }
  }

  private absent(entry: Entry, report: Report): void {
    if (!canBeErased(entry.kind)) throw new Fault(`body of kind ${entry.kind} is empty, and that kind cannot be erased`);
    this.book.hide(entry);
    if (this.graves.covers(entry)) report.erased += 1;
    else report.incomplete.push(`entry ${entry.seq}: body is empty and no tombstone covers it`);
  }

  /** Takes over what a statement changes, and hands it to the book. */
  private *follow(said: JsonObject | null, entry: Entry, hash: string, report: Report): Work<null> {
    if (said) this.control?.follow(said, Date.parse(entry.at));
    this.answers.follow(said, entry);
    if (said) this.grants?.follow(said, Date.parse(entry.at));
    // Only an epoch entry asks for the root, which costs a hash for every level of the tree.
    const root = this.day && entry.kind === "epoch" ? toBase64(yield* this.frontier.root()) : "";
    this.day?.follow(entry, said, root);
    this.book.advance(Date.parse(entry.at), report);
    switch (said?.typ) {
      case "key/v1":
        return yield* this.keys.follow(said as unknown as KeyStatement, entry);
      case "registry/v1":
        this.registries.push({ from: Number(said.control), document: String(said.document) });
        return null;
      case "tombstone/v1":
        this.graves.bearsOut(said, entry.seq);
        return null;
      case "decision/v1":
        this.book.decide(said, entry, hash, this.due(said, entry.seq), report);
        return null;
      case "session/v1":
        this.book.session(said, hash);
        return null;
      case "observation/v1":
        this.book.observe(said, entry, report);
        return null;
      case "received/v1":
        return yield* this.receive(said, entry, report);
      case "finding/v1":
        this.book.find(said, entry.body, report);
        return null;
      case "clearance/v1":
        this.book.clear(said, entry);
        return null;
      default:
        return null;
    }
  }

  /** Whether a statement about this decision is due, as far as the record and the holder's registries say. */
  private due({ provider, control }: JsonObject, seq: number): Due {
    if (typeof provider !== "string" || !this.keys.canSign(provider, seq)) return { kind: "never" };
    const document = this.registries.findLast(({ from }) => from <= Number(control))?.document;
    const promise = document === undefined ? null : this.trust.registry?.(document, provider) ?? null;
    if (!promise) return { kind: "unknown" };
    const { signs, within } = promise;
    return { kind: "known", terms: signs ? { owes: true, signWithin: within } : { owes: false, signWithin: DEFAULT_SIGN_WITHIN } };
  }

  private *receive(received: JsonObject, entry: Entry, report: Report): Work<null> {
    if (received.form === "catalog" && received.holds === false) this.book.unsignedCatalog(entry);
    if (FORM_KINDS[String(received.form)] !== "execution") return null;
    const bytes = ofBase64url(String(received.bytes));
    if (!bytes) throw new Fault("its bytes are not base64url");
    const submitted = readSubmitted(bytes, received.form as WrappedForm);
    const { standing, kid } = yield* this.keys.standing(submitted, received, entry.seq);
    if (received.holds !== standing.holds) {
      throw new Fault(`says that a signature inside of it ${received.holds ? "holds" : "fails"}, and it does not`);
    }
    this.book.state(statedBy(submitted, yield* fingerprintOf(submitted), entry, standing), kid, report);
    return null;
  }

  /** The entry is right: it becomes part of the tree, which must pass through what the holder kept. */
  private *append(entry: Entry, entryHash: string, leaf: Octets): Work<null> {
    const { heldEntries, heldRoots, note } = this.base;
    const held = heldEntries.get(entry.seq);
    if (held && held.hash !== entryHash) throw forked(held.note, note);
    yield* this.frontier.grow(leaf);
    [this.lastHash, this.lastAt] = [entryHash, entry.at];
    const root = heldRoots.get(this.size);
    if (root && !same(root.root, yield* this.frontier.root())) throw forked(root.note, note);
    return null;
  }
}

function isFault(error: unknown): error is Error {
  return [Fault, JsonError, ShapeError, StatementError, KeyError].some((kind) => error instanceof kind);
}

/** A key that only the package vouches for may be the right one; nobody whom the holder trusts says so. */
function endedAt(seq: number, error: Error): Ended {
  const why = `entry ${seq}: ${error.message}`;
  return error instanceof Fault && error.kind !== "broken" ? unpinned(why) : broken(why);
}
