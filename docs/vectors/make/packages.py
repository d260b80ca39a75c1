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
    cases |= stopped()
    cases |= answered()
    cases |= leaning() | on_grants()
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


def control(record, typ, second, numbers, **members):
    """A statement of an operator, with the numbers that are in force after it: control, floor, gen."""
    said = dict(zip(("control", "floor", "gen"), numbers)) | {"behalf": "operator", "authorization": None}
    record.add(typ.split("/")[0], ledger_statement(typ, second, **said, **members), second)


def allow(record, second, numbers):
    said = dict(zip(("control", "gen"), numbers))
    record.rows.append(("decision", signed(decision(at=at(second), **said, policy=POLICY), D), second))


def grant_of(name):
    return {"grant": name, "agent": decision()["agent"], "service": "mail", "verb": "send", "document": digest(b"the grant"),
            "until": at(2000), "answer": None, "reason": None}


def stopped():
    """Kills of a part, resumption, and how grants and windows move the floor."""
    cases = {}
    agent = decision()["agent"]
    for name, about, scope, answer in [
        ("allowed_for_a_killed_agent", "this agent is killed", {"scope": agent}, ("BROKEN", 40)),
        ("allowed_in_a_killed_environment", "this environment is killed", {"scope": decision()["env"]}, ("BROKEN", 40)),
        ("allowed_beside_a_killed_agent", "another agent is killed", {"scope": "agt_" + 8 * "0193"}, ("UNANCHORED", 10)),
    ]:
        record = Record()
        control(record, "kill/v1", 8, (7, 7, 0), reason=None, **scope)
        allow(record, 10, (7, 0))
        cases[name] = case(about, pack(record), *answer)
    resumed = Record()
    control(resumed, "kill/v1", 7, (7, 7, 1), reason=None)
    control(resumed, "resume/v1", 8, (8, 7, 1), reason=None)
    allow(resumed, 10, (8, 1))
    cases["allowed_after_a_resumption"] = case("what was killed was resumed", pack(resumed), "UNANCHORED", 10)
    other = Record()
    control(other, "kill/v1", 7, (7, 7, 1), reason=None)
    control(other, "resume/v1", 8, (8, 7, 1), reason=None, scope=agent)
    allow(other, 10, (8, 1))
    cases["allowed_after_another_resumption"] = case("the project is killed, and one agent was resumed", pack(other), "BROKEN", 40)

    window = {"until": at(2000), "reason": "The first week."}
    for typ, name, members, opens, closes in [("breakglass/v1", "breakglass", window, "opened", "closed"), ("shadow/v1", "shadow", window, "opened", "closed")]:
        record = Record()
        control(record, typ, 7, (7, 0, 0), event=opens, **members)
        allow(record, 8, (6, 0))
        control(record, typ, 9, (8, 8, 0), event=closes, **members)
        allow(record, 10, (8, 0))
        cases[f"{name}_comes_and_goes"] = case("giving leaves the floor where it is, taking away moves it", pack(record), "UNANCHORED", 10)
        record = Record()
        control(record, typ, 7, (7, 7, 0), event=opens, **members)
        cases[f"{name}_moves_the_floor"] = case("what gives more makes nothing stale", pack(record), "BROKEN", 40)
        record = Record()
        control(record, typ, 7, (7, 0, 0), event=closes, **members)
        cases[f"{name}_leaves_the_floor"] = case("what takes away makes stale what was judged before", pack(record), "BROKEN", 40)
    return cases


GRANT, OTHER_GRANT = "grt_" + 8 * "0193", "grt_" + 8 * "0194"


def granted(record, event, second, numbers, **changes):
    """What an operator does to a grant of this agent, for the action of its calls."""
    said = grant_of(GRANT) | {"service": "notes", "verb": "update"} | changes
    control(record, "grant/v1", second, numbers, event=event, **said)


