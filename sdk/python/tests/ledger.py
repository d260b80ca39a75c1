"""A ledger of these tests: it signs decisions, gives them places, and serves its checkpoint and tiles."""

import re
from datetime import UTC, datetime, timedelta

from counterfoil_sdk.execution import time_text
from counterfoil_sdk.formats.canonical import canonical, document_value
from counterfoil_sdk.formats.commitment import commit, salt
from counterfoil_sdk.formats.encoding import base64_text, base64url, digest_of
from counterfoil_sdk.formats.envelope import envelope_digest, sign
from counterfoil_sdk.formats.note import Checkpoint, sign_checkpoint
from counterfoil_sdk.formats.signer import SigningKey
from counterfoil_sdk.formats.tree import inclusion_path, leaf_hash, node_hash, root_of

from .world import ACTION, ISSUER, PROJECT, jwk, key_set, nonce

DECISION_KEY = SigningKey(b"\x11" * 32)
LOG_KEY = SigningKey(b"\x14" * 32)
PINNED_KEYS = key_set(jwk(DECISION_KEY, "decision"), jwk(LOG_KEY, "log"))
SEED = bytes(range(16))


def decision(arguments=None, **changes):
    digest = digest_of(b"something")
    made = {
        "typ": "decision/v1", "iss": ISSUER, "project": PROJECT, "env": "live", "action": ACTION, "follows": None,
        "supersedes": None, "session": None, "run": None, "at": time_text(datetime.now(UTC)), "nonce": nonce(), "origin": "sdk",
        "mode": "hook", "via": "key_1", "agent": "agt_019355a0c0007000800000000000d001", "principal": None, "provider": "notes",
        "tool": "note_write", "pin": digest, "class": None, "shape": {},
        "args": commit(SEED, "args", document_value({} if arguments is None else arguments)),
        "facts": commit(SEED, "facts", digest), "verdict": "ALLOW", "reason": "rule", "rules": ["notes-update"], "policy": digest,
        "grants": digest, "control": 1, "gen": 0, "effect": "enforced", "marks": [], "hold": None, "answers": None,
        "capability": None, "ask": None, "quote": None, "plan": None,
    }  # fmt: skip
    return {**made, **changes}


class Ledger:
    def __init__(self, log=LOG_KEY):
        self.log = log
        self.leaves = []
        self.prev = digest_of(f"counterfoil/genesis/v1\n{PROJECT}".encode())

    def node(self, level, at):
        return node_hash(self.node(level - 1, at * 2), self.node(level - 1, at * 2 + 1)) if level else self.leaves[at]

    async def append(self, payload=None, key=DECISION_KEY):
        statement = await sign(payload or decision(), key)
        at = time_text(datetime.fromisoformat(statement["payload"]["at"]) + timedelta(milliseconds=1))
        entry = {
            "v": 1, "project": PROJECT, "seq": len(self.leaves), "epoch": at[:10], "at": at, "kind": "decision",
            "body": envelope_digest(statement), "prev": self.prev,
        }  # fmt: skip
        self.prev = digest_of(canonical(entry))
        self.leaves.append(leaf_hash(canonical(entry)))
        path = inclusion_path(entry["seq"], len(self.leaves), self.node)
        lines = "".join(f"{base64_text(hash)}\n" for hash in path)
        proof = f"c2sp.org/tlog-proof@v1\nindex {entry['seq']}\n{lines}\n{self.checkpoint()}"
        return {"typ": "receipt/v1", "statement": statement, "entry": entry, "proof": proof}

    def checkpoint(self):
        size = len(self.leaves)
        root = root_of(size, self.node)
        return sign_checkpoint(Checkpoint(ISSUER.removeprefix("https://"), size, root), self.log)

    async def fetch(self, path):
        if path == "checkpoint":
            return self.checkpoint().encode()
        level, index, width = re.fullmatch(r"tile/(\d)/(\d{3})(?:[.]p/(\d+))?", path).groups()
        return b"".join(self.node(int(level) * 8, int(index) * 256 + at) for at in range(int(width or 256)))


def answer(receipt, **changes):
    """What the verdict API answers."""
    payload = receipt["statement"]["payload"]
    said = {
        "decision_id": envelope_digest(receipt["statement"]).replace("sha256:", "dec_"), "verdict": payload["verdict"],
        "engine": "test", "effect": payload["effect"],
    }  # fmt: skip
    full = {"typ": "receipt-full/v1", "receipt": receipt, "openings": [["args", base64url(salt(SEED, "args"))]]}
    return {"action_id": payload["action"], "decision": said, "dev.counterfoil/receipt": full, **changes}
