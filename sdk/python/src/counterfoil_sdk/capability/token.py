"""A token taken apart, and what it claims. Nothing in it is believed before its signature holds.

    <base64url header>.<base64url claims>.<base64url signature>        EdDSA over the first two, with the dot
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..formats.encoding import from_base64url
from ..formats.shapes import matches
from ..formats.strict_json import JsonError, Profile, parse
from .refusal import refuse

LONGEST_TOKEN = 4096


@dataclass(frozen=True)
class Parts:
    signed: bytes
    header: dict[str, Any]
    payload: bytes
    signature: bytes


@dataclass(frozen=True)
class Claims:
    """Which call, as in docs/formats/capability.md."""

    iss: str
    aud: str
    sub: str
    """For whom, under a name that only this provider sees."""
    jti: str
    iat: int
    nbf: int
    exp: int
    txn: str
    """The action."""
    dec: str
    """Digest of the decision's envelope."""
    env: str
    gen: int
    """How often the project was killed."""
    os: str
    """The provider seed."""
    call: dict[str, str]
    adv: bool | None = None
    """True for a recorded advisory verdict that is not ALLOW."""
    apv: str | None = None
    """Digest of a person's answer."""
    qt: str | None = None
    """Digest of the quote."""
    cnf: dict[str, Any] | None = None


def split(token: Any) -> Parts:
    if token is None:
        refuse("capability_missing")
    if not isinstance(token, str):
        refuse("capability_malformed")
    if len(token) > LONGEST_TOKEN:
        refuse("capability_too_long")
    texts = token.split(".")
    decoded = [from_base64url(text) for text in texts]
    if len(texts) != 3 or not decoded[0] or not decoded[1] or decoded[2] is None or len(decoded[2]) != 64:
        refuse("capability_malformed")
    signed = f"{texts[0]}.{texts[1]}".encode()
    return Parts(signed, object_of(decoded[0]), decoded[1], decoded[2])


def header_kid(header: dict[str, Any], typ: str) -> str:
    """`alg` and `typ` are ours to demand; any further member, `crit` and `jku` too, is refused."""
    kid = header.get("kid")
    if set(header) != {"alg", "kid", "typ"} or (header["alg"], header["typ"]) != ("EdDSA", typ):
        refuse("capability_header")
    if not matches("thumbprint", kid):
        refuse("capability_header")
    return str(kid)


def read_claims(payload: bytes) -> Claims:
    claims = object_of(payload)
    call = claims.get("call")
    is_call = isinstance(call, dict) and set(call) == {"h", "m", "t"} and all(map(_is_text, call.values()))
    known = all(name in _CLAIMS and _CLAIMS[name](value) for name, value in claims.items())
    if not known or not is_call or not _REQUIRED <= set(claims):
        refuse("capability_malformed")
    return Claims(**claims)


def object_of(data: bytes) -> dict[str, Any]:
    try:
        value = parse(data, Profile.STRICT)
    except JsonError:
        refuse("capability_malformed")
    if not isinstance(value, dict):
        refuse("capability_malformed")
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) is int


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _like(pattern: str) -> Callable[[Any], bool]:
    return lambda value: matches(pattern, value)


_REQUIRED = frozenset("iss aud sub jti iat nbf exp txn dec env gen os call".split())
_CLAIMS: dict[str, Callable[[Any], bool]] = {
    "iss": _is_text, "aud": _is_text, "sub": _is_text, "env": _is_text, "call": _is_object, "cnf": _is_object,
    "jti": _like("nonce"), "os": _like("nonce"), "txn": _like("act"), "dec": _like("digest"), "apv": _like("digest"),
    "qt": _like("digest"), "iat": _is_number, "nbf": _is_number, "exp": _is_number, "gen": _is_count, "adv": _is_bool,
}  # fmt: skip
