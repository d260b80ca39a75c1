"""What one check costs: a token verified, its arguments hashed, its jti used up in memory, in CPU time of this process.

    PYTHONPATH=src python bench/verify_and_consume.py

Where PyPI's `tenuo` is installed, its nearest equal stands beside: a warrant from its text, authorised for one call with the
proof that the caller holds its key for these arguments, and a set of warrants that were used. Both read what comes on
the wire; neither includes making the token.
"""

import asyncio
import json
import os
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from counterfoil_sdk.capability import Guard, MemoryStore, call_hash
from counterfoil_sdk.formats.canonical import canonical
from counterfoil_sdk.formats.encoding import base64url
from counterfoil_sdk.formats.signer import SigningKey
from counterfoil_sdk.formats.strict_json import Profile, parse
from counterfoil_sdk.verify import KeySet

CALLS = 3_000
ROUNDS = 5
ISSUER = "https://gw.example/p/7-k3m9q2v8"
AUDIENCE = "urn:counterfoil:7-k3m9q2v8:notes"
# Some 200 bytes.
ARGS = {"path": "/notes/2026/11/30/minutes.md", "text": "x" * 120, "copies": 3, "tags": ["a", "b"]}


def our_check() -> Callable[[], float]:
    key = SigningKey(b"\x12" * 32)
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": key.public_key.x, "kid": key.kid, "purpose": "capability"}
    with warnings.catch_warnings(action="ignore"):
        store = MemoryStore()
    pinned = KeySet.parse(json.dumps({"iss": ISSUER, "keys": [jwk]}))
    project = "prj_019355a0c0007000800000000000a001"
    guard = Guard(issuer=ISSUER, project=project, provider="notes", env="live", store=store, keys=pinned, generation="seen")

    def call() -> bytes:
        iat = int(time.time())
        claims = {
            "iss": ISSUER, "aud": AUDIENCE, "sub": "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo", "jti": base64url(os.urandom(16)),
            "iat": iat, "nbf": iat - 5, "exp": iat + 60, "txn": "act_019355a0c1007000800000000000b001", "dec": "sha256:" + "5f" * 32,
            "env": "live", "gen": 3, "os": "EIiJJtA4kt3i9xxgGwUUaA",
            "call": {"m": "tools/call", "t": "note_write", "h": call_hash(AUDIENCE, "note_write", ARGS)},
        }  # fmt: skip
        header = {"alg": "EdDSA", "typ": "toolcap+jwt", "kid": key.kid}
        signed = ".".join(base64url(canonical(part)) for part in (header, claims))
        token = f"{signed}.{base64url(key.sign(signed.encode()))}"
        return json.dumps({"name": "note_write", "arguments": ARGS, "_meta": {"dev.counterfoil/capability": token}}).encode()

    async def admit(calls: list[bytes]) -> None:
        for text in calls:
            await guard.admit(parse(text, Profile.FOREIGN))

    def once() -> float:
        calls = [call() for _ in range(CALLS)]
        began = time.process_time()
        asyncio.run(admit(calls))
        return (time.process_time() - began) / CALLS

    return once


def tenuos_check() -> Callable[[], float]:
    import tenuo

    issuer, holder = tenuo.SigningKey.generate(), tenuo.SigningKey.generate()
    capabilities: dict[str, Any] = {"note_write": {name: tenuo.AnyValue() for name in ARGS}}
    authorizer = tenuo.Authorizer(trusted_roots=[issuer.public_key])

    def call() -> tuple[str, str, bytes]:
        # A warrant of its own for each call, as ours has a slip of its own.
        warrant = tenuo.Warrant.issue(issuer, capabilities, 60, holder.public_key)
        return warrant.to_base64(), json.dumps(ARGS), warrant.sign(holder, "note_write", ARGS, int(time.time()))

    text, _, proof = call()
    try:
        authorizer.authorize(tenuo.Warrant.from_base64(text), "note_write", {**ARGS, "copies": 4}, proof)
    except tenuo.TenuoError:
        pass
    else:
        raise RuntimeError("it takes other arguments than were signed: this is no equal")

    def once() -> float:
        calls, used = [call() for _ in range(CALLS)], set[str]()
        began = time.process_time()
        for text, arguments, proof in calls:
            warrant = tenuo.Warrant.from_base64(text)
            authorizer.authorize(warrant, "note_write", json.loads(arguments), proof)
            assert warrant.id not in used, "used twice"
            used.add(warrant.id)
        return (time.process_time() - began) / CALLS

    return once


def main() -> None:
    checks = {"counterfoil-sdk, Python": our_check()}
    try:
        checks[f"tenuo {version('tenuo')}, Python over Rust"] = tenuos_check()
    except PackageNotFoundError:
        print("tenuo is not installed here: nothing stands beside")
    # In turns, so that a busy machine is busy for both.
    seen = {name: [] for name in checks}
    for _ in range(ROUNDS):
        for name, check in checks.items():
            seen[name].append(check() * 1e6)
    best = {name: min(each) for name, each in seen.items()}
    first = next(iter(best.values()))
    for name, micros in best.items():
        print(f"verify + consume (memory): {micros:6.0f} µs CPU a call, {micros / first:4.2f} x  {name}")


if __name__ == "__main__":
    main()
