"""A gateway of these tests: its keys, its slips, its key set and generation feed, on a port of its own."""

import json
import secrets
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from counterfoil_sdk.capability import MemoryStore, call_hash
from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url
from counterfoil_sdk.formats.signer import SigningKey

ISSUER = "https://gw.example/p/7-k3m9q2v8"
PAGE = "/p/7-k3m9q2v8"
AUDIENCE = "urn:counterfoil:7-k3m9q2v8:notes"
PROJECT = "prj_019355a0c0007000800000000000a001"
ACTION = "act_019355a0c1007000800000000000b001"
KEY = SigningKey(b"\x12" * 32)
STRANGER = SigningKey(b"\x77" * 32)
EXECUTION_KEY = SigningKey(b"\x21" * 32)


def nonce():
    return base64url(secrets.token_bytes(16))


def jwk(key, purpose, **more):
    alg = "EdDSA" if purpose == "capability" else "Ed25519"
    return {"kty": "OKP", "crv": "Ed25519", "x": key.public_key.x, "kid": key.kid, "use": "sig", "alg": alg, "purpose": purpose, **more}


def key_set(*keys):
    return json.dumps({"iss": ISSUER, "keys": keys})


GATEWAY_KEYS = key_set(jwk(KEY, "capability"))


def claims(tool, arguments, *, answers=None, **changes):
    iat = int(time.time())
    bound = {} if answers is None else {"input_responses": answers}
    made = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", "jti": nonce(), "iat": iat,
        "nbf": iat - 5, "exp": iat + 30, "txn": ACTION, "dec": "sha256:" + "5f" * 32, "env": "live", "gen": 3,
        "os": "EIiJJtA4kt3i9xxgGwUUaA",
        "call": {"m": "tools/call", "t": tool, "h": call_hash(AUDIENCE, tool, arguments, **bound)},
    }
    return {**made, **changes}


def token(payload, *, key=KEY, **header):
    head = {"alg": "EdDSA", "typ": "toolcap+jwt", "kid": key.kid, **header}
    signed = ".".join(base64url(canonical(part)) for part in (head, payload))
    return f"{signed}.{base64url(key.sign(signed.encode()))}"


def call(tool, arguments, capability=None, **more):
    meta = {} if capability is None else {"_meta": {"dev.counterfoil/capability": capability}}
    return {"name": tool, "arguments": arguments, **meta, **more}


def memory():
    with warnings.catch_warnings(action="ignore"):
        return MemoryStore()


class Gateway:
    """Serves the key set and the feed; its members can be changed while it runs."""

    def __init__(self):
        self.keys, self.gen, self.is_silent, self.asked = GATEWAY_KEYS, 3, False, 0
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if world.is_silent:
                    self.close_connection = True
                    return
                self.send_response(200)
                self.end_headers()
                self.wfile.write(world.answer(self.path).encode())

            def log_message(self, *_):
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def answer(self, path):
        if path == f"{PAGE}/gateway-jwks.json":
            self.asked += 1
            return self.keys
        iat = int(time.time())
        return token({"exp": iat + 10, "gen": self.gen, "iat": iat, "iss": ISSUER}, typ="toolgen+jwt")

    def close(self):
        self.server.shutdown()
        self.server.server_close()
