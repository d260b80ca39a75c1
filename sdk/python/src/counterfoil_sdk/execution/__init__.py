"""What a provider did, signed by the provider alone.

Promised: arguments and result stand in it as commitments under the seed that came with the capability, so the gateway
can compare and a stranger cannot guess. Not promised: that what you sign is true; it is your statement.
Format and cases: docs/formats/execution.md, docs/vectors/executions.
"""

from ..formats.envelope import Envelope
from ..formats.signer import Signer, SigningKey
from .read import ReadExecution, read_execution
from .statement import (
    ExecutionFacts,
    Outcome,
    Seen,
    decision_id,
    execution_statement,
    six_field_statement,
    time_text,
)

__all__ = [
    "Envelope", "ExecutionFacts", "Outcome", "ReadExecution", "Seen", "Signer", "SigningKey", "decision_id",
    "execution_statement", "read_execution", "six_field_statement", "time_text",
]  # fmt: skip
