/**
 * The zip of a package, read without believing it.
 *
 * Promised: what is handed out has the names, sizes, checksums and places that the directory says, each once and none inside
 * another. Refused: comments, zip64, encryption, split files, other methods than stored and deflate, a name twice, a name that
 * leads elsewhere, data longer or shorter than declared, more than can be held in memory.
 * Not promised: that the bytes are those that were packed; the manifest says that. Bytes behind the end of a deflate stream are
 * refused by browsers and passed over by Node 20.
 */
import { textOf, type Octets } from "../format/octets.js";

export class ZipError extends Error {
  override name = "ZipError";
}

/** It may be right; it does not fit here. */
export class TooLargeError extends Error {
  override name = "TooLargeError";
}

/** Unpacked, all files together. A larger package is for the program, which streams. */
export const MAX_UNPACKED = 1024 * 1024 * 1024;
const MAX_FILES = 20_000;
const END = 22;
const HEADER = 30;
const LISTED = 46;
// `name`, or `folder/name`; no part begins with a dot.
const NAME = /^(?=.{1,128}$)[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)?$/;
// Bits 1 and 2 tell how hard the compressor tried, 3 that sizes stand behind the data too, 11 that names are UTF-8.
const KNOWN_FLAGS = 0b1000_0000_1110;
const SIZES_BEHIND = 0b1000;
const FULL_32 = 0xffffffff;

interface Listed {
  name: string;
  flags: number;
  method: number;
  sum: number;
  packed: number;
  size: number;
  /** Where its local header begins. */
  at: number;
}

export async function unzip(zip: Blob): Promise<Map<string, Octets>> {
  const listed = await directory(zip);
  const total = listed.reduce((sum, { size }) => sum + size, 0);
  if (total > MAX_UNPACKED) throw new TooLargeError(`the package unpacks to ${total} bytes: use the program counterfoil verify`);
  const files = new Map<string, Octets>();
  let from = 0;
  // In the order of their places, so that none lies inside another and nothing lies between them.
  for (const file of listed.toSorted((one, other) => one.at - other.at)) {
    if (file.at < from) throw new ZipError(`\`${file.name}\` lies inside another file`);
    const start = await dataOf(zip, file);
    files.set(file.name, await unpacked(zip.slice(start, start + file.packed), file));
    from = start + file.packed;
  }
  return files;
}

async function view(zip: Blob, from: number, length: number): Promise<DataView> {
  if (from < 0 || from + length > zip.size) throw new ZipError("ends early");
  return new DataView(await zip.slice(from, from + length).arrayBuffer());
}

async function directory(zip: Blob): Promise<Listed[]> {
  const end = await view(zip, zip.size - END, END);
  const short = (at: number) => end.getUint16(at, true);
  const long = (at: number) => end.getUint32(at, true);
  if (long(0) !== 0x06054b50) throw new ZipError("does not end as a zip file without a comment does");
  const [count, length, start] = [short(10), long(12), long(16)];
  const isOneDisk = short(4) === 0 && short(6) === 0 && short(8) === count;
  if (count > MAX_FILES || length === FULL_32 || start === FULL_32) throw new ZipError("has more files than a package, or is zip64");
  if (!isOneDisk || short(20) !== 0 || start + length !== zip.size - END) throw new ZipError("its directory is not where it says");
  const bytes = await view(zip, start, length);
  const listed: Listed[] = [];
  const names = new Set<string>();
  let at = 0;
  while (at < length) {
    const { file, next } = listing(bytes, at);
    if (file.at >= start) throw new ZipError(`\`${file.name}\` lies inside the directory`);
    // Some file systems would make one file of two spellings.
    const folded = file.name.toLowerCase();
    if (names.has(folded)) throw new ZipError(`\`${file.name}\` stands twice`);
    names.add(folded);
    listed.push(file);
    at = next;
  }
  if (listed.length !== count) throw new ZipError("its directory is not as long as it says");
  return listed;
}

function listing(bytes: DataView, at: number): { file: Listed; next: number } {
  if (at + LISTED > bytes.byteLength || bytes.getUint32(at, true) !== 0x02014b50) throw new ZipError("its directory does not read");
  const short = (from: number) => bytes.getUint16(at + from, true);
  const long = (from: number) => bytes.getUint32(at + from, true);
  const next = at + LISTED + short(28) + short(30) + short(32);
  if (next > bytes.byteLength) throw new ZipError("its directory does not read");
  const name = nameOf(new Uint8Array(bytes.buffer, bytes.byteOffset + at + LISTED, short(28)));
  const file: Listed = { name, flags: short(8), method: short(10), sum: long(16), packed: long(20), size: long(24), at: long(42) };
  if ((file.flags & ~KNOWN_FLAGS) !== 0) throw new ZipError(`\`${name}\` is encrypted, or packed in a way that no package is`);
  if (file.method !== 0 && file.method !== 8) throw new ZipError(`\`${name}\` is packed with method ${file.method}`);
  if ([file.packed, file.size, file.at].includes(FULL_32) || short(34) !== 0) throw new ZipError(`\`${name}\` is zip64`);
  if (short(32) !== 0) throw new ZipError(`\`${name}\` has a comment`);
  if (file.method === 0 && file.packed !== file.size) throw new ZipError(`\`${name}\` is stored in another size than its own`);
  return { file, next };
}

function nameOf(bytes: Uint8Array): string {
  const name = textOf(bytes) ?? "";
  if (!NAME.test(name)) throw new ZipError(`has a name that no file of a package has: ${JSON.stringify(name)}`);
  return name;
}

/** Where the data begins, if the file's own header agrees with the directory. */
async function dataOf(zip: Blob, { name, flags, method, sum, packed, size, at }: Listed): Promise<number> {
  const header = await view(zip, at, HEADER);
  const short = (from: number) => header.getUint16(from, true);
  const named = new Uint8Array((await view(zip, at + HEADER, short(26))).buffer);
  const sums = [14, 18, 22].map((from) => header.getUint32(from, true));
  const hasSums = (flags & SIZES_BEHIND) !== 0 || (sums[0] === sum && sums[1] === packed && sums[2] === size);
  const agrees = hasSums && header.getUint32(0, true) === 0x04034b50 && short(6) === flags && short(8) === method && textOf(named) === name;
  if (!agrees) throw new ZipError(`\`${name}\` has a header that says otherwise than the directory`);
  const start = at + HEADER + short(26) + short(28);
  if (start + packed > zip.size) throw new ZipError("ends early");
  return start;
}

async function unpacked(data: Blob, file: Listed): Promise<Octets> {
  const bytes = file.method === 0 ? new Uint8Array(await data.arrayBuffer()) : await inflated(data, file);
  if (checksum(bytes) !== file.sum) throw new ZipError(`\`${file.name}\` has another checksum`);
  return bytes;
}

async function inflated(data: Blob, { name, size }: Listed): Promise<Octets> {
  const bytes = new Uint8Array(size);
  let filled = 0;
  const reader = data.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (filled + part.value.length > size) throw new ZipError(`\`${name}\` is longer than declared`);
      bytes.set(part.value, filled);
      filled += part.value.length;
    }
  } catch (error) {
    await reader.cancel().catch(() => undefined);
    throw error instanceof ZipError ? error : new ZipError(`\`${name}\` does not unpack: ${(error as Error).message}`);
  }
  if (filled !== size) throw new ZipError(`\`${name}\` is shorter than declared`);
  return bytes;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum;
});

/** CRC-32 of ISO 3309. */
function checksum(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff]! ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
