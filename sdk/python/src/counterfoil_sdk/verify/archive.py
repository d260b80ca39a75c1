"""The zip of a package, read as a stream and without believing it.

Promised: what is handed out has the names, sizes, checksums and places that the directory says, each once and none inside
another; memory does not grow with the package. Refused: comments, zip64, encryption, split files, other methods than stored
and deflate, a name twice, a name that leads elsewhere, data longer or shorter than declared, data behind the end of a stream.
Not promised: that the bytes are those that were packed; the manifest says that. `zipfile` takes most of the above.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

_MAX_FILES = 20_000
_CHUNK = 64 * 1024
_END = struct.Struct("<4s4H2IH")
_LISTED = struct.Struct("<4s6H3I5H2I")
_HEADER = struct.Struct("<4s5H3I2H")
# `name`, or `folder/name`; no part begins with a dot.
_NAME = re.compile(rb"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)?")
_LONGEST_NAME = 128
# Bits 1 and 2 tell how hard the compressor tried, 3 that sizes stand behind the data too, 11 that names are UTF-8.
_KNOWN_FLAGS = 0b1000_0000_1110
_SIZES_BEHIND = 0b1000
_FULL_32 = 0xFFFFFFFF


class ZipError(Exception):
    pass


@dataclass(frozen=True)
class _Listed:
    name: str
    flags: int
    method: int
    sum: int
    packed: int
    size: int
    at: int
    """Where its own header begins."""


@dataclass(frozen=True)
class Packed:
    size: int
    digest: str


class Archive:
    def __init__(self, file: BinaryIO) -> None:
        """Reads the directory. The file must be one that can be read at any place."""
        self._file = file
        self._length = file.seek(0, 2)
        self._files: dict[str, tuple[_Listed, int]] = {}
        end = 0
        # In the order of their places, so that none lies inside another.
        for listed in sorted(self._directory(), key=lambda listed: listed.at):
            if listed.at < end:
                raise ZipError(f"`{listed.name}` lies inside another file")
            start = self._start(listed)
            self._files[listed.name] = (listed, start)
            end = start + listed.packed
        self.packed = {name: self._packed(name) for name in self._files}
        """Size and digest of each file, unpacked; all of them were unpacked once to know."""

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def chunks(self, name: str) -> Iterator[bytes]:
        """A file's bytes, in parts; raises as soon as they are not what the directory says."""
        listed, start = self._files[name]
        size = checksum = 0
        for part in self._unpacked(listed, start):
            size, checksum = size + len(part), zlib.crc32(part, checksum)
            if size > listed.size:
                raise ZipError(f"`{name}` is longer than declared")
            yield part
        if size != listed.size:
            raise ZipError(f"`{name}` is shorter than declared")
        if checksum != listed.sum:
            raise ZipError(f"`{name}` has another checksum")

    def read(self, name: str) -> bytes:
        return b"".join(self.chunks(name))

    def _packed(self, name: str) -> Packed:
        size, digest = 0, hashlib.sha256()
        for part in self.chunks(name):
            size += len(part)
            digest.update(part)
        return Packed(size, f"sha256:{digest.hexdigest()}")

    def _unpacked(self, listed: _Listed, start: int) -> Iterator[bytes]:
        stream = None if listed.method == 0 else zlib.decompressobj(-zlib.MAX_WBITS)
        for at in range(start, start + listed.packed, _CHUNK):
            part = self._bytes(at, min(_CHUNK, start + listed.packed - at))
            if stream is None:
                yield part
                continue
            try:
                while part:
                    yield stream.decompress(part, _CHUNK)
                    part = stream.unconsumed_tail
            except zlib.error as error:
                raise ZipError(f"`{listed.name}` does not unpack: {error}") from None
            if stream.unused_data:
                raise ZipError(f"`{listed.name}` does not unpack: something stands behind its end")
        if stream is not None:
            yield stream.flush()
            if not stream.eof:
                raise ZipError(f"`{listed.name}` does not unpack: it ends early")

    def _bytes(self, at: int, length: int) -> bytes:
        if at < 0 or at + length > self._length:
            raise ZipError("ends early")
        self._file.seek(at)
        data = self._file.read(length)
        if len(data) != length:
            raise ZipError("ends early")
        return data

    def _directory(self) -> list[_Listed]:
        head = self._length - _END.size
        mark, disk, first_disk, here, count, length, start, comment = _END.unpack(self._bytes(head, _END.size))
        if mark != b"PK\x05\x06":
            raise ZipError("does not end as a zip file without a comment does")
        if count > _MAX_FILES or _FULL_32 in (length, start):
            raise ZipError("has more files than a package, or is zip64")
        if (disk, first_disk, here, comment) != (0, 0, count, 0) or start + length != head:
            raise ZipError("its directory is not where it says")
        data, at = self._bytes(start, length), 0
        listed: dict[str, _Listed] = {}
        while at < length:
            file, at = _listing(data, at)
            if file.at >= start:
                raise ZipError(f"`{file.name}` lies inside the directory")
            # Some file systems would make one file of two spellings.
            if file.name.lower() in listed:
                raise ZipError(f"`{file.name}` stands twice")
            listed[file.name.lower()] = file
        if len(listed) != count:
            raise ZipError("its directory is not as long as it says")
        return list(listed.values())

    def _start(self, listed: _Listed) -> int:
        """Where the data begins, if the file's own header agrees with the directory."""
        mark, _, flags, method, _, _, *sums, named, extra = _HEADER.unpack(self._bytes(listed.at, _HEADER.size))
        name = self._bytes(listed.at + _HEADER.size, named)
        has_sums = bool(flags & _SIZES_BEHIND) or sums == [listed.sum, listed.packed, listed.size]
        says = (mark, flags, method, name)
        if not has_sums or says != (b"PK\x03\x04", listed.flags, listed.method, listed.name.encode()):
            raise ZipError(f"`{listed.name}` has a header that says otherwise than the directory")
        start = listed.at + _HEADER.size + len(name) + int(extra)
        if start + listed.packed > self._length:
            raise ZipError("ends early")
        return start


def _listing(data: bytes, at: int) -> tuple[_Listed, int]:
    if at + _LISTED.size > len(data):
        raise ZipError("its directory does not read")
    found = _LISTED.unpack_from(data, at)
    mark, _, _, flags, method, _, _, checksum, packed, size, named, extra, comment, disk, _, _, place = found
    name = data[at + _LISTED.size : at + _LISTED.size + named]
    end = at + _LISTED.size + named + extra + comment
    if mark != b"PK\x01\x02" or end > len(data):
        raise ZipError("its directory does not read")
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise ZipError(f"has a name that no file of a package has: {name!r}")
    text = name.decode()
    if flags & ~_KNOWN_FLAGS:
        raise ZipError(f"`{text}` is encrypted, or packed in a way that no package is")
    if method not in (0, 8):
        raise ZipError(f"`{text}` is packed with method {method}")
    if _FULL_32 in (packed, size, place) or disk != 0:
        raise ZipError(f"`{text}` is zip64")
    if comment:
        raise ZipError(f"`{text}` has a comment")
    if method == 0 and packed != size:
        raise ZipError(f"`{text}` is stored in another size than its own")
    return _Listed(text, flags, method, checksum, packed, size, place), end
