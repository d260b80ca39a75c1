"""What the gateway answered, believed only as far as it is signed.

The plain members of the answer are for people and for other clients. Here the receipt in it decides: it verifies under the
pinned keys, and then every plain member must agree with it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..execution import decision_id
from ..formats.canonical import document_value
from ..formats.commitment import commitment
from ..formats.keys import KeySet
from ..verify import Refused, Verified, verify_receipt
from .refusal import no

# A stored answer is replayed for sixty seconds at most; five more for two clocks.
_LONGEST_AGE = 65
_MOST_AHEAD = 5


@dataclass(frozen=True)
class Asked:
    project: str
    env: str
    tool: str
    provider: str | None
    arguments: Any


@dataclass(frozen=True)
class Decided:
    verdict: str
    """ALLOW, DENY, STEP_UP, MODIFY or DEFER."""
    reason: str
    action: str
    decision_id: str
    """`dec_<hex>`"""
    is_advisory: bool
    transform: Any
    """What MODIFY asks for. Said by the gateway, not signed; so is `pending`, what DEFER waits for."""
    pending: Any
    verified: Verified
    receipt: str
    """As it came, to be kept."""
    capability: str | None
    """The slip for the provider, where there is one."""


@dataclass(frozen=True)
class Cleared:
    """A decision that lets the call run. Only `cleared` makes one."""

    decided: Decided


def cleared(decided: Decided) -> Cleared | None:
    # Written as the one case that may run; everything else is no.
    return Cleared(decided) if decided.verdict == "ALLOW" or decided.is_advisory else None


def read_decision(answer: dict[str, Any], asked: Asked, pinned: KeySet, now: float) -> Decided:
    full = answer.get("dev.counterfoil/receipt")
    if not isinstance(full, dict) or full.get("typ") != "receipt-full/v1":
        no("unsigned", "the answer has no receipt")
    receipt = json.dumps(full.get("receipt"), ensure_ascii=False)
    verified = _believed(receipt, pinned)
    payload = verified.payload
    _demand_ours(payload, full.get("openings"), asked)
    age = now - datetime.fromisoformat(payload["at"]).timestamp()
    if not -_MOST_AHEAD <= age <= _LONGEST_AGE:
        no("expired", f"decided at {payload['at']}")

    said = answer.get("decision")
    said = said if isinstance(said, dict) else {}
    told = (said.get("verdict"), said.get("decision_id"), answer.get("action_id"), said.get("effect", "enforced"))
    if told != (payload["verdict"], decision_id(verified.digest), payload["action"], payload["effect"]):
        no("malformed", "the answer and its receipt say different things")
    capability = answer.get("dev.counterfoil/capability")
    return Decided(
        verdict=payload["verdict"],
        reason=payload["reason"],
        action=payload["action"],
        decision_id=decision_id(verified.digest),
        is_advisory=payload["effect"] == "advisory",
        transform=said.get("transform"),
        pending=said.get("pending"),
        verified=verified,
        receipt=receipt,
        capability=capability if isinstance(capability, str) else None,
    )


def _believed(receipt: str, pinned: KeySet) -> Verified:
    try:
        verified = verify_receipt(receipt, pinned)
    except Refused as error:
        no("unsigned", str(error))
    if verified.payload["typ"] != "decision/v1":
        no("unsigned", "the receipt is of no decision")
    return verified


def _demand_ours(payload: dict[str, Any], openings: Any, asked: Asked) -> None:
    is_place = (payload["project"], payload["env"], payload["mode"]) == (asked.project, asked.env, "hook")
    is_tool = payload["tool"] == asked.tool and asked.provider in (None, payload["provider"])
    pairs = [item for item in openings if isinstance(item, list) and len(item) == 2] if isinstance(openings, list) else []
    salt = next((salt for name, salt in pairs if name == "args"), None)
    is_call = isinstance(salt, str) and payload["args"] == commitment(salt, "args", document_value(asked.arguments))
    # A tool that no registry knows has no public label; such a decision is no ALLOW, and may say so.
    is_unnamed = payload["tool"] is None and payload["verdict"] != "ALLOW" and payload["effect"] == "enforced"
    if not (is_place and (is_unnamed or (is_tool and is_call))):
        no("other_action", "the decision is about another call")
