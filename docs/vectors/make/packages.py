"""Packages: a small record with every kind of entry that decides, packed honestly and otherwise.

Written from docs/formats/package.md; a case is the files as text (base64 where they are bytes), what the holder pinned and kept, and the answer.
"""
import copy
from example import *

L, LOG, D, X = KEYS["ledger"], KEYS["log"], KEYS["decision"], KEYS["execution"]
MALLORY = Key(0x32, "execution")
POLICY = digest(b"bundle")


def at(second):
    return f"2026-11-30T11:{20 + second // 60:02d}:{second % 60:02d}.000Z"


def ledger_statement(typ, second, **members):
    return signed({"typ": typ, "iss": ISS, "project": PROJECT, "at": at(second)} | members, L)


def key_statement(key, control, second, provider=None, event="introduced"):
    shown = f"counterfoil/possession/v1\n{PROJECT}\n{key.kid}\n".encode()
    return ledger_statement("key/v1", second, control=control, floor=0, gen=0, behalf="setup", authorization=None, event=event, purpose=key.purpose,
                            provider=provider, key={"kty": "OKP", "crv": "Ed25519", "x": key.x}, thumbprint=key.kid, replaces=None,
                            compromised_since=None, possession=url64(key.sign(shown)) if event == "introduced" else None)


def published(typ, control, second):
    return ledger_statement(typ, second, control=control, floor=0, gen=0, behalf="setup", authorization=None, document=digest(typ.encode()), policy=POLICY,
                            reason=None, expires_at=None)


def finding(code, about, second):
    return ledger_statement("finding/v1", second, code=code, action=ACTION, statement=digest(jcs(about)), seq=6)


def wrapped(inner, second, holds=True):
    kid = inner["signature"]["kid"]
    return signed({"typ": "received/v1", "form": "execution-native", "project": PROJECT, "at": at(second), "signer": {"kid": kid, "thumbprint": kid},
                   "holds": holds, "bytes": url64(jcs(inner))}, L)


class Record:
    """Statements in order, each with its kind and second."""

    def __init__(self):
        self.rows = []
        for second, (key, provider) in enumerate([(L, None), (LOG, None), (D, None)]):
            self.add("key", key_statement(key, second + 1, second), second)
        self.add("registry", published("registry/v1", 4, 3), 3)
        self.add("rules", published("rules/v1", 5, 4), 4)
        self.add("key", key_statement(X, 6, 5, provider="notes"), 5)

    def add(self, kind, statement, second):
        self.rows.append((kind, statement, second))
        return statement

    def decide(self, second, **changes):
        return self.add("decision", signed(decision(at=at(second), control=6, gen=0, policy=POLICY, **changes), D), second)

    def observe(self, decided, second, **changes):
        seen = observation(digest(jcs(decided)), at=at(second), sent_at=at(second)) | changes
        return self.add("observation", signed(seen, D), second)

    def execute(self, decided, second, holds=True, key=X, **changes):
        inner = signed(execution(digest(jcs(decided))) | changes, key)
        return self.add("execution", wrapped(inner, second, holds), second)

    def entries(self):
        prev, made = GENESIS, []
        for seq, (kind, statement, second) in enumerate(self.rows):
            made.append(entry_of(statement, seq, at(second), kind, prev))
            prev = digest(jcs(made[-1]))
        return made

    def leaves(self):
        return [leaf_hash(jcs(entry)) for entry in self.entries()]

    def head(self, size=None):
        leaves = self.leaves()[:size]
        return checkpoint(len(leaves), root(leaves))


PROVIDER_KEYS = {"keys": [{"provider": "notes", "key": {"kty": "OKP", "crv": "Ed25519", "x": X.x}, "thumbprint": X.kid, "introduced": 5, "ended": None}]}


def manifest(files, first, size, key=L):
    listed = {name: {"bytes": len(raw), "digest": digest(raw)} for name, raw in files.items()}
    return jcs(signed({"typ": "package/v1", "iss": ISS, "project": PROJECT, "at": at(0), "first": first, "size": size, "files": listed}, key))


def pack(record, first=0, absent=(), tombstones=(), change=None, jwks=JWKS, provider_keys=PROVIDER_KEYS, key=L):
    entries, size = record.entries(), len(record.rows)
    lines = [{"seq": seq, "absent": True} if seq in absent else {"seq": seq, "body": record.rows[seq][1]} for seq in range(first, size)]
    files = {
        "entries.bin": b"".join(len(jcs(e)).to_bytes(2, "big") + jcs(e) for e in entries[first:]),
        "statements.jsonl": b"".join(jcs(line) + b"\n" for line in lines),
        "new.checkpoint": record.head().encode(),
        "jwks.json": jcs(jwks), "provider-keys.json": jcs(provider_keys), "tombstones": jcs(list(tombstones)),
    }
    if first:
        files["old.checkpoint"] = record.head(first).encode()
        hashes = "".join(std64(h) + "\n" for h in consistency(first, record.leaves()))
        files["consistency"] = f"old {first}\n{hashes}\n".encode() + files["new.checkpoint"]
    if change:
        change(files)
    files["manifest.json"] = manifest(files, first, size, key)
    return files


