"""A zip file, as an honest or a dishonest packer writes it."""

import base64
import struct
import zlib


def zipped(files, *, method=8, comment=b"", before=b"", count=None, disk=0, changes=None):
    """`changes` by name, of what both headers say (`flags`, `method`, `sum`, `packed`, `size`, `at`), of the file's own
    header alone (`own_name`), or of the data (`data`)."""
    parts, listed, at = [before], [], len(before)
    for name, content in files:
        change = {**(changes or {}).get(name, {})}
        packing = change.get("method", method)
        data = change.get("data", deflated(content) if packing == 8 else content)
        common = struct.pack(
            "<5H3I", 20, change.get("flags", 0x800), packing, 0, 0, change.get("sum", zlib.crc32(content)),
            change.get("packed", len(data)), change.get("size", len(content)),
        )  # fmt: skip
        own = change.get("own_name", name).encode()
        parts += [b"PK\x03\x04", common, struct.pack("<2H", len(own), 0), own, data]
        central = struct.pack("<5H2I", len(name), 0, 0, disk, 0, 0, change.get("at", at))
        listed += [b"PK\x01\x02", struct.pack("<H", 20), common, central, name.encode()]
        at = sum(map(len, parts))
    directory, counted = b"".join(listed), len(files) if count is None else count
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", disk, disk, counted, counted, len(directory), at, len(comment))
    return b"".join([*parts, directory, end, comment])


def deflated(content):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def files_of(case):
    """The files of a case of docs/vectors/packages."""
    return [
        (name, base64.b64decode(content["base64"]) if "base64" in content else content["text"].encode())
        for name, content in case["files"].items()
    ]
