"""Statements that wait to be sent: commit first, send later.

    <folder>/<decision id>-<outcome>.json

Promised: a statement leaves the folder only after the gateway took it. Not promised: an order.
"""

import json
import os
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from .refusal import NoVerdict


class Courier(Protocol):
    def send(self, statement: dict[str, Any]) -> Awaitable[None]: ...


@dataclass(frozen=True)
class Report:
    sent: int
    waiting: int


class Outbox:
    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)

    def put(self, statement: dict[str, Any]) -> None:
        path = self._folder / f"{statement['decision_id']}-{statement['outcome']}.json"
        beside = path.with_name(path.name + ".new")
        beside.write_text(json.dumps(statement), "utf-8")
        beside.replace(path)

    async def flush(self, verdicts: Courier) -> Report:
        files = sorted(self._folder.glob("*.json"))
        sent = 0
        for file in files:
            try:
                await verdicts.send(json.loads(file.read_bytes()))
            except NoVerdict:
                continue
            file.unlink()
            sent += 1
        return Report(sent, len(files) - sent)
