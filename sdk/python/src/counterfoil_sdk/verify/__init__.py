"""Receipts, chains of them and whole packages, checked offline under keys that you pinned.

Promised: `verify_receipt` returns only if the statement, its entry and its proof hold together under your key set. Otherwise
it raises `Refused`: BROKEN (exit 40), it contradicts itself or your keys; UNPINNED (exit 50), it may be right, but no key
that you pinned says so. Not promised: that what verifies was allowed. A verified DENY is a DENY. Nor that nothing was left
out of the log, or that everybody is shown the same log: for that keep receipts, see `receipts`.
`verify_package` answers as docs/formats/package.md says; what it could not check stands in `not_checked`. As a program:
`python -m counterfoil_sdk.verify package.zip --trust jwks.json`.
Formats and cases: docs/formats/{receipt,package}.md, docs/vectors/{receipts,malformed-receipts,packages,reconciliation}.
"""

from ..formats.canonical import canonical, document_value
from ..formats.commitment import commitment
from ..formats.keys import KeyRefused, KeySet, PublicKey
from ..formats.strict_json import JsonError, Profile, parse
from .contents import Promise
from .package import verify_package
from .receipt import Refused, Verified, demand_log_signature, verify_chain, verify_receipt
from .report import Answer, Found, ProviderPin, Report, Verdict
from .statement import entry_hash

__all__ = [
    "Answer", "Found", "JsonError", "KeyRefused", "KeySet", "Profile", "Promise", "ProviderPin", "PublicKey", "Refused",
    "Report", "Verdict", "Verified", "canonical", "commitment", "demand_log_signature", "document_value", "entry_hash",
    "parse", "verify_chain", "verify_package", "verify_receipt",
]  # fmt: skip
