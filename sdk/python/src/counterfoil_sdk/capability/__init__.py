"""For providers: no fresh capability, no execution.

Promised: a call passes only with a token of the pinned issuer, for this provider, environment, tool and exactly these
arguments as they came on the wire, inside its life, of the current kill generation, and once. Whatever cannot be checked is
refused before the handler runs, with a code of its own. Not promised: that a tool called around its middleware is covered,
or that a handler that crashed half way did nothing. Runs on asyncio.
Format and cases: docs/formats/capability.md, docs/vectors/capability.
"""

from .admitted import EXECUTION, Admitted, current
from .guard import CAPABILITY, RECEIPT, Guard, call_hash
from .refusal import REFUSED, CapabilityRefusal
from .stores import (
    POSTGRES_TABLE,
    FileStore,
    MemoryStore,
    PostgresStore,
    RedisStore,
    UsedStore,
    prune_postgres,
)
from .token import Claims

__all__ = [
    "CAPABILITY", "EXECUTION", "POSTGRES_TABLE", "RECEIPT", "REFUSED", "Admitted", "CapabilityRefusal", "Claims", "FileStore",
    "Guard", "MemoryStore", "PostgresStore", "RedisStore", "UsedStore", "call_hash", "current", "prune_postgres",
]  # fmt: skip
