/**
 * Hashes of a log, out of its tiles (C2SP tlog-tiles).
 *
 *     tile/<level>/<index>[.p/<width>]        256 hashes of 32 bytes; the newest tile of a level may be partial
 *
 * A tile is believed by nobody: what is computed from it is compared with a signed root.
 */
import { nodeHash, type Node } from "../format/tree.js";
import { fetchBytes } from "../format/fetching.js";

/** Fetches what lies below the log's address: `checkpoint`, `tile/0/000.p/3`. */
export type Fetch = (path: string) => Promise<Buffer>;

const WIDTH = 256;
const LEVELS = 8;

export function overHttp(address: string): Fetch {
  const base = address.replace(/\/+$/, "");
  return (path) => fetchBytes(`${base}/${path}`, 64 * 1024);
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
  readonly #held = new Map<string, Buffer>();

  constructor(
    private readonly fetch: Fetch,
    private readonly size: number,
  ) {}

  /** Runs a computation over nodes, fetching the tiles that it turns out to need. */
  async with<T>(compute: (node: Node) => T): Promise<T> {
    for (;;) {
      try {
        return compute((level, index) => this.#node(level, index));
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        await this.#load(error.level, error.index);
      }
    }
  }

  #node(level: number, index: number): Buffer {
    const height = level % LEVELS;
    const [row, first, count] = [Math.floor(level / LEVELS), index * 2 ** height, 2 ** height];
    const tile = Math.floor(first / WIDTH);
    const bytes = this.#held.get(`${row}/${tile}`);
    if (!bytes) throw new Missing(row, tile);
    const start = first - tile * WIDTH;
    return reduced(Array.from({ length: count }, (_, at) => bytes.subarray((start + at) * 32, (start + at + 1) * 32)));
  }

  async #load(level: number, index: number): Promise<void> {
    const complete = Math.floor(this.size / WIDTH ** level);
    const width = Math.min(WIDTH, complete - index * WIDTH);
    const partial = width < WIDTH ? `.p/${width}` : "";
    const bytes = await this.fetch(`tile/${level}/${tileName(index)}${partial}`);
    if (width < 1 || bytes.length !== width * 32) throw new Error(`tile ${level}/${index} is not of ${width} hashes`);
    this.#held.set(`${level}/${index}`, bytes);
  }
}

/** 1234067 is `x001/x234/067`. */
function tileName(index: number): string {
  const groups = [String(index % 1000).padStart(3, "0")];
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups.unshift(`x${String(rest % 1000).padStart(3, "0")}`);
  }
  return groups.join("/");
}

function reduced(hashes: Buffer[]): Buffer {
  let row = hashes;
  while (row.length > 1) row = row.flatMap((hash, at) => (at % 2 === 0 ? [nodeHash(hash, row[at + 1]!)] : []));
  return row[0]!;
}
