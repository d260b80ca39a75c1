"""A folder of receipts.

    <folder>/<seq>.json              one receipt each
    <folder>/checkpoint              the largest note that was seen
    <folder>/alarm-<time>-<n>.note   evidence
    <folder>/pending/<hex>.json      executions that were sent and not accepted yet
"""

import asyncio
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..execution import Seen
from ..formats.canonical import canonical
from ..formats.encoding import base64_text, from_base64url
from ..formats.envelope import Envelope, envelope_digest
from ..formats.keys import KeySet
from ..formats.note import Note, NoteError
from ..verify import Refused, Verified, demand_log_signature, verify_receipt
from .contradiction import Alarm, HeldNote, contradiction
from .tiles import Fetch, Tiles, over_http

# An execution without an acceptance after this many seconds is overdue.
_ACCEPTED_WITHIN = 10 * 60

# What a log publishes may be two seconds behind its newest receipt.
_PUBLISHED_WITHIN = (0.5, 1, 1)


@dataclass(frozen=True)
class Checked:
    size: int
    found: int
    """Receipts whose entries were found in their places."""
    alarm: Alarm | None


class ReceiptStore:
    def __init__(self, folder: str | os.PathLike[str], pinned: KeySet, now: Callable[[], float] = time.time) -> None:
        self._folder = Path(folder)
        self._pinned = pinned
        self._now = now
        (self._folder / "pending").mkdir(parents=True, exist_ok=True)

    def keep(self, receipt: bytes | str) -> Verified:
        """Keeps a receipt that verifies; raises `Refused` otherwise."""
        verified = verify_receipt(receipt, self._pinned)
        self._write(f"{verified.entry['seq']}.json", receipt)
        held = self._held()
        if held is None or verified.checkpoint.size > held.checkpoint.size:
            self._write("checkpoint", verified.checkpoint.note)
        return verified

    def seen(self) -> Seen | None:
        """The largest checkpoint held, for the next execution."""
        held = self._held()
        return None if held is None else Seen(size=held.checkpoint.size, root=base64_text(held.checkpoint.root))

    async def check(self, log: str | Fetch) -> Checked:
        """`log` is the address of the project's page, or a function that fetches what lies below it."""
        fetch = over_http(log) if isinstance(log, str) else log
        held = self._held()
        newest = await self._newest(fetch, 0 if held is None else held.checkpoint.size)
        receipts = self._receipts()
        size = newest.checkpoint.size
        alarm = await contradiction(held, newest, receipts, Tiles(fetch, size))
        if alarm is not None:
            self._save_evidence(alarm)
            return Checked(size, 0, alarm)
        if held is None or size > held.checkpoint.size:
            self._write("checkpoint", newest.note)
        return Checked(size, len(receipts), None)

    def expect_acceptance(self, statement: Envelope) -> None:
        """Remembers that a statement was sent and owes an acceptance."""
        pending = {"at": int(self._now()), "statement": statement}
        self._write(self._pending_name(statement), canonical(pending))

    def accept(self, receipt: bytes | str) -> Verified:
        """Takes the acceptance: the receipt of the ledger's own wrapping of our statement."""
        verified = self.keep(receipt)
        wrapped = from_base64url(str(verified.payload.get("bytes", "")))
        if wrapped:
            (self._folder / self._pending_name(json.loads(wrapped))).unlink(missing_ok=True)
        return verified

    def overdue(self) -> list[Envelope]:
        """Statements that nobody accepted within ten minutes: send them again, and ask."""
        pending: list[dict[str, Any]] = [json.loads(file.read_bytes()) for file in (self._folder / "pending").glob("*.json")]
        return [item["statement"] for item in pending if self._now() - item["at"] > _ACCEPTED_WITHIN]

    async def _newest(self, fetch: Fetch, expected: int) -> HeldNote:
        for pause in (*_PUBLISHED_WITHIN, 0):
            newest = self._read((await fetch("checkpoint")).decode("utf-8", "replace"))
            if newest.checkpoint.size >= expected:
                break
            await asyncio.sleep(pause)
        return newest

    def _held(self) -> HeldNote | None:
        path = self._folder / "checkpoint"
        return self._read(path.read_text("utf-8")) if path.exists() else None

    def _read(self, text: str) -> HeldNote:
        try:
            note = Note(text)
            checkpoint = note.checkpoint()
        except NoteError as error:
            raise Refused("BROKEN", str(error)) from error
        demand_log_signature(note, self._pinned)
        if checkpoint.origin != self._pinned.origin:
            raise Refused("BROKEN", f"checkpoint is of log `{checkpoint.origin}`")
        return HeldNote(text, checkpoint)

    def _receipts(self) -> list[Verified]:
        files = [file for file in self._folder.iterdir() if re.fullmatch("[0-9]+[.]json", file.name)]
        return [verify_receipt(file.read_bytes(), self._pinned) for file in files]

    def _save_evidence(self, alarm: Alarm) -> None:
        stamp = datetime.fromtimestamp(self._now(), UTC).strftime("%Y%m%dT%H%M%S%f")
        for at, note in enumerate(alarm.notes, 1):
            self._write(f"alarm-{stamp}-{at}.note", note)

    def _pending_name(self, statement: Envelope) -> str:
        return f"pending/{envelope_digest(statement).removeprefix('sha256:')}.json"

    def _write(self, name: str, data: bytes | str) -> None:
        path = self._folder / name
        beside = path.with_name(path.name + ".new")
        beside.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        beside.replace(path)
