"""Bytes and their one spelling.

Promised: a base64 text decodes only if it is the spelling that the encoder would have written; anything else is None.
"""

import base64
import binascii
import hashlib
import hmac


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()


def digest_of(data: bytes) -> str:
    """`sha256:<hex>`, as digests stand in every format."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def from_base64url(text: str) -> bytes | None:
    # The decoder skips what it does not understand, so only what is written back alike was understood.
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64url(data) == text else None


def from_base64(text: str) -> bytes | None:
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64_text(data) == text else None
