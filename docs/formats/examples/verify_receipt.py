"""Verify one receipt offline: python3 verify_receipt.py receipt.json jwks.json

Exit 0 VERIFIED, 40 BROKEN, 50 UNPINNED. A verified DENY is still a DENY: read what is printed.
Needs Python 3.11, PyPI `cryptography`, and proofs.py, strict_json.py and statements.json beside it.
Not checked: that the log is complete, and that everybody is shown the same newest end of it.
"""
import pathlib, re, sys
from datetime import datetime
from proofs import base64url, root_of, sha256, signed_by, sound, unbase64
from strict_json import FORMAT, canonical, fits, need, plain, read


class Unpinned(Exception):
    pass


def pinned(jwks):  # kid -> (purpose, key, from, until)
    trust, keys = read(jwks), {}
    need(isinstance(trust, dict) and isinstance(trust.get("keys"), list), "not a key set")
    fits(trust.get("iss"), "issuer", "$.iss")
    for jwk in trust["keys"]:
        need(isinstance(jwk, dict) and {"kty", "crv", "x", "kid", "purpose"} <= set(jwk), "a key lacks a member")
        fits(jwk["purpose"], "purpose", "$.keys[].purpose")
        need((jwk["kty"], jwk["crv"]) == ("OKP", "Ed25519"), "a key of another kind")
        kid, key = base64url(sha256(canonical({name: jwk[name] for name in ("crv", "kty", "x")}))), unbase64(jwk["x"], url=True)
        need(kid == jwk["kid"] and kid not in keys, "a kid that is not the thumbprint, or a key twice")
        need(sound(key), "a key under which signatures prove nothing")
        keys[kid] = (jwk["purpose"], key, jwk.get("from") or "", jwk.get("until") or "9999")
    return trust["iss"], keys


def verify(receipt, jwks):
    iss, keys = pinned(jwks)
    receipt = read(receipt)
    fits(receipt, FORMAT["receipt"], "$")
    statement, entry = receipt["statement"], receipt["entry"]
    plain([statement, entry])

    payload, signature = statement["payload"], statement["signature"]
    kind = FORMAT["kinds"].get(str(payload.get("typ"))) if isinstance(payload, dict) else None
    need(kind, "a statement of no known kind")
    fits(payload, kind["members"], "$.statement.payload")
    need(len(canonical(payload)) <= kind["bytes"], "the statement is too large")
    if signature["kid"] not in keys:
        raise Unpinned("signed by a key that you did not pin")
    purpose, key, since, until = keys[signature["kid"]]
    need(purpose == kind["purpose"], f"signed by a key of purpose {purpose}")
    need(since <= entry["at"] <= until, "signed by a key that did not count then")
    need(signed_by(key, unbase64(signature["sig"], url=True), canonical(payload)), "the signature does not hold")
    if payload.get("iss", iss) != iss:
        raise Unpinned("of an issuer that you did not pin")

    need(entry["v"] == 1 and entry["project"] == payload["project"], "the entry is of another project")
    need(entry["kind"] == kind["entry"].get(payload.get("form", "")), "the entry is of another kind")
    need(entry["body"] == "sha256:" + sha256(canonical(statement)).hex(), "the entry is of another statement")
    need(entry["epoch"] == entry["at"][:10], "the entry is of another day")
    late = (datetime.fromisoformat(entry["at"]) - datetime.fromisoformat(payload["at"])).total_seconds()
    need(entry["kind"] != "decision" or -2 <= late <= 15, "the decision is too old for its entry, or ahead of it")
    genesis = sha256(b"counterfoil/genesis/v1\n", entry["project"].encode()).hex()
    need(entry["seq"] > 0 or entry["prev"] == "sha256:" + genesis, "the first entry does not start the chain")

    parts = re.fullmatch(FORMAT["proof"], receipt["proof"])
    need(parts, "the proof is malformed")
    index, path, text, origin, size, root, lines = parts.groups()
    need(int(index) == entry["seq"], "the proof is of another place")
    need("https://" + origin == iss, "the checkpoint is of another log")
    pins = {sha256(origin.encode(), b"\n\x01", key)[:4]: (purpose, key) for purpose, key, *_ in keys.values()}
    signatures = [(name, unbase64(raw)) for _, name, raw in (line.split(" ") for line in lines.split("\n")[:-1])]
    need(all(len(raw) > 4 for _, raw in signatures), "a signature line is too short")
    known = [(*pins[raw[:4]], raw[4:]) for name, raw in signatures if name == origin and raw[:4] in pins]
    if not known:
        raise Unpinned("the checkpoint is not signed by a log key that you pinned")
    need(all(signed_by(key, raw, text.encode()) for _, key, raw in known), "the checkpoint's signature does not hold")
    need("log" in [purpose for purpose, *_ in known], "the checkpoint is signed by a key of another purpose")
    need(entry["seq"] < int(size) < 2**53, "the tree is too small")
    leaf = sha256(b"\x00", canonical(entry))
    need(root_of(leaf, entry["seq"], int(size), map(unbase64, path.split())) == unbase64(root), "the entry is not in the tree")
    return payload, entry


if __name__ == "__main__":
    try:
        payload, entry = verify(*(pathlib.Path(name).read_bytes() for name in sys.argv[1:3]))
    except ValueError as why:
        print("BROKEN:", why)
        sys.exit(40)
    except Unpinned as why:
        print("UNPINNED:", why)
        sys.exit(50)
    print("VERIFIED", payload["typ"], payload.get("verdict", ""), "entry", entry["seq"], "at", entry["at"])
