"""An execution as somebody sent it, in one of the two forms.

Promised: what is read has one reading and exactly the members of its form; what names no action or decision of ours says None.
Not promised: that the signer may speak for the provider. Ask `holds_under` with the key that you know.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ..formats.canonical import canonical
from ..formats.encoding import digest_of, from_base64url
from ..formats.keys import PublicKey
from ..formats.shapes import WRAPPED, ShapeError, demand, matches
from ..formats.strict_json import Profile, parse

Form = Literal["execution-native", "vendor-wire"]

_NATIVE = {"payload": "any", "signature": {"alg": "Ed25519", "kid": "thumbprint", "sig": "signature"}}
_LONGEST_TEXT = 128


@dataclass(frozen=True)
class ReadExecution:
    action: str | None
    """`act_…`; None where the id is none of ours."""
    decision: str | None
    """Digest of the decision's envelope; None where the id is none of ours."""
    outcome: str
    fingerprint: str
    """The same for two statements that say the same, whatever their times and nonces."""
    digest: str
    """Of the whole, signature included."""
    signed: bytes
    """What the signature is over."""
    signature: str
    kid: str
    """A thumbprint in the native form, an alias in the six-field form."""
    provider: str | None = None
    """This and the next three are None in the six-field form."""
    tool: str | None = None
    args: str | None = None
    result: str | None = None

    def holds_under(self, key: PublicKey) -> bool:
        data = from_base64url(self.signature)
        return data is not None and key.verify(self.signed, data)


def read_execution(text: bytes | str, form: Form) -> ReadExecution:
    """Raises `JsonError` or `ShapeError` (both ValueError) for what is none."""
    return _native(text) if form == "execution-native" else _six_fields(text)


def _native(text: bytes | str) -> ReadExecution:
    envelope = parse(text, Profile.STRICT, WRAPPED["execution-native"]["bytes"])
    demand(envelope, _NATIVE, "$")
    payload = envelope["payload"]
    demand(payload, WRAPPED["execution-native"]["members"], "$.payload")
    if payload["iss"] != payload["provider"]:
        raise ShapeError("`$.payload.provider`: another than iss")
    said = [payload[name] for name in ("action", "decision", "outcome", "result")]
    return ReadExecution(
        action=payload["action"],
        decision=payload["decision"],
        outcome=payload["outcome"],
        fingerprint=digest_of(canonical(said)),
        digest=digest_of(canonical(envelope)),
        signed=canonical(payload),
        signature=envelope["signature"]["sig"],
        kid=envelope["signature"]["kid"],
        provider=payload["provider"],
        tool=payload["tool"],
        args=payload["args"],
        result=payload["result"],
    )


def _six_fields(text: bytes | str) -> ReadExecution:
    whole = parse(text, Profile.FOREIGN, WRAPPED["vendor-wire"]["bytes"])
    demand(whole, WRAPPED["vendor-wire"]["members"], "$")
    six = {name: value for name, value in whole.items() if name != "signature"}
    texts = [*six.values(), whole["signature"]["kid"]]
    if any(isinstance(value, str) and len(value.encode()) > _LONGEST_TEXT for value in texts):
        raise ShapeError("`$`: a text of more than 128 bytes")
    action, decision = six["action_id"], six["decision_id"]
    is_digest = re.fullmatch("dec_[0-9a-f]{64}", decision) is not None
    said = [six[name] for name in ("action_id", "decision_id", "outcome", "result_hash")]
    return ReadExecution(
        action=action if matches("act", action) else None,
        decision=decision.replace("dec_", "sha256:") if is_digest else None,
        outcome=six["outcome"],
        fingerprint=digest_of(canonical(said)),
        digest=digest_of(canonical(whole)),
        signed=canonical(six),
        signature=whole["signature"]["value"],
        kid=whole["signature"]["kid"],
    )
