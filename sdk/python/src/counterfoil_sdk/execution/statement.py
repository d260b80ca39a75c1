"""Building and signing an execution.

    {"typ":"execution/v1","iss":"notes","action":"act_…","decision":"sha256:…","capability":"<jti>","outcome":"EXECUTED", …}
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

from ..formats.canonical import bound_value, canonical, document_value
from ..formats.commitment import commit
from ..formats.encoding import base64url, from_base64url
from ..formats.envelope import Envelope, sign, signature_text
from ..formats.shapes import WRAPPED, demand
from ..formats.signer import Signer

Outcome = Literal["EXECUTED", "SKIPPED", "FAILED", "BLOCKED", "ESCALATED", "ABANDONED", "NOT_ATTEMPTED"]


class Seen(TypedDict):
    """The largest checkpoint that the signer holds: a claim, not a proof."""

    size: int
    root: str
    """Standard base64."""


@dataclass(frozen=True)
class ExecutionFacts:
    project: str
    provider: str
    tool: str
    action: str
    """`act_…`, `txn` of the capability."""
    decision: str
    """Digest of the decision's envelope, `dec` of the capability."""
    capability: str | None
    """`jti` of the capability; None where none is demanded."""
    seed: str
    """The provider seed as it came, `os` of the capability."""
    arguments: Any
    """`params.arguments` as they arrived on the wire; absent ones are {}."""
    outcome: Outcome
    result_text: str | None
    """The JSON-RPC `result` as text that leaves on the wire; None where there is none."""
    error_code: str | None
    """`[A-Za-z0-9_.-]{1,64}`"""
    started_at: datetime | None
    """None where nothing was started."""
    executed_at: datetime
    seen: Seen | None = None
    nonce: str | None = None
    """For tests that compare bytes."""


def time_text(moment: datetime) -> str:
    """UTC, three decimals, `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def execution_statement(facts: ExecutionFacts, signer: Signer) -> Envelope:
    seed = from_base64url(facts.seed)
    if seed is None or len(seed) != 16:
        raise ValueError("the provider seed is 16 bytes in base64url")
    payload = {
        "typ": "execution/v1",
        "iss": facts.provider,
        "project": facts.project,
        "action": facts.action,
        "provider": facts.provider,
        "tool": facts.tool,
        "decision": facts.decision,
        "capability": facts.capability,
        "args": commit(seed, "args", document_value(facts.arguments)),
        "outcome": facts.outcome,
        "result": None if facts.result_text is None else _result_commitment(seed, facts.result_text),
        "error_code": facts.error_code,
        "charged": None,
        "started_at": None if facts.started_at is None else time_text(facts.started_at),
        "executed_at": time_text(facts.executed_at),
        "nonce": facts.nonce or base64url(secrets.token_bytes(16)),
        "seen": None if facts.seen is None else dict(facts.seen),
    }
    demand(payload, WRAPPED["execution-native"]["members"], "$")
    return await sign(payload, signer)


def _result_commitment(seed: bytes, text: str) -> str | None:
    """None for a result that cannot be compared: a commitment to something else would look like a contradiction."""
    # What hops add is not the provider's result (docs/formats/canonical-json.md).
    value = bound_value(text, ("_meta", "resultType"))
    return None if value.startswith("none:") else commit(seed, "result", value)


_SIX = ("action_id", "decision_id", "outcome", "result_hash", "error_code", "executed_at")


async def six_field_statement(fields: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """The vendor wire's form: exactly six fields are signed. `decision_id` binds the decision's content."""
    six = {name: fields[name] for name in _SIX}
    value = await signature_text(canonical(six), signer)
    return {**six, "signature": {"kid": signer.kid, "alg": "Ed25519", "value": value}}


def decision_id(decision_digest: str) -> str:
    return "dec_" + decision_digest.removeprefix("sha256:")