def given(record, floor=0, until=2000):
    """A held call, an answer that names a grant, and the grant."""
    held = digest(jcs(record.decide(6, verdict="STEP_UP", reason="no_rule", rules=[], capability=None, hold="hld_" + 8 * "0193")))
    said = {"behalf": "operator", "authorization": None, "by": "login", "hold": "hld_" + 8 * "0193", "action": ACTION, "decision": held, "card": digest(b"the card"),
            "answer": "approve_for", "grants": [GRANT], "until": at(until)}
    answer = digest(jcs(record.add("answer", ledger_statement("answer/v1", 7, **said), 7)))
    granted(record, "given", 7, (7, floor, 0), answer=answer, until=at(until))


def on_grants():
    """What a call that leans on a grant needs, and what can be done to a grant."""
    cases, yes, no = {}, ("UNANCHORED", 10), ("BROKEN", 40)
    another = "agt_" + 8 * "0194"

    def lean(record, second, number, **changes):
        said = {"control": number, "gen": 0, "policy": POLICY, "reason": "grant", "rules": [GRANT]} | changes
        record.add("decision", signed(decision(at=at(second), **said), D), second)

    def made(name, about, answer, *acts, **start):
        record = Record()
        given(record, **start)
        for act in acts:
            act(record)
        cases[name] = case(about, pack(record), *answer)

    take = lambda r: granted(r, "removed", 9, (8, 8, 0))
    kill = lambda r: control(r, "kill/v1", 9, (8, 8, 1), reason=None)
    resume = lambda r: control(r, "resume/v1", 9, (9, 8, 1), reason=None)
    made("grant_comes_and_goes", "giving leaves the floor where it is, taking away moves it; between them a call leans on it", yes,
         lambda r: lean(r, 8, 7), take, lambda r: allow(r, 10, (8, 0)))
    made("grant_moves_the_floor", "what gives more makes nothing stale", no, floor=7)
    made("grant_leaves_the_floor", "what takes away makes stale what was judged before", no, lambda r: granted(r, "removed", 9, (8, 0, 0)))
    made("grant_renewed_and_shortened", "later, and then sooner than before", yes, lambda r: granted(r, "renewed", 8, (8, 0, 0), until=at(2300)),
         lambda r: granted(r, "shortened", 9, (9, 9, 0), until=at(1000)), lambda r: lean(r, 10, 9))
    made("grant_renewed_after_its_removal", "it does not stand", no, take, lambda r: granted(r, "renewed", 10, (9, 8, 0)))
    made("grant_renewed_after_its_end", "it does not stand", no, lambda r: granted(r, "renewed", 9, (8, 0, 0)), until=9)
    made("grant_renewed_that_was_never_given", "no answer gave it", no, lambda r: granted(r, "renewed", 9, (8, 0, 0), grant=OTHER_GRANT))
    made("grant_renewed_for_another_agent", "it was given to one", no, lambda r: granted(r, "renewed", 9, (8, 0, 0), agent=another))
    made("leaning_on_no_grant", "its reason is a grant, and it names none", no, lambda r: lean(r, 8, 7, rules=["notes-update"]))
    made("leaning_on_a_grant_that_was_never_given", "nobody gave it", no, lambda r: lean(r, 8, 7, rules=[OTHER_GRANT]))
    made("leaning_on_a_removed_grant", "it was taken away", no, take, lambda r: lean(r, 10, 8))
    made("leaning_on_an_ended_grant", "the end itself is too late", no, lambda r: lean(r, 9, 7), until=9)
    made("leaning_on_a_shortened_grant", "it ended sooner than it was given for", no, lambda r: granted(r, "shortened", 8, (8, 8, 0), until=at(9)), lambda r: lean(r, 9, 8))
    made("leaning_on_a_later_grant", "it was judged by what stood before", no, lambda r: lean(r, 8, 6))
    made("leaning_on_another_agents_grant", "a grant is one agent's", no, lambda r: lean(r, 8, 7, agent=another))
    made("leaning_on_a_grant_for_another_verb", "a grant is for one action", no, lambda r: lean(r, 8, 7, **{"class": decision()["class"] | {"verb": "delete"}}))
    made("leaning_on_a_grant_before_a_kill", "a kill takes all grants, and a resumption gives none back", no, kill, resume, lambda r: lean(r, 10, 9, gen=1))
    return cases


