"""`python -m counterfoil_sdk.verify <receipt.json or package.zip> --trust <jwks.json>`: offline, as `counterfoil verify`.

Exit codes of a receipt: 0 VERIFIED, 40 BROKEN, 50 UNPINNED; of a package: 10 UNANCHORED, 20 INCOMPLETE, 21 OMITTED,
30 FORKED, 40 BROKEN, 50 UNPINNED; 2 when a file of yours cannot be read. Verified never means allowed.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from . import JsonError, KeyRefused, KeySet, Refused, Report, verify_package, verify_receipt

_USAGE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m counterfoil_sdk.verify", description="verify a receipt or a package offline")
    parser.add_argument("file", type=Path, help="the receipt, or the package")
    parser.add_argument("--trust", type=Path, required=True, help="the keys that you pinned: a JWKS with iss")
    parser.add_argument("--provider-keys", type=Path, action="append", default=[], help="keys that a provider gave you itself")
    parser.add_argument("--since", type=Path, help="a checkpoint that you kept, which the record must pass through")
    parser.add_argument("--held", type=Path, action="append", default=[], help="a receipt that you kept, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    given = parser.parse_args(arguments)
    try:
        pinned = KeySet.parse(given.trust.read_bytes())
        with given.file.open("rb") as file:
            is_package = file.read(2) == b"PK"
        if is_package:
            return _package(given, pinned)
        if given.since or given.held:
            parser.error("--since and --held are for packages")
        return _receipt(given, pinned)
    except (OSError, KeyRefused, JsonError) as error:
        print(f"counterfoil_sdk.verify: {error}", file=sys.stderr)
        return _USAGE


def _package(given: argparse.Namespace, pinned: KeySet) -> int:
    report = verify_package(
        given.file,
        pinned,
        provider_keys=[path.read_bytes() for path in given.provider_keys],
        since=given.since.read_text("utf-8") if given.since else None,
        held=[file.read_bytes() for path in given.held for file in _files(path)],
    )
    print(json.dumps(report.as_json(), indent=2) if given.json else _lines(report))
    return report.exit_code


def _receipt(given: argparse.Namespace, pinned: KeySet) -> int:
    try:
        verified = verify_receipt(given.file.read_bytes(), pinned)
    except Refused as refused:
        said, code = {"outcome": refused.answer, "why": str(refused)}, refused.exit_code
    else:
        entry, verdict = verified.entry, verified.payload.get("verdict")
        said, code = {"outcome": "VERIFIED", "kind": entry["kind"], "seq": entry["seq"], "digest": verified.digest}, 0
        said |= {} if verdict is None else {"verdict": verdict}
    print(json.dumps(said, indent=2) if given.json else "\n  ".join(f"{name:<9} {value}" for name, value in said.items()))
    return code


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def _lines(report: Report) -> str:
    lines = [f"{report.verdict.answer}: {report.verdict.why}", f"  issuer        {report.issuer}", *report.verdict.notes]
    if report.root is None:
        return "\n".join(lines)
    bodies = f"{report.verified} verified, {report.withheld} withheld, {report.erased} erased"
    lines += [f"  entries       {report.first} to {report.size - 1}, root {report.root}", f"  bodies        {bodies}"]
    lines += [f"  calls         {count} {row}" for row, count in sorted(report.calls.items())]
    findings = ", ".join(f"{count} {code}" for code, count in sorted(report.findings.items()))
    lines.append(f"  findings      {findings or 'none in the record'}")
    lines += [f"  open          {action}" for action in report.open_actions]
    for pin in report.providers:
        by = "you" if pin.pinned_by == "holder" else "the log operator only"
        lines.append(f"  provider      {pin.provider}: key {pin.thumbprint}, pinned by {by}")
    lines += [f"  not checked   {what}" for what in report.not_checked]
    return "\n".join([*lines, "  Verified says that the record holds together under your keys, not that a call was allowed."])


if __name__ == "__main__":
    sys.exit(main())
