"""One pass over the entries: chain, tree, signatures, key states, what decides, days."""

from ..execution.read import read_execution
from ..formats.canonical import parse_signed
from ..formats.encoding import base64_text, digest_of, from_base64url
from ..formats.keys import KeyRefused
from ..formats.shapes import ENTRY_KINDS, ShapeError, kind_of
from ..formats.strict_json import JsonError
from ..formats.tree import leaf_hash
from .answers import Answers
from .archive import Archive
from .base import Base, Trust
from .book import Book, Due
from .catalog import read_catalog
from .contents import Line, compare_with
from .control import Control
from .days import Days
from .grants import Grants
from .graves import Graves
from .keyring import Keyring
from .matter import Stated
from .reconcile import Terms
from .report import ABSENCES, Ended, Fault, Report, broken, forked, incomplete, unpinned
from .statement import (
    Entry,
    Payload,
    SignedStatement,
    StatementError,
    can_be_erased,
    entry_of,
    genesis,
    is_skewed,
    millis,
    statement_in_body,
)

_received = kind_of("received/v1")
assert _received is not None, "statements.json has the wrapper"
_FORM_KINDS = _received.entry
_FAULTS = (Fault, JsonError, ShapeError, StatementError, KeyRefused)


class Chain:
    def __init__(self, base: Base, trust: Trust, book: Book) -> None:
        is_whole = base.first == 0
        self._base, self._trust, self._book = base, trust, book
        self._keys = Keyring(base, trust.pinned)
        self._frontier = base.frontier.copy()
        self._last_hash = genesis(base.manifest["project"]) if is_whole else None
        self._last_at: str | None = None
        # None where the package does not start at entry 0: what was in force there is not in it.
        self._control = Control() if is_whole else None
        self._answers = Answers(is_whole=is_whole)
        self._grants = Grants() if is_whole else None
        self._days = Days() if is_whole else None
        # Registries by the control number from which they are in force, ascending.
        self._registries: list[tuple[int, str]] = []
        self._graves = Graves(base.tombstones)

    @property
    def size(self) -> int:
        """How many entries the tree has so far: the number of the next."""
        return self._frontier.size

    def step(self, leaf: bytes, line: Line | None, report: Report) -> None:
        seq = self.size
        if seq >= self._base.end.size:
            raise broken("entries.bin has more entries than new.checkpoint")
        try:
            self._step(seq, leaf, line, report)
        except _FAULTS as error:
            raise _ended_at(seq, error) from error

    def finish(self, files: Archive, report: Report) -> None:
        """After the last entry."""
        base = self._base
        if self.size < base.end.size:
            raise incomplete(f"entries.bin ends before entry {self.size}")
        if self._frontier.root() != base.end.root:
            raise broken("the entries do not give the root of new.checkpoint")
        report.incomplete += self._graves.unborne()
        self._keys.vouch(report)
        compare_with(base.manifest, files)
        self._book.close(millis(self._last_at or base.manifest["at"]), report)
        if report.withheld + report.erased:
            report.not_checked.append(ABSENCES)

    def _step(self, seq: int, leaf: bytes, line: Line | None, report: Report) -> None:
        entry = self._entry(leaf, seq)
        if line is None:
            raise incomplete(f"statements.jsonl ends before entry {seq}")
        if line.seq != seq:
            raise broken(f"entry {seq}: the statement beside it is that of entry {line.seq}")
        statement = None
        if line.withheld is not None:
            self._withhold(entry, line.withheld["form"], report)
        elif line.body is None:
            self._miss(entry, report)
        else:
            statement = self._statement(line.body, entry)
        self._follow(statement.payload if statement else None, entry, report)
        report.verified += statement is not None
        self._append(entry, leaf)

    def _entry(self, leaf: bytes, seq: int) -> Entry:
        """The entry of a leaf, in canonical form and in its place in the chain."""
        try:
            text = leaf.decode()
        except UnicodeDecodeError:
            raise Fault("leaf is not UTF-8") from None
        entry = entry_of(parse_signed(text), "$")
        follows = {"seq": seq, "project": self._base.manifest["project"], "epoch": entry["at"][:10]}
        if self._last_hash is not None:
            follows["prev"] = self._last_hash
        for name, value in follows.items():
            if entry[name] != value:
                raise Fault(f"its {name} is `{entry[name]}`; the rest of the record gives `{value}`")
        if entry["kind"] not in ENTRY_KINDS:
            raise Fault(f"`{entry['kind']}` is not a kind of entry that we know")
        if self._last_at is not None and entry["at"] < self._last_at:
            raise Fault(f"time is before that of the entry before, {self._last_at}")
        return entry

    def _statement(self, body: str, entry: Entry) -> SignedStatement:
        digest = digest_of(body.encode())
        if digest != entry["body"]:
            raise Fault(f"its body is `{digest}`, not `{entry['body']}`")
        statement = statement_in_body(body)
        self._keys.demand_signature(statement, entry)
        issuer = self._trust.pinned.issuer
        if entry["kind"] != statement.entry_kind:
            raise Fault(f"is of kind {entry['kind']}, and its body is not")
        if statement.payload["project"] != entry["project"]:
            raise Fault("its body is of another project")
        if statement.payload.get("iss", issuer) != issuer:
            raise Fault(f"its body is issued by `{statement.payload['iss']}`")
        if is_skewed(statement, entry):
            raise Fault("decision is more than 2 s ahead of its entry, or 15 s behind")
        return statement

    def _withhold(self, entry: Entry, form: str, report: Report) -> None:
        report.withheld += 1
        self._book.hide(entry)
        if _FORM_KINDS.get(form) != entry["kind"]:
            report.incomplete.append(f"entry {entry['seq']}: a body of kind {entry['kind']} is withheld")

    def _miss(self, entry: Entry, report: Report) -> None:
        if not can_be_erased(entry["kind"]):
            raise Fault(f"body of kind {entry['kind']} is empty, and that kind cannot be erased")
        self._book.hide(entry)
        if self._graves.covers(entry):
            report.erased += 1
        else:
            report.incomplete.append(f"entry {entry['seq']}: body is empty and no tombstone covers it")

    def _follow(self, said: Payload | None, entry: Entry, report: Report) -> None:
        """Takes over what a statement changes, and hands it to the book."""
        at, seq = millis(entry["at"]), entry["seq"]
        if said is not None and self._control:
            self._control.follow(said, at)
        self._answers.follow(said, entry)
        if said is not None and self._grants:
            self._grants.follow(said, at)
        if self._days:
            # Only an epoch entry asks for the root, which costs a hash for every level of the tree.
            root = base64_text(self._frontier.root()) if entry["kind"] == "epoch" else ""
            self._days.follow(entry, said, root)
        self._book.advance(at, report)
        match said and said["typ"], said:
            case "key/v1", dict():
                self._keys.follow(said, seq)
            case "registry/v1", dict():
                self._registries.append((said["control"], said["document"]))
            case "tombstone/v1", dict():
                self._graves.bears_out(said, seq)
            case "decision/v1", dict():
                self._book.decide(said, entry, self._due(said, seq), report)
            case "observation/v1", dict():
                self._book.observe(said, entry, report)
            case "received/v1", dict():
                self._receive(said, entry, report)
            case "finding/v1", dict():
                self._book.find(said, entry["body"], report)
            case "session/v1", dict():
                self._book.session(said, entry)
            case "clearance/v1", dict():
                self._book.clear(said, entry)
            case _:
                # The other kinds are about no call, or their body is not here.
                pass

    def _due(self, decision: Payload, seq: int) -> Due:
        """Whether a statement about this decision is due, as far as the record and the holder's registries say."""
        provider, control = decision["provider"], decision["control"]
        if provider is None or not self._keys.can_sign(provider, seq):
            return "never"
        documents = (document for start, document in reversed(self._registries) if start <= control)
        document = next(documents, None)
        promise = None if document is None else self._trust.registry(document, provider)
        if promise is None:
            return "unknown"
        return Terms(owes=True, sign_within=promise.within * 1000) if promise.signs else Terms(owes=False)

    def _receive(self, received: Payload, entry: Entry, report: Report) -> None:
        form = received["form"]
        if form not in ("execution-native", "vendor-wire", "catalog"):
            return
        data = from_base64url(received["bytes"])
        if data is None:
            raise Fault("its bytes are not base64url")
        if form == "catalog":
            _demand_holds(received, self._keys.has_signed(read_catalog(data), received, entry["seq"]))
            if not received["holds"]:
                self._book.unsigned_catalog(entry)
            return
        read = read_execution(data, form)
        standing, kid = self._keys.standing(read, received, entry["seq"])
        _demand_holds(received, standing.holds)
        stated = Stated(
            digest=entry["body"], seq=entry["seq"], at=millis(entry["at"]), standing=standing, action=read.action,
            decision=read.decision, provider=read.provider, tool=read.tool, args=read.args, result=read.result,
            outcome=read.outcome, fingerprint=read.fingerprint,
        )  # fmt: skip
        self._book.state(stated, kid, report)

    def _append(self, entry: Entry, leaf: bytes) -> None:
        """The entry is right: it becomes part of the tree, which must pass through what the holder kept."""
        digest, base = digest_of(leaf), self._base
        held, note = base.held_entries.get(entry["seq"], (digest, ""))
        if held != digest:
            raise forked(note, base.note)
        self._frontier.grow(leaf_hash(leaf))
        self._last_hash, self._last_at = digest, entry["at"]
        if self.size in base.held_roots:
            root, note = base.held_roots[self.size]
            if root != self._frontier.root():
                raise forked(note, base.note)


def _demand_holds(received: Payload, holds: bool) -> None:
    if received["holds"] is not holds:
        says = "holds" if received["holds"] else "fails"
        raise Fault(f"says that a signature inside of it {says}, and it does not")


def _ended_at(seq: int, error: Exception) -> Ended:
    """A key that only the package vouches for may be the right one; nobody whom the holder trusts says so."""
    why = f"entry {seq}: {error}"
    return unpinned(why) if isinstance(error, Fault) and error.kind != "broken" else broken(why)
