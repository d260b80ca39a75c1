"""The one call that the cases tell of: a decision, the gateway's observation, the provider's execution."""
from formats import *

SEED = bytes(range(16))
PROVIDER_SEED = salt(SEED, "provider")
ARGS = {"path": "/notes/été.txt", "text": "hello", "n": 3, "tags": ["a", "b"], "deep": {"€": True, "\ufb33": None, "😀": 1}}
FACTS = {"v": 1, "principal": "u-88", "action": "notes.update", "resource": "/notes/été.txt", "now": "2026-11-30T11:20:00.123Z"}
RESULT = {"content": [{"type": "text", "text": "ok"}], "isError": False}
ACTION = "act_019355a0c1007000800000000000b001"
JTI = url64(b"Z" * 16)


def commit(name, value):
    seed = PROVIDER_SEED if name in ("args", "result", "error", "charged") else SEED
    return commitment(disclosure(seed, name, value))


def document(value):
    return digest(jcs(value))


def decision(**changes):
    declared = ["operation", "data_class", "destination", "magnitude", "reversibility"]
    return {"typ": "decision/v1", "iss": ISS, "project": PROJECT, "env": "live", "action": ACTION, "follows": None,
            "supersedes": None, "session": None, "run": None, "at": "2026-11-30T11:20:00.123Z", "nonce": url64(b"\x01" * 16),
            "origin": "mcp", "mode": "gateway", "via": "key_019355a0c0007000800000000000c001",
            "agent": "agt_019355a0c0007000800000000000d001", "principal": commit("principal", "u-88"), "provider": "notes",
            "tool": "note_write", "pin": "sha256:64f46a7526a186d2346552453ae478ca51244674f5b21ba150bd483b39f7c812",
            "class": {"service": "notes", "verb": "update", "nouns": [{"type": "path", "commit": commit("noun/0", "/notes/été.txt")}],
                      "operation": "write", "data_class": "operational", "destination": "internal", "magnitude": "single",
                      "reversibility": "costly", "source": {name: "declared" for name in declared}},
            "shape": {"path": {"type": "string", "size": 16}, "text": {"type": "string", "size": 8}},
            "args": commit("args", document(ARGS)), "facts": commit("facts", document(FACTS)), "verdict": "ALLOW",
            "reason": "rule", "rules": ["notes-update"], "policy": "sha256:1e6ed65d77d6364eeaed5a745ba5c4985ae2b700dd85d7cf7f027bdf294a33fc",
            "grants": "sha256:73e665dc07cdc36defdebe087a6ad95b9f9761b1db81e3b2b83c0a5eab37f6e4",
            "control": 17, "gen": 3, "effect": "enforced", "marks": [], "hold": None, "answers": None, "capability": JTI,
            "ask": None, "quote": None, "plan": None} | changes


def observation(decision_digest, **changes):
    return {"typ": "observation/v1", "iss": ISS, "project": PROJECT, "env": "live", "action": ACTION, "decision": decision_digest,
            "provider": "notes", "tool": "note_write", "status": "returned", "reason": None, "is_error": False,
            "result": commit("result", document(RESULT)), "error": None, "sent_at": "2026-11-30T11:20:00.128Z",
            "at": "2026-11-30T11:20:00.140Z", "nonce": url64(b"\x02" * 16)} | changes


def execution(decision_digest):
    return {"typ": "execution/v1", "iss": "notes", "project": PROJECT, "action": ACTION, "provider": "notes", "tool": "note_write",
            "decision": decision_digest, "capability": JTI, "args": commit("args", document(ARGS)), "outcome": "EXECUTED",
            "result": commit("result", document(RESULT)), "error_code": None, "charged": None,
            "started_at": "2026-11-30T11:20:00.130Z", "executed_at": "2026-11-30T11:20:00.138Z", "nonce": url64(b"\x03" * 16), "seen": None}


def received(inner, **changes):
    kid = inner["signature"]["kid"]
    return {"typ": "received/v1", "form": "execution-native", "project": PROJECT, "at": "2026-11-30T11:20:00.149Z",
            "signer": {"kid": kid, "thumbprint": kid}, "holds": True, "bytes": url64(jcs(inner))} | changes


DECISION = signed(decision(), KEYS["decision"])
OBSERVATION = signed(observation(digest(jcs(DECISION))), KEYS["decision"])
INNER = signed(execution(digest(jcs(DECISION))), KEYS["execution"])
RECEIVED = signed(received(INNER), KEYS["ledger"])
STATEMENTS = [DECISION, OBSERVATION, RECEIVED]


def numbered(statements, kinds, times):
    entries, prev = [], GENESIS
    for seq, (statement, kind, at) in enumerate(zip(statements, kinds, times)):
        entries.append(entry_of(statement, seq, at, kind, prev))
        prev = digest(jcs(entries[-1]))
    return entries


TIMES = ["2026-11-30T11:20:00.125Z", "2026-11-30T11:20:00.142Z", "2026-11-30T11:20:00.150Z"]
ENTRIES = numbered(STATEMENTS, ["decision", "observation", "execution"], TIMES)
LEAVES = [leaf_hash(jcs(entry)) for entry in ENTRIES]


def receipt(statement, entry, proof_text):
    return {"typ": "receipt/v1", "statement": statement, "entry": entry, "proof": proof_text}


def alone(statement, **entry_changes):
    """A receipt that is right in every respect, for a statement that is the only one of its log."""
    typ = statement["payload"]["typ"] if isinstance(statement["payload"], dict) else "decision/v1"
    entry = entry_of(statement, 0, TIMES[0], str(typ).split("/")[0], GENESIS) | entry_changes
    return proved(statement, entry)


def proved(statement, entry, index=0):
    leaf = leaf_hash(jcs(entry))
    return receipt(statement, entry, proof(index, [], checkpoint(1, leaf)))


RECEIPTS = [receipt(s, e, proof(i, path(i, LEAVES), checkpoint(3, root(LEAVES))))
            for i, (s, e) in enumerate(zip(STATEMENTS, ENTRIES))]
