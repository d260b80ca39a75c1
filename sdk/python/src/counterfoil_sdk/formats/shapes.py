"""Exactly the members of a format.

The shapes stand in statements.json, which is the published file of docs/formats/examples word for word. {} is an object with
exactly these members, `name?` may be null, {"*": x} has any names, [x] is a list of x; other texts name a pattern or are
one, and a pattern matches the whole string.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from .strict_json import step

_FORMATS = json.loads(files(__package__).joinpath("statements.json").read_text("utf-8"))

RECEIPT = _FORMATS["receipt"]
WRAPPED = _FORMATS["wrapped"]
"""What others sign, and the ledger wraps, by form."""

ENTRY_KINDS = frozenset(kind for typ in _FORMATS["kinds"].values() for kind in typ["entry"].values())
_CODES = _FORMATS["patterns"]["code"].split("|")


class ShapeError(ValueError):
    pass


@dataclass(frozen=True)
class Kind:
    purpose: str
    """Which key signs it."""
    entry: dict[str, str]
    """The kind of its entry; for `received/v1` by form."""
    bytes: int
    members: Any


def kind_of(typ: Any) -> Kind | None:
    """What a `typ` looks like, or None where nobody knows it."""
    found = _FORMATS["kinds"].get(typ) if isinstance(typ, str) else None
    return Kind(**found) if found else None


def code_order(code: str) -> int:
    """Findings about one entry come in the order of docs/formats/finding.md."""
    return int(_CODES.index(code))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_FORMATS["patterns"].get(pattern, pattern))


def matches(pattern: str, text: Any) -> bool:
    """Whether it is a text that matches a named pattern (or one written out)."""
    if not isinstance(text, str) or not _compiled(pattern).fullmatch(text):
        return False
    return pattern != "time" or _is_time(text)


def demand(value: Any, shape: Any, path: str) -> None:
    """Raises, naming the place, unless the value is of this shape."""

    def need(holds: bool, what: str) -> None:
        if not holds:
            raise ShapeError(f"`{path}`: {what}")

    if isinstance(shape, list):
        need(isinstance(value, list), "not a list")
        for at, item in enumerate(value):
            demand(item, shape[0], f"{path}[{at}]")
    elif isinstance(shape, dict):
        need(isinstance(value, dict), "not an object")
        _demand_members(value, shape, path)
    elif shape == "int":
        need(type(value) is int and value >= 0, "not a whole number from 0 up")
    elif shape == "bool":
        need(isinstance(value, bool), "not true or false")
    elif shape == "null":
        need(value is None, "not null")
    elif shape != "any":
        need(matches(shape, value), f"does not match {shape}")


def _demand_members(value: dict[str, Any], shape: dict[str, Any], path: str) -> None:
    if "*" in shape:
        wanted = {name: (False, shape["*"]) for name in value}
    else:
        there = ((name, inner) for name, inner in shape.items() if not name.endswith("~") or name[:-1] in value)
        wanted = {name.rstrip("?~"): (name.endswith("?"), inner) for name, inner in there}
    for name in value:
        if name not in wanted:
            raise ShapeError(f"`{path}{step(name)}`: not a member of this format")
    for name, (nullable, inner) in wanted.items():
        if name not in value:
            raise ShapeError(f"`{path}{step(name)}`: missing")
        if not nullable or value[name] is not None:
            demand(value[name], inner, path + step(name))


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
