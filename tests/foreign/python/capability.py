"""A JOSE library that is not ours, PyPI joserfc, judges a capability as a provider would.

Reads {token, jwks, iss, aud, now} and prints {header, claims, refused: {way to misuse it: error}}.
"""
import json, sys
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

given = json.load(sys.stdin)
keys = KeySet.import_key_set({"keys": given["jwks"]["keys"]})


def verified(token, iss=given["iss"], aud=given["aud"], now=given["now"]):
    decoded = jwt.decode(token, keys, algorithms=["EdDSA"])
    if decoded.header.get("typ") != "toolcap+jwt":
        raise ValueError("another type")
    registry = jwt.JWTClaimsRegistry(now=now, leeway=5, iss={"essential": True, "value": iss}, aud={"essential": True, "value": aud},
                                     exp={"essential": True}, nbf={"essential": True}, sub={"essential": True})
    registry.validate(decoded.claims)
    return decoded


def refusal(*arguments, **changes):
    try:
        verified(*arguments, **changes)
        return None
    except (JoseError, ValueError) as error:
        return type(error).__name__


token = verified(given["token"])
flipped = given["token"][:-2] + ("A" if given["token"][-2] != "A" else "B") + given["token"][-1]
print(json.dumps({
    "header": token.header,
    "claims": token.claims,
    "refused": {
        "changed_signature": refusal(flipped),
        "another_audience": refusal(given["token"], aud="urn:another"),
        "another_issuer": refusal(given["token"], iss="https://gw.example/p/9-zzzzzzzz"),
        "after_its_end": refusal(given["token"], now=token.claims["exp"] + 6),
    },
}))
