"""Writes the cases of docs/vectors: python3 docs/vectors/make/write.py (needs PyPI `cryptography`).

Standalone: it shares no code with the Rust crates, so it is a second opinion about every byte. Ed25519 is
deterministic: run it twice and nothing changes.
"""
import json, pathlib
import executions, export, governance, governed, ledger, others, packages, receipts, reconciliation
from example import JWKS, KEYS, std64

HERE = pathlib.Path(__file__).resolve().parent.parent


def write(folder, name, case):
    text = json.dumps(case, indent=1, ensure_ascii=False)
    # Lone surrogates cannot stand in a UTF-8 file, and control characters should not.
    safe = "".join(c if c == "\n" or " " <= c < "\x7f" or "\xa0" <= c < "\ud800" and c not in "\u2028\u2029\ufeff" or c > "\udfff" and c != "\ufeff"
                   else f"\\u{ord(c):04x}" for c in text)
    (HERE / folder / f"{name}.json").write_text(safe + "\n", "utf-8")


def folder(name, cases):
    for old in (HERE / name).glob("*.json"):
        old.unlink()
    (HERE / name).mkdir(exist_ok=True)
    for case_name, case in cases.items():
        write(name, case_name, case)
    print(f"{name}: {len(cases)} cases")


def malformed():
    groups = [receipts.payload_cases() | ledger.malformed(), receipts.signature_cases(), receipts.entry_cases(), receipts.proof_cases(), receipts.checkpoint_cases()]
    names = ["payload", "signature", "entry", "proof", "checkpoint"]
    cases = {}
    for part, group in zip(names, groups):
        for name, (why, receipt) in group.items():
            cases[name] = {"refused_because": why, "part": part, "answer": "BROKEN", "receipt": receipt}
    for answer, group in [("UNPINNED", receipts.unpinned_cases()), ("BROKEN", receipts.pinned_otherwise_cases())]:
        for name, (why, receipt, pinned) in group.items():
            cases[name] = {"refused_because": why, "part": "key", "answer": answer, "receipt": receipt} | ({"jwks": pinned} if pinned else {})
    for name, (why, raw) in receipts.unreadable_cases().items():
        cases[name] = {"refused_because": why, "part": "bytes", "answer": "BROKEN", "receipt_base64": std64(raw)}
    return cases


def main():
    keys = {purpose: {"seed_byte": f"0x{key.byte:02x}", "kid": key.kid} for purpose, key in KEYS.items()}
    write(".", "jwks", JWKS)
    write(".", "keys", {"about": "published test keys, never to be used elsewhere; a seed is one byte, 32 times"} | keys)
    folder("canonical-json", others.canonical_json())
    folder("commitments", others.commitments())
    folder("chain", others.chain())
    folder("trees", others.trees())
    folder("checkpoints", others.checkpoints())
    folder("key-sets", others.key_sets())
    folder("capability", others.capability())
    folder("receipts", {name: {"about": about, "receipt": receipt} for name, (about, receipt) in (receipts.good() | ledger.good()).items()})
    folder("malformed-receipts", malformed())
    folder("policy", governance.all_cases())
    folder("reconciliation", reconciliation.cases())
    folder("executions", executions.cases())
    folder("packages", packages.cases() | governed.cases())
    folder("export", export.cases())


if __name__ == "__main__":
    main()
