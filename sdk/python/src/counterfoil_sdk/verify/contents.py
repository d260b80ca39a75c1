"""The files of a package, and what the two long ones consist of: leaves and lines, one of each for every entry.

Format: docs/formats/package.md.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..formats.encoding import digest_of
from ..formats.shapes import ShapeError, demand, kind_of
from ..formats.strict_json import JsonError, Profile, parse, parse_with_texts
from .archive import Archive
from .report import broken, incomplete
from .statement import MAX_BODY

MANIFEST = {
    "typ": "package/v1", "iss": "issuer", "project": "prj", "at": "time", "first": "int", "size": "int",
    "files": {"*": {"bytes": "int", "digest": "digest"}},
}  # fmt: skip
TOMBSTONES = [{"seq": "int", "first": "int", "last": "int"}]
PROVIDER_KEYS = {
    "keys": [
        {
            "provider": "provider", "key": {"kty": "string", "crv": "string", "x": "string"}, "thumbprint": "thumbprint",
            "introduced": "int", "ended?": "int",
        }
    ]
}  # fmt: skip
_BUNDLE = {"seq": "int", "kind": "registry|rules", "text": "any"}

# Key sets, tombstones, a manifest.
_MAX_SMALL = 16 * 1024 * 1024
# Registries and rules are kilobytes; this many of them fit into memory.
_MAX_BUNDLES = 64 * 1024 * 1024
_received = kind_of("received/v1")
assert _received is not None, "statements.json has the wrapper"
_WITHHELD = {name: _received.members[name] for name in ("form", "signer", "holds")}
# How packers write a line; the body is judged alone.
_PLAIN_LINE = re.compile(r'\{"seq":(0|[1-9][0-9]{0,14}),"body":(\{"payload":.*\}\})\}')


@dataclass(frozen=True)
class Promise:
    """What a provider's entry in one registry says about signing."""

    signs: bool
    within: int
    """Seconds."""


Registries = Callable[[str, str], Promise | None]
"""What the registry of that digest says of that provider; None where its text is not at hand."""


@dataclass(frozen=True)
class Line:
    """What statements.jsonl shows of an entry's body: it, or `withheld`, or neither where it was erased."""

    seq: int
    body: str | None = None
    withheld: dict[str, Any] | None = None


def needed(files: Archive, name: str) -> bytes:
    """A file that must be there, and is small enough to be read whole."""
    if files.packed[demanded(files, name)].size > _MAX_SMALL:
        raise broken(f"{name} is larger than {_MAX_SMALL} bytes")
    return files.read(name)


def demanded(files: Archive, name: str) -> str:
    if name not in files:
        raise incomplete(f"{name} is not in the package")
    return name


def text_in(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise broken(f"{name} is not UTF-8") from None


def document_in(name: str, data: bytes, shape: Any) -> Any:
    """A JSON file of ours that is not signed."""
    try:
        document = parse(data, Profile.FOREIGN)
        demand(document, shape, "$")
    except (JsonError, ShapeError) as error:
        raise broken(f"{name}: {error}") from None
    return document


def compare_with(manifest: dict[str, Any], files: Archive) -> None:
    """Fails on the first file that is not as it was packed."""
    for name, packed in manifest["files"].items():
        file = files.packed[demanded(files, name)]
        if (file.size, file.digest) != (packed["bytes"], packed["digest"]):
            raise broken(f"{name} is not as it was packed")
    for name in ("entries.bin", "statements.jsonl", "new.checkpoint"):
        if name not in manifest["files"]:
            raise broken(f"{name} is not in the manifest")


def leaves_in(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """entries.bin: each leaf behind its length as two bytes, big-endian."""
    data = b""
    for chunk in chunks:
        data, at = data + chunk, 0
        while (end := at + 2 + int.from_bytes(data[at : at + 2])) <= len(data) and at + 2 <= len(data):
            yield data[at + 2 : end]
            at = end
        data = data[at:]
    if data:
        raise broken("entries.bin ends inside an entry")


def lines_in(chunks: Iterator[bytes]) -> Iterator[Line]:
    """statements.jsonl: each line with its number, and what it shows of that entry's body."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if max(map(len, (*lines, rest))) > MAX_BODY:
            raise broken("statements.jsonl has too long a line")
        for line in lines:
            yield _line(text_in("statements.jsonl", line))
    if rest:
        raise incomplete("statements.jsonl ends inside a line")


def _line(text: str) -> Line:
    if plain := _PLAIN_LINE.fullmatch(text):
        return Line(int(plain.group(1)), body=plain.group(2))
    try:
        line, texts = parse_with_texts(text, Profile.FOREIGN)
        demand(line.get("seq"), "int", "$.seq")
        if "withheld" in line:
            demand(line["withheld"], _WITHHELD, "$.withheld")
    except (JsonError, ShapeError) as error:
        raise broken(f"statements.jsonl does not read: {error}") from None
    match [name for name in line if name != "seq"]:
        case ["body"]:
            return Line(line["seq"], body=texts["body"])
        case ["withheld"]:
            return Line(line["seq"], withheld=line["withheld"])
        case ["absent"] if line["absent"] is True:
            return Line(line["seq"])
    raise broken(f"entry {line['seq']}: its line says not one thing")


def registries_in(files: Archive) -> Registries:
    """The registries that bundles.jsonl of a package with rules holds. A text counts by its digest alone."""
    texts: dict[str, Any] = {}
    if "bundles.jsonl" in files:
        if files.packed["bundles.jsonl"].size > _MAX_BUNDLES:
            raise broken(f"bundles.jsonl is larger than {_MAX_BUNDLES} bytes")
        for line in files.read("bundles.jsonl").splitlines():
            bundle = document_in("bundles.jsonl", line, _BUNDLE)
            if bundle["kind"] == "registry":
                text = str(bundle["text"])
                texts[digest_of(text.encode("utf-8", "surrogatepass"))] = _providers(text)
    return lambda document, provider: _promise(texts.get(document), provider)


def _providers(text: str) -> dict[str, Any] | None:
    try:
        providers = tomllib.loads(text).get("provider", {})
    except tomllib.TOMLDecodeError:
        return None
    return providers if isinstance(providers, dict) else None


def _promise(providers: dict[str, Any] | None, provider: str) -> Promise | None:
    if providers is None:
        return None
    said = providers.get(provider)
    if not isinstance(said, dict):
        return Promise(signs=False, within=0)
    within = said.get("sign_within", 600)
    return Promise(signs=said.get("signs") is True, within=within if type(within) is int else 600)
