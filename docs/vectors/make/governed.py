"""More packages: kills, grants, windows and people's answers, and the calls that go by them.

Written from docs/formats/governance.md.
"""
from packages import *


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


def cases():
    return stopped() | on_grants() | leaning() | answered()
