"""Evidence packages: the entries from one checkpoint to another, their statements, and what proves them.

Promised: everything is recomputed from the package's own bytes and the holder's pinned keys: chain, tree, signatures and key
states, days, what decides, times, and every finding that must be there; and it is said what could not be checked.
Not promised: that the end is the end. No package of this version carries witnesses, so the best answer is UNANCHORED: only
the log operator vouches that nothing follows. Verified never means allowed.
Files, steps and cases: docs/formats/package.md, docs/vectors/packages.
"""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from ..formats.keys import KeySet
from .archive import Archive, ZipError
from .base import Base, Trust
from .book import Book
from .chain import Chain
from .contents import Registries, demanded, leaves_in, lines_in, registries_in
from .report import Ended, Report, Verdict, broken, incomplete

# How many late or foreign decisions are looked at a second time.
_MAX_SUSPECTS = 100_000


def verify_package(
    package: bytes | str | os.PathLike[str] | BinaryIO,
    pinned: KeySet,
    *,
    provider_keys: Sequence[bytes | str] = (),
    since: str | None = None,
    held: Sequence[bytes | str] = (),
    registry: Registries | None = None,
) -> Report:
    """A package as its path, an open file or the bytes of it; read as a stream, so memory does not grow with it.

    `pinned` are our keys, `provider_keys` what providers publish themselves (a JWKS or one JWK each), `since` a checkpoint
    that you kept and `held` receipts. `registry` says what an entry in a registry says of a provider, by the digest of its
    text; where it is not given, the texts of a package with rules are read. Raises OSError where the file cannot be read,
    `KeyRefused` and `JsonError` for provider's keys that are none; whatever is wrong with the package is in the verdict.
    """
    for keys in provider_keys:
        pinned = pinned.with_provider_keys(keys)
    if isinstance(package, bytes):
        return _verified(io.BytesIO(package), pinned, since, held, registry)
    if isinstance(package, (str, os.PathLike)):
        with Path(package).open("rb") as file:
            return _verified(file, pinned, since, held, registry)
    return _verified(package, pinned, since, held, registry)


def _verified(
    file: BinaryIO, pinned: KeySet, since: str | None, held: Sequence[bytes | str], registry: Registries | None
) -> Report:
    report = Report(pinned.issuer)
    try:
        files = Archive(file)
        trust = Trust(pinned, since, held, registry or registries_in(files))
        report = _Pass(files, trust).judged()
    except ZipError as error:
        report.verdict = Verdict("BROKEN", f"the zip file {error}")
    except Ended as ended:
        report.verdict = ended.verdict
    return report


class _Pass:
    def __init__(self, files: Archive, trust: Trust) -> None:
        self._files, self._trust = files, trust
        self._base = Base(files, trust)
        self._report = self._base.report()

    def judged(self) -> Report:
        """What was found until verification ended."""
        try:
            self._report.verdict = self._verdict()
        except Ended as ended:
            self._report.verdict = ended.verdict
        return self._report

    def _verdict(self) -> Verdict:
        book = Book(self._base.first, None)
        self._read(book)
        if len(book.suspects) > _MAX_SUSPECTS:
            self._report.not_checked.append(f"{len(book.suspects)} decisions that late statements name")
            return Verdict("INCOMPLETE", "more late statements than can be reconciled")
        # What came after its matter was settled needs the matter again: a second pass keeps it open.
        if book.suspects:
            book = Book(self._base.first, book.suspects)
            self._read(book)
        if found := book.omitted():
            why = f"{found.code} about entry {found.seq} follows from the record, and stands nowhere"
            return Verdict("OMITTED", why, found=found)
        if self._report.incomplete:
            return Verdict("INCOMPLETE", self._report.incomplete[0])
        return Verdict("UNANCHORED", "all of it holds; only the log operator vouches for its end")

    def _read(self, book: Book) -> None:
        """Reads all entries once."""
        files, self._report = self._files, self._base.report()
        chain = Chain(self._base, self._trust, book)
        lines = lines_in(files.chunks(demanded(files, "statements.jsonl")))
        for leaf in leaves_in(files.chunks(demanded(files, "entries.bin"))):
            chain.step(leaf, next(lines, None), self._report)
        # A statement beside no entry: entries are missing, or the statement is too many.
        if next(lines, None) is not None:
            if chain.size < self._base.end.size:
                raise incomplete(f"entries.bin ends before entry {chain.size}")
            raise broken(f"statements.jsonl goes on where entry {chain.size} would stand")
        chain.finish(files, self._report)
