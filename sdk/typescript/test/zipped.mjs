// A zip file, as an honest or a dishonest packer writes it.
import { deflateRawSync } from "node:zlib";

/** CRC-32, bit by bit. */
function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function header(signature, ...fields) {
  const bytes = Buffer.alloc(fields.reduce((length, [size]) => length + size, 4));
  bytes.writeUInt32LE(signature);
  let at = 4;
  for (const [size, value] of fields) {
    if (size === 2) bytes.writeUInt16LE(value, at);
    else bytes.writeUInt32LE(value, at);
    at += size;
  }
  return bytes;
}

/**
 * `files` as [name, bytes, changes]; a change is of what both headers say (`flags`, `method`, `sum`, `packed`, `size`, `at`), of the file's
 * own header alone (`ownName`), or of the data (`data`).
 */
export function zipped(files, { method = 8, comment = "", before = Buffer.alloc(0), between = Buffer.alloc(0), count, disk = 0 } = {}) {
  const parts = [before];
  const listed = [];
  let at = before.length;
  for (const [name, bytes, changes = {}] of files) {
    const packing = changes.method ?? method;
    const data = changes.data ?? (packing === 8 ? deflateRawSync(bytes) : Buffer.from(bytes));
    const { flags = 0x800, sum = crc(bytes), packed = data.length, size = bytes.length, ownName = name } = changes;
    const common = [[2, 20], [2, flags], [2, packing], [4, 0], [4, sum], [4, packed], [4, size]];
    const own = header(0x04034b50, ...common, [2, Buffer.byteLength(ownName)], [2, 0]);
    const place = changes.at ?? at;
    listed.push(
      header(0x02014b50, [2, 20], ...common, [2, Buffer.byteLength(name)], [2, 0], [2, 0], [2, disk], [2, 0], [4, 0], [4, place]), Buffer.from(name));
    parts.push(own, Buffer.from(ownName), data, between);
    at += own.length + Buffer.byteLength(ownName) + data.length + between.length;
  }
  const directory = Buffer.concat(listed);
  const counted = count ?? files.length;
  const end = header(0x06054b50, [2, disk], [2, disk], [2, counted], [2, counted], [4, directory.length], [4, at], [2, comment.length]);
  return Buffer.concat([...parts, directory, end, Buffer.from(comment)]);
}

/** The files of a case of docs/vectors/packages. */
export function filesOf({ files }) {
  return Object.entries(files).map(([name, { text, base64 }]) => [name, base64 === undefined ? Buffer.from(text) : Buffer.from(base64, "base64")]);
}