def case(about, files, answer, exit_code, jwks=JWKS, signs=True, **holder):
    shown = {name: {"base64": std64(raw)} if name == "entries.bin" else {"text": raw.decode()} for name, raw in sorted(files.items())}
    return {"about": about, "jwks": jwks, "registry": {"notes": {"signs": signs, "sign_within": 600}}, "since": None} | holder | {
        "files": shown, "answer": answer, "exit": exit_code}


def honest():
    record = Record()
    decided = record.decide(10)
    record.observe(decided, 11)
    record.execute(decided, 12)
    record.decide(13, verdict="DENY", reason="no_rule", rules=[], capability=None, action="act_019355a0c1007000800000000000b002")
    return record


def against_verdict():
    record = Record()
    denied = record.decide(10, verdict="DENY", reason="no_rule", rules=[], capability=None)
    return record, record.execute(denied, 12)


def later(record):
    """Time passes: an entry twenty minutes on."""
    record.decide(1300, verdict="DENY", reason="no_rule", rules=[], capability=None, action="act_019355a0c1007000800000000000b003")
    return record


def findings():
    cases = {}
    record, body = against_verdict()
    cases["finding_omitted"] = case("it ran against its verdict, and no entry says so", pack(later(record)), "OMITTED", 21)
    record, body = against_verdict()
    record.add("finding", finding("EXECUTED_AGAINST_VERDICT", body, 14), 14)
    cases["finding_there"] = case("it ran against its verdict, and an entry says so", pack(later(record)), "UNANCHORED", 10)
    record, body = against_verdict()
    cases["finding_not_yet_due"] = case("younger than fifteen minutes: at the edge", pack(record), "UNANCHORED", 10)

    record = Record()
    record.observe(record.decide(10), 11)
    cases["execution_missing_at_the_edge"] = case("owed, past the deadline, and less than fifteen minutes ago", pack(later(record)), "UNANCHORED", 10)
    record = Record()
    record.observe(record.decide(10), 11)
    record.decide(2000, verdict="DENY", reason="no_rule", rules=[], capability=None, action="act_019355a0c1007000800000000000b003")
    cases["execution_missing_and_omitted"] = case("owed, never given, and more than fifteen minutes past the deadline", pack(record), "OMITTED", 21)
    cases["execution_not_owed"] = case("the registry says that this provider signs nothing", pack(record), "UNANCHORED", 10, signs=False)
    for name, about, action, answer, code in [
        ("observation_before_its_decision", "it overtook its decision and counts all the same: a statement was owed from there on", ACTION, "OMITTED", 21),
        ("observation_of_another_action", "it names the decision and another action: nobody has observed this one", "act_019355a0c1007000800000000000b004", "UNANCHORED", 10),
    ]:
        record = Record()
        record.observe(record.decide(10), 11, action=action)
        (_, decided, _), (_, seen, _) = record.rows[-2:]
        record.rows[-2:] = [("observation", seen, 10), ("decision", decided, 11)]
        record.decide(2000, verdict="DENY", reason="no_rule", rules=[], capability=None, action="act_019355a0c1007000800000000000b003")
        cases[name] = case(about, pack(record), answer, code)
    record = Record()
    decided = record.decide(10)
    record.observe(decided, 11)
    record.execute(decided, 12, decision=digest(b"elsewhere"))
    cases["execution_without_a_decision"] = case("it names what is not in this project", pack(later(record)), "OMITTED", 21)
    record = Record()
    decided = record.decide(10)
    record.execute(decided, 12, key=MALLORY, holds=True)
    cases["wrapper_vouches_for_a_forgery"] = case("the signature holds under no key, and `holds` says that it does", pack(record), "BROKEN", 40)
    record = Record()
    decided = record.decide(10)
    record.execute(decided, 12, holds=False)
    cases["wrapper_disowns_a_statement"] = case("the signature holds, and `holds` says that it does not", pack(record), "BROKEN", 40)
    return cases


