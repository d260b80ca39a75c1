"""A key that signs: from a file, the environment, or somebody else's hardware.

Promised: the seed leaves this object in no way; printing it shows the key id. A key file that others may read is refused.
Not promised: that the memory is wiped.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from .keys import KeyRefused, PublicKey


class Signer(Protocol):
    """What signs; `SigningKey` is one, and a wrapper of your own key service can be another."""

    @property
    def kid(self) -> str:
        """RFC 7638 thumbprint of the public half."""

    def sign(self, message: bytes) -> bytes | Awaitable[bytes]: ...


class SigningKey:
    def __init__(self, seed: bytes) -> None:
        if len(seed) != 32:
            raise KeyRefused("an Ed25519 seed is 32 bytes")
        self._object = Ed25519PrivateKey.from_private_bytes(seed)
        self.public_key = PublicKey(self._object.public_key().public_bytes_raw())

    @classmethod
    def from_text(cls, text: str) -> "SigningKey":
        """A JWK with `d`, or the 32 bytes of the seed as hex, base64 or base64url."""
        return cls(_seed(text.strip()))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "SigningKey":
        if os.stat(path).st_mode & 0o077:
            raise KeyRefused(f"`{os.fspath(path)}` can be read by others: chmod 600")
        return cls.from_text(Path(path).read_text("utf-8"))

    @classmethod
    def from_environment(cls, name: str) -> "SigningKey":
        text = os.environ.get(name)
        if not text:
            raise KeyRefused(f"the environment has no {name}")
        return cls.from_text(text)

    @property
    def kid(self) -> str:
        return self.public_key.thumbprint

    def sign(self, message: bytes) -> bytes:
        return self._object.sign(message)

    def __repr__(self) -> str:
        return f"SigningKey({self.kid})"


def _seed(text: str) -> bytes:
    if text.startswith("{"):
        jwk = json.loads(text)
        if jwk.get("crv") != "Ed25519" or not isinstance(jwk.get("d"), str):
            raise KeyRefused("the JWK is no private Ed25519 key")
        text = jwk["d"]
    elif re.fullmatch("[0-9a-fA-F]{64}", text):
        return bytes.fromhex(text)
    try:
        return base64.b64decode(text.rstrip("=").translate(str.maketrans("-_", "+/")) + "=" * (-len(text.rstrip("=")) % 4))
    except binascii.Error:
        raise KeyRefused("the key is neither hex nor base64") from None