def leaning():
    """Decisions that go out by a window: break-glass lets through what nothing allows, shadow only says what published rules say."""
    cases = {}
    advisory = {"verdict": "DENY", "effect": "advisory", "reason": "rule"}
    broken_glass = {"reason": "break_glass", "rules": [], "marks": ["break_glass"]}

    def made(typ, said, second=10, closed=None, until=2000):
        record, numbers = Record(), (6, 0)
        if typ is not None:
            control(record, typ, 7, (7, 0, 0), event="opened", until=at(until), reason="The first week.")
            numbers = (7, 0)
        if closed is not None:
            control(record, typ, closed, (8, 8, 0), event="closed", until=at(until), reason="The first week.")
            numbers = (8, 0)
        record.add("decision", signed(decision(at=at(second), control=numbers[0], gen=numbers[1], policy=POLICY, **said), D), second)
        return record

    killed = Record()
    control(killed, "shadow/v1", 7, (7, 0, 0), event="opened", until=at(2000), reason="The first week.")
    control(killed, "kill/v1", 8, (8, 8, 1), reason=None)
    control(killed, "resume/v1", 9, (9, 8, 1), reason=None)
    killed.add("decision", signed(decision(at=at(10), control=9, gen=1, policy=POLICY, **advisory), D), 10)
    yes, no = ("UNANCHORED", 10), ("BROKEN", 40)
    for name, about, record, answer in [
        ("advisory_in_a_shadow_window", "said and not enforced, as was declared", made("shadow/v1", advisory), yes),
        ("advisory_without_a_window", "nobody declared a window", made(None, advisory), no),
        ("advisory_in_another_window", "break-glass makes nothing advisory", made("breakglass/v1", advisory), no),
        ("advisory_after_the_window", "time ends a window", made("shadow/v1", advisory, second=10, until=10), no),
        ("advisory_after_it_was_closed", "and so does an operator", made("shadow/v1", advisory, closed=8), no),
        ("advisory_after_a_kill", "a kill ends windows, and a resumption opens none", killed, no),
        ("advisory_for_an_unknown_tool", "only what published rules say is softened", made("shadow/v1", advisory | {"reason": "unknown_tool", "rules": []}), no),
        ("breakglass_in_its_window", "marked, as was declared", made("breakglass/v1", broken_glass), yes),
        ("breakglass_without_a_window", "nobody declared a window", made(None, broken_glass), no),
        ("breakglass_in_another_window", "shadow lets nothing through", made("shadow/v1", broken_glass), no),
        ("breakglass_after_the_window", "time ends a window", made("breakglass/v1", broken_glass, until=10), no),
        ("breakglass_marked_without_a_window", "the mark alone leans on one", made(None, {"marks": ["break_glass"]}), no),
    ]:
        cases[name] = case(about, pack(record), *answer)
    return cases


