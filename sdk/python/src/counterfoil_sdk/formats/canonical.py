"""RFC 8785: the one text of a value.

Promised: two values that read alike have the same text, in every language. What has no such text (a lone surrogate, NaN,
an integer beyond ±(2^53−1), nesting beyond 64, something that is no JSON) is refused with its place.
"""

import json
import math
from decimal import Decimal
from typing import Any

from .encoding import digest_of
from .strict_json import (
    MAX_BOUND_BYTES,
    MAX_DEPTH,
    MAX_INTEGER,
    MAX_STRICT_BYTES,
    Json,
    JsonError,
    Profile,
    parse,
    step,
)

# White space and escapes may make a text longer than what it says, hardly eight times as long.
_WORTH_READING = 8 * MAX_BOUND_BYTES


def canonical(value: Any) -> bytes:
    return _written(value, "$", 0).encode("utf-8")


def signed_text(value: Any) -> bytes:
    """As `canonical`, of what the strict profile read, and several times as fast: there one line says the same."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def parse_signed(text: str, limit: int | None = None) -> Json:
    """As `parse` in the strict profile, of a text that must be canonical besides."""
    plain = _plain(text) if limit is None or len(text) <= limit else None
    if plain is not None:
        return plain
    value = parse(text, Profile.STRICT, limit)
    if canonical(value).decode() != text:
        raise JsonError("$", "not in canonical form")
    return value


def document_value(document: Any) -> str:
    """`sha256:…` of a document, as commitments bind it."""
    return digest_of(canonical(document))


def bound_value(text: str, without: tuple[str, ...] = ()) -> str:
    """As `document_value`, of a text on the wire; what has no canonical form is never refused but named.

    `none:no_canonical_form`, `none:too_large`: such a value is compared with nothing.
    """
    if len(text) > _WORTH_READING:
        return "none:too_large"
    try:
        document = parse(text, Profile.FOREIGN)
    except JsonError:
        return "none:no_canonical_form"
    if isinstance(document, dict):
        document = {name: value for name, value in document.items() if name not in without}
    data = canonical(document)
    return "none:too_large" if len(data) > MAX_BOUND_BYTES else digest_of(data)


def _plain(text: str) -> Json | None:
    """What an ordinary reader reads, if writing it again gives the same text; None where that would prove too little.

    Duplicate names, other spellings of numbers and white space do not come out alike. Escapes, names that are not ASCII
    and deep nesting might, so whatever could hold one is left to the strict reader.
    """
    if not text.isascii() or "\\" in text or text.count("{") + text.count("[") > MAX_DEPTH or len(text) > MAX_STRICT_BYTES:
        return None
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_whole, parse_constant=_whole)
    except ValueError:
        return None
    return value if signed_text(value).decode() == text else None


def _whole(digits: str) -> int:
    value = int(digits)
    if abs(value) > MAX_INTEGER:
        raise ValueError("no integer of a signed document")
    return value


def _written(value: Any, path: str, depth: int) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, (int, float)):
        return _number(value, path)
    if not isinstance(value, (dict, list, tuple)):
        raise JsonError(path, "not a JSON value")
    if depth == MAX_DEPTH:
        raise JsonError(path, "nesting deeper than 64")
    if not isinstance(value, dict):
        return "[" + ",".join(_written(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(value)) + "]"
    if not all(isinstance(name, str) for name in value):
        raise JsonError(path, "a name is no text")
    # UTF-16 code units, which differ from code points beyond the first plane.
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    members = (_text(name, path) + ":" + _written(value[name], path + step(name), depth + 1) for name in names)
    return "{" + ",".join(members) + "}"


def _text(text: str, path: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise JsonError(path, "lone surrogate") from None
    return json.dumps(text, ensure_ascii=False)


def _number(value: int | float, path: str) -> str:
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise JsonError(path, "integer beyond ±(2^53−1)")
        return str(value)
    if not math.isfinite(value):
        raise JsonError(path, "number is not a finite double")
    return _double(value)


def _double(value: float) -> str:
    """As ECMAScript writes numbers (ECMA-262, Number::toString): Python's shortest digits, another point and exponent."""
    if value == 0:
        return "0"
    sign, all_digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int), "a finite number has an exponent"
    digits = "".join(map(str, all_digits)).lstrip("0")
    point = len(digits) + exponent
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        text = f"{mantissa}e{point - 1:+d}"
    return "-" + text if sign else text
