"""One strict JSON reader.

Promised: a text that is read has one reading. Whatever another reader might take otherwise is refused, and the refusal
names the place: `$.items[2].price`. Not promised: that the text was canonical; `canonical` makes it so.
Format and cases: docs/formats/canonical-json.md, docs/vectors/canonical-json.
"""

import json
import re
from enum import Enum
from typing import Any

Json = Any
"""None, bool, int, float, str, list of such, or dict of such by name."""

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
MAX_STRICT_BYTES = 64 * 1024
MAX_BOUND_BYTES = 1024 * 1024
"""Largest canonical document that can be bound."""


class Profile(Enum):
    """Which texts are acceptable."""

    STRICT = "strict"
    """What we sign."""
    FOREIGN = "foreign"
    """Arguments, results, and what others say."""
    RECEIPT = "receipt"
    """Strict, but texts may have line breaks, as a proof does."""


class JsonError(ValueError):
    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"`{path}`: {reason}")
        self.path = path
        """Such as `$.a[0].b`; `$` is the whole text."""
        self.reason = reason


def parse(text: bytes | str, profile: Profile, limit: int | None = None) -> Json:
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    most = limit if limit is not None or profile is not Profile.STRICT else MAX_STRICT_BYTES
    if most is not None and len(raw) > most:
        raise JsonError("$", f"larger than {most} bytes")
    try:
        return _Reader(raw.decode("utf-8"), profile).document()
    except UnicodeDecodeError:
        raise JsonError("$", "not UTF-8") from None


def parse_with_texts(text: str, profile: Profile) -> tuple[dict[str, Json], dict[str, str]]:
    """An object, and the text of each of its members' values as it stands there."""
    reader = _Reader(text, profile)
    value = reader.document()
    if not isinstance(value, dict):
        raise JsonError("$", "not an object")
    return value, reader.texts


def step(name: str) -> str:
    """`.name` or `["two words"]`, as one step of a path."""
    return f".{name}" if re.fullmatch("[A-Za-z0-9_-]+", name) else f"[{json.dumps(name, ensure_ascii=False)}]"


_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?+([eE][+-]?[0-9]++)?+(?![.eE])")
_UNSIGNABLE = re.compile("[\x00-\x1f\u2028\u2029]")
_WORDS = {"true": True, "false": False, "null": None}


class _Reader:
    def __init__(self, text: str, profile: Profile) -> None:
        self._text = text
        self._profile = profile
        self._at = 0
        self._path: list[str] = []
        self.texts: dict[str, str] = {}

    def document(self) -> Json:
        self._space()
        value = self._value(0)
        self._space()
        if self._at < len(self._text):
            raise self._refusal("not JSON (text after the end)")
        return value

    def _refusal(self, reason: str) -> JsonError:
        return JsonError("$" + "".join(self._path), reason)

    def _space(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None, "the pattern matches the empty text"
        self._at = found.end()

    def _take(self, wanted: str) -> bool:
        taken = self._text.startswith(wanted, self._at)
        self._at += taken
        return taken

    def _value(self, depth: int) -> Json:
        head = self._text[self._at : self._at + 1]
        if head in ("{", "["):
            if depth == MAX_DEPTH:
                raise self._refusal("nesting deeper than 64")
            self._at += 1
            self._space()
            return self._object(depth + 1) if head == "{" else self._array(depth + 1)
        if head == '"':
            return self._string()
        return self._number() if head and head in "-0123456789" else self._word()

    def _object(self, depth: int) -> dict[str, Json]:
        members: dict[str, Json] = {}
        if self._take("}"):
            return members
        while True:
            self._space()
            self._member(members, depth)
            self._space()
            if self._take("}"):
                return members
            if not self._take(","):
                raise self._refusal("not JSON (expected `,` or `}`)")

    def _member(self, members: dict[str, Json], depth: int) -> None:
        if not self._text.startswith('"', self._at):
            raise self._refusal("not JSON (expected a name)")
        name = self._string()
        self._path.append(step(name))
        if self._profile is not Profile.FOREIGN and not name.isascii():
            raise self._refusal("name is not ASCII")
        if name in members:
            raise self._refusal("duplicate name")
        self._space()
        if not self._take(":"):
            raise self._refusal("not JSON (expected `:`)")
        self._space()
        start = self._at
        members[name] = self._value(depth)
        if depth == 1:
            self.texts[name] = self._text[start : self._at]
        self._path.pop()

    def _array(self, depth: int) -> list[Json]:
        items: list[Json] = []
        if self._take("]"):
            return items
        while True:
            self._space()
            self._path.append(f"[{len(items)}]")
            items.append(self._value(depth))
            self._path.pop()
            self._space()
            if self._take("]"):
                return items
            if not self._take(","):
                raise self._refusal("not JSON (expected `,` or `]`)")

    def _word(self) -> Json:
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        raise self._refusal("not JSON (unexpected character or end)")

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if not found:
            raise self._refusal("not JSON (unterminated string)")
        self._at = found.end()
        try:
            text = str(json.loads(found.group()))
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise self._refusal("lone surrogate") from None
        except ValueError:
            raise self._refusal("malformed string") from None
        if self._profile is Profile.STRICT and _UNSIGNABLE.search(text):
            raise self._refusal("control or line separator character in a signed document")
        return text

    def _number(self) -> int | float:
        found = _NUMBER.match(self._text, self._at)
        if not found:
            raise self._refusal("not JSON (malformed number)")
        self._at = found.end()
        if found.group(1) is None and found.group(2) is None:
            # Thirty digits are refused by their number, not by counting to them.
            if len(found.group()) > 17 or abs(int(found.group())) > MAX_INTEGER:
                raise self._refusal("integer beyond ±(2^53−1)")
            if found.group() == "-0" and self._profile is not Profile.FOREIGN:
                raise self._refusal("minus zero in a signed document")
            return int(found.group())
        if self._profile is not Profile.FOREIGN:
            raise self._refusal("fractional number in a signed document")
        value = float(found.group())
        if value in (float("inf"), float("-inf")):
            raise self._refusal("number is not a finite double")
        return value
