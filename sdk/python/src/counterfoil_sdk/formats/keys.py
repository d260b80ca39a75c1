"""Public keys, and the set of them that a reader pinned.

Promised: a key in a set is what it says it is, or the whole set pins nothing. A key counts for one purpose alone.
Not promised: that the set came from whom you think. Fetch it once over HTTPS, keep it, and name it.
Format and cases: docs/formats/envelope.md, docs/vectors/key-sets.
"""

from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .canonical import canonical
from .curve import is_small_order, is_usable_key
from .encoding import base64url, from_base64url, sha256
from .shapes import matches
from .strict_json import Profile, parse


class KeyRefused(ValueError):
    pass


class PublicKey:
    def __init__(self, data: bytes) -> None:
        if not is_usable_key(data):
            raise KeyRefused(f"`{base64url(data)}` is no usable Ed25519 key")
        self.bytes = data
        self._object = Ed25519PublicKey.from_public_bytes(data)
        # RFC 7638: the identity of a key. A `kid` is only somebody's word for it.
        self.thumbprint = base64url(sha256(canonical({"crv": "Ed25519", "kty": "OKP", "x": self.x})))

    @classmethod
    def parse(cls, x: str) -> "PublicKey":
        """From `x` of a JWK."""
        data = from_base64url(x)
        if data is None:
            raise KeyRefused(f"`{x}` is no usable Ed25519 key")
        return cls(data)

    @property
    def x(self) -> str:
        return base64url(self.bytes)

    def verify(self, message: bytes, signature: bytes) -> bool:
        if len(signature) != 64 or is_small_order(signature[:32]):
            return False
        try:
            self._object.verify(signature, message)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class PinnedKey:
    kid: str
    purpose: str
    key: PublicKey
    valid_from: str | None
    """Times of the entries that introduced and retired it."""
    valid_until: str | None

    def counts_at(self, at: str) -> bool:
        """A receipt alone gives times, not places: the window is that of the key's entries, both ends included."""
        return (self.valid_from or "") <= at <= (self.valid_until or "9999")


@dataclass(frozen=True)
class KeySet:
    issuer: str
    """`https://<host>/p/<slot>-<public id>`"""
    keys: tuple[PinnedKey, ...]

    @classmethod
    def parse(cls, text: bytes | str) -> "KeySet":
        """Reads a JWKS that you decided to trust."""
        document = parse(text, Profile.FOREIGN)
        if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
            raise KeyRefused("key set does not read as {iss, keys}")
        if not matches("issuer", document.get("iss")):
            raise KeyRefused("key set names no issuer")
        keys = tuple(map(_pinned, document["keys"]))
        if len({key.kid for key in keys}) < len(keys):
            raise KeyRefused("a key stands twice")
        return cls(document["iss"], keys)

    @property
    def origin(self) -> str:
        """The issuer without its scheme: the name of its log."""
        return self.issuer.removeprefix("https://")

    def with_provider_keys(self, text: bytes | str) -> "KeySet":
        """The same, and keys that a provider gave out itself: a JWKS or one JWK, by whatever names the provider calls them."""
        document = parse(text, Profile.FOREIGN)
        is_set = isinstance(document, dict) and isinstance(document.get("keys"), list)
        keys = {key.kid: key for key in self.keys}
        for jwk in document["keys"] if is_set else [document]:
            if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
                continue
            if not isinstance(jwk.get("x"), str):
                raise KeyRefused("a provider's key lacks x")
            key = PublicKey.parse(jwk["x"])
            keys[key.thumbprint] = PinnedKey(key.thumbprint, "execution", key, None, None)
        return KeySet(self.issuer, tuple(keys.values()))

    def by_kid(self, kid: str) -> PinnedKey | None:
        return next((key for key in self.keys if key.kid == kid), None)


def _pinned(jwk: Any) -> PinnedKey:
    if not isinstance(jwk, dict):
        raise KeyRefused("a key is no object")
    if (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        raise KeyRefused("a key is not of kty OKP and crv Ed25519")
    x, kid, purpose = jwk.get("x"), jwk.get("kid"), jwk.get("purpose")
    if not isinstance(x, str) or not isinstance(kid, str):
        raise KeyRefused("a key lacks x or kid")
    if not matches("purpose", purpose):
        raise KeyRefused("a key has no purpose that we know")
    times = (jwk.get("from"), jwk.get("until"))
    if not all(time is None or matches("time", time) for time in times):
        raise KeyRefused("a key's time is none")
    key = PublicKey.parse(x)
    if key.thumbprint != kid:
        raise KeyRefused(f"key `{kid}` has another thumbprint than its kid")
    return PinnedKey(kid, str(purpose), key, *times)