def keys_and_control():
    cases = {}
    stray = Record()
    stray.add("decision", signed(decision(at=at(10), control=6, gen=0, policy=POLICY), Key(0x33, "decision")), 10)
    cases["decision_by_a_key_of_the_package_alone"] = case("no key/v1 introduced its signer", pack(stray), "UNPINNED", 50)
    ended = Record()
    ended.add("key", key_statement(D, 7, 8, event="revoked"), 8)
    ended.decide(10, verdict="DENY", reason="no_rule", rules=[], capability=None)
    cases["decision_by_a_revoked_key"] = case("its key ended before it", pack(ended), "BROKEN", 40)
    killed = Record()
    killed.add("kill", ledger_statement("kill/v1", 8, control=7, floor=7, gen=1, behalf="operator", authorization=None, reason=None), 8)
    killed.rows.append(("decision", signed(decision(at=at(10), control=7, gen=1, policy=POLICY), D), 10))
    cases["allowed_under_a_kill"] = case("from kill/v1 on nothing is allowed", pack(killed), "BROKEN", 40)
    other = Record()
    other.add("decision", signed(decision(at=at(10), control=6, gen=0, policy=digest(b"mine")), D), 10)
    cases["allowed_by_another_bundle"] = case("not what was in force", pack(other), "BROKEN", 40)
    backwards = honest()
    kind, statement, second = backwards.rows[-1]
    backwards.rows[-1] = (kind, statement, second - 2)
    cases["time_goes_back"] = case("entry times never do", pack(backwards), "BROKEN", 40)
    without_log = JWKS | {"keys": [k.jwk() for k in KEYS.values() if k is not LOG]}
    without_ledger = JWKS | {"keys": [k.jwk() for k in KEYS.values() if k is not L]}
    cases["log_key_not_pinned"] = case("nobody whom the holder trusts signed the checkpoint", pack(honest()), "UNPINNED", 50, jwks=without_log)
    cases["ledger_key_not_pinned"] = case("entry 0 introduces a key that the holder did not pin", pack(honest()), "UNPINNED", 50, jwks=without_ledger)
    extra = copy.deepcopy(PROVIDER_KEYS)
    extra["keys"].append({"provider": "notes", "key": {"kty": "OKP", "crv": "Ed25519", "x": MALLORY.x}, "thumbprint": MALLORY.kid, "introduced": 5, "ended": None})
    cases["provider_key_of_the_package_alone"] = case("a key that no entry introduced", pack(honest(), provider_keys=extra), "UNPINNED", 50)
    return cases


def vendors():
    """What a vendor's action names as the one before it, and a catalogue of its tools."""
    cases, sessions = {}, ["ses_" + 8 * "0193", "ses_" + 8 * "0194"]
    commit = decision()["facts"]

    def opened():
        record = Record()
        heads = []
        for second, session in enumerate(sessions, 7):
            said = {"session": session, "event": "opened", "via": "key_" + 8 * "0193", "agent": decision()["agent"], "external": commit, "declared": commit,
                    "principal": commit, "request": commit, "task": None, "grant": None, "parent": None, "started_at": at(second)}
            record.add("session", ledger_statement("session/v1", second, **said), second)
            heads.append(last_hash(record))
        return record, *heads

    def last_hash(record):
        return digest(jcs(record.entries()[-1]))

    def ask(record, second, prev):
        number = second - 9
        return record.decide(second, verdict="DENY", reason="no_rule", rules=[], capability=None, action=f"act_019355a0c1007000800000000000c{number:03d}", mode="hook",
                             session=sessions[0], ask={"seq": number, "prev": prev, "at": at(second)})

    record, head, elsewhere = opened()
    ask(record, 10, head)
    first = last_hash(record)
    for second, prev in enumerate([head, first, None], 11):
        ask(record, second, prev)
    cases["previous_told"] = case("calls at the same time name one hash, and a later one names theirs", pack(later(record)), "UNANCHORED", 10)
    for name, about, prev in [
        ("previous_never_told", "nothing of that hash stands in the record", digest(b"invented")),
        ("previous_of_another_session", "another session was told that hash", elsewhere),
    ]:
        record, head, elsewhere = opened()
        ask(record, 10, prev)
        cases[name] = case(about + ", and no entry says so", pack(later(record)), "OMITTED", 21)
    record, head, elsewhere = opened()
    said = ask(record, 10, elsewhere)
    record.add("finding", finding("UNKNOWN_PREVIOUS", said, 11), 11)
    cases["previous_found"] = case("another session was told that hash, and an entry says so", pack(later(record)), "UNANCHORED", 10)

    def catalog(record, key, holds):
        stated = {"v": 1, "tools": [{"name": "send", "signals": {"op": "send"}}]}
        body = stated | {"signature": {"kid": "k1", "alg": "Ed25519", "value": url64(key.sign(jcs(stated)))}}
        record.add("catalog", signed({"typ": "received/v1", "form": "catalog", "project": PROJECT, "at": at(10), "signer": {"kid": "k1", "thumbprint": None},
                                      "holds": holds, "bytes": url64(jcs(body))}, L), 10)
        return record

    cases["catalog_signed"] = case("a key that counted signed it", pack(later(catalog(Record(), X, True))), "UNANCHORED", 10)
    cases["catalog_unsigned_and_omitted"] = case("no key signed it, and no entry says so", pack(later(catalog(Record(), MALLORY, False))), "OMITTED", 21)
    return cases