def answered():
    """A held call, a person's answer, and the decision that goes by it."""
    cases, hold = {}, "hld_" + 8 * "0193"

    def asked(record):
        return digest(jcs(record.decide(8, verdict="STEP_UP", reason="no_rule", rules=[], capability=None, hold=hold)))

    def say(record, held, second=9, **changes):
        said = {"behalf": "operator", "authorization": None, "by": "login", "hold": hold, "action": ACTION, "decision": held, "card": digest(b"the card"),
                "answer": "approve_once", "grants": [], "until": at(2000)} | changes
        return digest(jcs(record.add("answer", ledger_statement("answer/v1", second, **said), second)))

    def go(record, held, answer, second=10, **changes):
        named = {"hold": hold, "decision": held, "answer": answer}
        said = {"control": 6, "gen": 0, "policy": POLICY, "reason": "approved", "rules": [], "supersedes": held, "answers": named} | changes
        return record.add("decision", signed(decision(at=at(second), **said), D), second)

    def made(*answers, **changes):
        record = Record()
        held = asked(record)
        given = [say(record, held, **answer) for answer in answers]
        go(record, held, given[-1] if given else digest(b"nobody's answer"), **changes)
        return record

    for name, about, record, answer in [
        ("approved", "held, approved, let go", made({}), ("UNANCHORED", 10)),
        ("approved_by_nobody", "it names an answer that does not stand", made(), ("BROKEN", 40)),
        ("approved_without_an_answer", "its reason is an approval, and it names none", made({}, answers=None), ("BROKEN", 40)),
        ("approved_by_a_refusal", "the person said no", made({"answer": "deny", "until": None}), ("BROKEN", 40)),
        ("approved_too_late", "the answer's time had passed", made({"until": at(11)}, second=12), ("BROKEN", 40)),
        ("approved_another_action", "the answer is to another action", made({"action": "act_019355a0c1007000800000000000b002"}), ("BROKEN", 40)),
        ("approved_another_decision", "the answer is to another held decision", made({"decision": digest(b"another")}), ("BROKEN", 40)),
    ]:
        cases[name] = case(about, pack(record), *answer)
    twice = made({})
    (_, step_up, _), (_, said, _) = twice.rows[-3:-1]
    go(twice, digest(jcs(step_up)), digest(jcs(said)), second=11)
    cases["approved_once_used_twice"] = case("one answer, one call", pack(twice), "BROKEN", 40)
    killed = Record()
    held = asked(killed)
    given = say(killed, held)
    control(killed, "kill/v1", 9, (7, 7, 1), reason=None)
    control(killed, "resume/v1", 9, (8, 7, 1), reason=None)
    go(killed, held, given, control=8, gen=1)
    cases["approved_before_a_kill"] = case("a kill takes what was approved, and a resumption does not give it back", pack(killed), "BROKEN", 40)
    one, two = "grt_" + 8 * "0193", "grt_" + 8 * "0194"
    yes, no = ("UNANCHORED", 10), ("BROKEN", 40)

    def grants(about, named, given, answer, *expected, until=2000, first=None):
        record = Record()
        held = asked(record)
        said = say(record, held, answer=answer, grants=named)
        for number, grant in enumerate(given):
            control(record, "grant/v1", 9, (7 + number, 0, 0), event="given", grant=grant, agent=decision()["agent"], service="mail", verb="send",
                    document=digest(b"the grant"), until=at(until), answer=said, reason=None)
        return case(about, pack(record) if first is None else pack(record, first=len(record.rows) + first), *expected)

    cases["granted_for_each_noun"] = grants("a grant for each noun, and the answer names both", [one, two], [one, two], "approve_for", *yes)
    cases["granted_by_an_answer_to_one_noun"] = grants("the answer names one grant, and two are given", [one], [one, two], "approve_for", *no)
    cases["granted_twice"] = grants("one grant is given once", [one], [one, one], "approve_for", *no)
    cases["granted_by_a_refusal"] = grants("the person said no", [one], [one], "deny", *no)
    cases["granted_for_longer"] = grants("the grant outlives what the answer says", [one], [one], "approve_for", *no, until=2001)
    cases["granted_before_the_first_entry"] = grants("a package that starts after the answer", [one], [one], "approve_for", *yes, first=-1)
    unasked = Record()
    control(unasked, "grant/v1", 7, (7, 0, 0), event="given", **grant_of(one))
    cases["granted_by_nobody"] = case("no answer gave it", pack(unasked), *no)
    later_on = made({})
    cases["approved_before_the_first_entry"] = case("a package that starts after the answer", pack(later_on, first=len(later_on.rows) - 1), "UNANCHORED", 10)
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
