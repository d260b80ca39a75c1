"""One table of contents, the same in every language: `verdict`, `capability`, `execution`, `receipts`, `verify`."""

from . import capability, execution, receipts, verdict, verify

__all__ = ["capability", "execution", "receipts", "verdict", "verify"]
