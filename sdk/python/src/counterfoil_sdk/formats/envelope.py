"""Signed envelopes.

    {"payload":{"typ":"execution/v1", …},"signature":{"alg":"Ed25519","kid":"p8Az…","sig":"ROyL…"}}

The signature is Ed25519 over the canonical payload; the digest of an envelope is that of the whole of it.
"""

import inspect
from typing import Any

from .canonical import canonical
from .encoding import base64url, digest_of, from_base64url
from .keys import PublicKey
from .signer import Signer

Envelope = dict[str, Any]


async def signature_text(message: bytes, signer: Signer) -> str:
    made = signer.sign(message)
    return base64url(await made if inspect.isawaitable(made) else made)


async def sign(payload: dict[str, Any], signer: Signer) -> Envelope:
    sig = await signature_text(canonical(payload), signer)
    return {"payload": payload, "signature": {"alg": "Ed25519", "kid": signer.kid, "sig": sig}}


def holds_under(envelope: Envelope, key: PublicKey) -> bool:
    signature = from_base64url(envelope["signature"]["sig"])
    return signature is not None and key.verify(canonical(envelope["payload"]), signature)


def envelope_digest(envelope: Envelope) -> str:
    return digest_of(canonical(envelope))
