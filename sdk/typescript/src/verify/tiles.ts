/**
 * Hashes of a log, out of its tiles (C2SP tlog-tiles).
 *
 *     tile/<level>/<index>[.p/<width>]        256 hashes of 32 bytes; the newest tile of a level may be partial
 *     tile/entries/<index>[.p/<width>]        256 leaves, each behind its length as two bytes, big-endian
 *
 * A tile is believed by nobody: what is computed from it is compared with a signed root.
 */
import type { Octets } from "../format/octets.js";
import { nodeHash, type Node } from "../format/tree.js";
import type { Work } from "../format/work.js";

/** Fetches what lies below the log's address: `checkpoint`, `tile/0/000.p/3`. */
export type Fetch = (path: string) => Promise<Uint8Array>;

export const WIDTH = 256;
const LEVELS = 8;

/** What a server sent is not what was asked for. */
export class TileError extends Error {
  override name = "TileError";
}

class Missing extends Error {
  constructor(
    readonly level: number,
    readonly index: number,
  ) {
    super("tile not fetched yet");
  }
}

export class Tiles {
  readonly #held = new Map<string, Uint8Array>();

  constructor(
    private readonly fetch: Fetch,
    private readonly size: number,
  ) {}

  /** Runs a computation over nodes, fetching the tiles that it turns out to need. */
  async with<T>(compute: (node: Node) => T | Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await compute((level, index) => this.#node(level, index));
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        await this.#load(error.level, error.index);
      }
    }
  }

  *#node(level: number, index: number): Work<Octets> {
    const height = level % LEVELS;
    const [row, first, count] = [Math.floor(level / LEVELS), index * 2 ** height, 2 ** height];
    const tile = Math.floor(first / WIDTH);
    const bytes = this.#held.get(`${row}/${tile}`);
    if (!bytes) throw new Missing(row, tile);
    const start = first - tile * WIDTH;
    return yield* reduced(Array.from({ length: count }, (_, at) => bytes.slice((start + at) * 32, (start + at + 1) * 32)));
  }

  async #load(level: number, index: number): Promise<void> {
    const complete = Math.floor(this.size / WIDTH ** level);
    const width = Math.min(WIDTH, complete - index * WIDTH);
    const path = tilePath(level, index, width);
    const bytes = await this.fetch(path);
    if (width < 1 || bytes.length !== width * 32) throw new TileError(`${path} is not of ${width} hashes`);
    this.#held.set(`${level}/${index}`, bytes);
  }
}

/** The leaves of entries `index`·256 to `index`·256 + `width` − 1. */
export async function entryLeaves(fetch: Fetch, index: number, width: number): Promise<Uint8Array[]> {
  const path = tilePath("entries", index, width);
  const bytes = await fetch(path);
  const leaves: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at]! * 256 + (bytes[at + 1] ?? 0);
    const leaf = bytes.slice(at + 2, at + 2 + length);
    if (leaf.length !== length || at + 2 > bytes.length) throw new TileError(`${path} ends inside an entry`);
    leaves.push(leaf);
    at += 2 + length;
  }
  if (leaves.length !== width) throw new TileError(`${path} is not of ${width} entries`);
  return leaves;
}

/** 1234067 is `x001/x234/067`. */
export function tilePath(level: number | "entries", index: number, width: number): string {
  const groups = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return `tile/${level}/${groups.join("/")}${width < WIDTH ? `.p/${width}` : ""}`;
}

function* reduced(hashes: Octets[]): Work<Octets> {
  let row = hashes;
  while (row.length > 1) {
    const above: Octets[] = [];
    for (let at = 0; at < row.length; at += 2) above.push(yield* nodeHash(row[at]!, row[at + 1]!));
    row = above;
  }
  return row[0]!;
}
