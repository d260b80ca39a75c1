"""Why a call was not executed, one code for each way to be wrong."""

from typing import NoReturn

REFUSED = 4030
"""The JSON-RPC error code of a refusal, outside the range that the protocol reserves."""

_MESSAGES = {
    "capability_missing": "the call carries no capability",
    "capability_twice": "the capability in the header is another than the one in the message",
    "capability_too_long": "the capability is longer than 4096 bytes",
    "capability_malformed": "the capability is no signed token of three parts",
    "capability_header": "the capability's header is not {alg: EdDSA, typ: toolcap+jwt, kid}",
    "capability_keys": "the gateway's key set cannot be had",
    "capability_key": "the capability is signed by a key that the gateway does not publish",
    "capability_signature": "the capability's signature does not hold",
    "capability_issuer": "the capability is of another issuer",
    "capability_audience": "the capability is for another provider",
    "capability_environment": "the capability is for another environment",
    "capability_unsupported": "the capability is for an advisory run, or bound to a certificate, and that is not accepted here",
    "capability_life": "the capability lives longer than 60 seconds",
    "capability_time": "the capability is not valid now",
    "capability_tool": "the capability is for another tool",
    "capability_arguments": "the capability is for other arguments",
    "capability_not_bindable": "the arguments have no canonical form",
    "capability_killed": "the capability was minted before a kill",
    "capability_generation": "the kill generation cannot be known",
    "capability_receipt": "the receipt of the decision is missing or does not verify",
    "capability_used": "the capability was used before",
    "capability_store": "used capabilities cannot be remembered now",
    "capability_batch": "tool calls in a batch are not accepted",
}


class CapabilityRefusal(Exception):
    def __init__(self, code: str, detail: str | None = None) -> None:
        super().__init__(f"not executed: {_MESSAGES[code]}" + (f" ({detail})" if detail else ""))
        self.code = code


def refuse(code: str, detail: str | None = None) -> NoReturn:
    raise CapabilityRefusal(code, detail) from None