def damage():
    def lines(change):
        def changed(files):
            text = files["statements.jsonl"].split(b"\n")[:-1]
            files["statements.jsonl"] = b"".join(line + b"\n" for line in change(text))
        return changed

    def leaves(change):
        def changed(files):
            files["entries.bin"] = change(files["entries.bin"])
        return changed

    last = len(jcs(honest().entries()[-1])) + 2
    tampered = {
        "statement_changed": ("a body that is not the entry's", "BROKEN", 40, lines(lambda t: t[:6] + [t[6].replace(b'"ALLOW"', b'"DENY"')] + t[7:])),
        "statement_lines_swapped": ("beside the wrong entry", "BROKEN", 40, lines(lambda t: t[:6] + [t[7], t[6]] + t[8:])),
        "statement_lines_cut_off": ("fewer lines than entries", "INCOMPLETE", 20, lines(lambda t: t[:-1])),
        "statement_line_too_many": ("more lines than entries", "BROKEN", 40, lines(lambda t: t + t[-1:])),
        "entries_cut_off": ("fewer entries than the checkpoint has", "INCOMPLETE", 20, leaves(lambda b: b[:-last])),
        "entries_end_inside_one": ("half an entry", "BROKEN", 40, leaves(lambda b: b[:-5])),
        "last_entry_changed": ("the root is another one", "BROKEN", 40, leaves(lambda b: b[:-last] + b[-last:].replace(b'"at":"2026-11-30T11:20:13', b'"at":"2026-11-30T11:20:14'))),
        "entry_not_canonical": ("one spelling", "BROKEN", 40, leaves(lambda b: (len(jcs(honest().entries()[0])) + 1).to_bytes(2, "big") + b" " + b[2:])),
    }
    cases = {name: case(about, pack(honest(), change=change), answer, code) for name, (about, answer, code, change) in tampered.items()}
    files = pack(honest())
    files["tombstones"] += b" "
    cases["file_not_as_packed"] = case("damage on the way", files, "BROKEN", 40)
    cases["manifest_by_another_key"] = case("signed with the decision key", pack(honest(), key=D), "UNPINNED", 50)
    files = pack(honest())
    del files["new.checkpoint"]
    cases["checkpoint_missing"] = case("nothing to hold the entries against", files, "INCOMPLETE", 20)
    return cases


def absences():
    cases = {"body_absent": case("no tombstone covers it", pack(honest(), absent=[7]), "INCOMPLETE", 20),
             "body_absent_that_cannot_be": case("a registry/v1 is never erased", pack(honest(), absent=[3]), "BROKEN", 40)}
    record = honest()
    grave = lambda first, last, day="2026-11-30": ledger_statement("tombstone/v1", 20, behalf="retention", removal="retention", epoch=day, first=first, last=last)
    record.add("tombstone", grave(6, 8), 20)
    claim = {"seq": 10, "first": 6, "last": 8}
    cases["bodies_erased"] = case("a tombstone covers them, and the rest holds", pack(record, absent=[6, 7, 8], tombstones=[claim]), "UNANCHORED", 10)
    cases["tombstone_covers_less"] = case("the file claims more than the entry says", pack(record, absent=[9], tombstones=[claim | {"last": 9}]), "BROKEN", 40)
    record = honest()
    record.add("tombstone", grave(6, 8, "2026-11-29"), 20)
    cases["tombstone_of_another_day"] = case("redaction stays inside its epoch", pack(record, absent=[6], tombstones=[claim]), "BROKEN", 40)
    return cases


def kept():
    record, longer, other = honest(), later(honest()), Record()
    for second in range(10, 16):
        other.decide(second, verdict="DENY", reason="no_rule", rules=[], capability=None)
    return {
        "since_an_older_checkpoint": case("the record passes through what the holder kept", pack(record), "UNANCHORED", 10, since=record.head(7)),
        "shorter_than_what_was_kept": case("the end was cut off", pack(record), "INCOMPLETE", 20, since=longer.head()),
        "forked": case("two notes of one log and one size", pack(record), "FORKED", 30, since=other.head(8)),
        "from_entry_7": case("a package that starts later", pack(record, first=7), "UNANCHORED", 10),
        "from_entry_8": case("old size a power of two: its root is in the new tree", pack(record, first=8), "UNANCHORED", 10),
    }


def cases():
    return {"honest": case("all of it holds; no witness says that this is the end", pack(honest()), "UNANCHORED", 10)} | kept() | findings() | vendors() | keys_and_control() | damage() | absences()
