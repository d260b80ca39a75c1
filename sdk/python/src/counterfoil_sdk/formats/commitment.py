"""Salted commitments: nothing guessable in public.

disclosure = base64url of `["<salt>","<name>","<value>"]`, commitment = base64url(SHA-256(disclosure)); the salt is the first
16 bytes of HMAC-SHA-256(seed, name). The provider seed comes in the capability as `os`.
Format and cases: docs/formats/commitments.md, docs/vectors/commitments.
"""

from .canonical import canonical
from .encoding import base64url, hmac_sha256, sha256


def salt(seed: bytes, name: str) -> bytes:
    return hmac_sha256(seed, name.encode())[:16]


def provider_seed(seed: bytes) -> bytes:
    """The seed that providers share with the gateway, out of an action's opening seed."""
    return salt(seed, "provider")


def disclosure(salt_text: str, name: str, value: str) -> str:
    return base64url(canonical([salt_text, name, value]))


def commitment(salt_text: str, name: str, value: str) -> str:
    return base64url(sha256(disclosure(salt_text, name, value).encode()))


def commit(seed: bytes, name: str, value: str) -> str:
    return commitment(base64url(salt(seed, name)), name, value)
