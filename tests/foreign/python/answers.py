"""The Python example's answer to each of many receipts: reads {receipts: [base64], jwks}, prints {answers}."""
import base64, json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "docs/formats/examples"))
import verify_receipt


def answer(receipt, jwks):
    try:
        verify_receipt.verify(receipt, jwks)
        return "VERIFIED"
    except verify_receipt.Unpinned:
        return "UNPINNED"
    except ValueError:
        return "BROKEN"


given = json.load(sys.stdin)
jwks = json.dumps(given["jwks"]).encode()
print(json.dumps({"answers": [answer(base64.b64decode(receipt), jwks) for receipt in given["receipts"]]}))
