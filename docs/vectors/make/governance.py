"""More of the folder `policy`: grants, answers, windows and kills in the facts, the order of verdicts, annotations, disguised deadlines."""
from policy import *

OTHER_AGENT = "agt_019355a0c0007000800000000000d002"
MAIL = REGISTRY + f"""[provider.post.tool.mail_send]
service = "mail"
verb = "send"
nouns = [{{ type = "mail_address", each = "/to" }}]
fields = {{ subject = {{ at = "/subject", type = "string" }}, urgent = {{ at = "/urgent", type = "bool" }}, copies = {{ at = "/copies", type = "long" }} }}
pin = "{PIN}"
[provider.post.tool.mail_read]
service = "mail"
verb = "read"
nouns = [{{ type = "path", at = "/folder" }}]
pin = "{PIN}"
"""
NOW, SOON, LATER = "2026-11-30T11:20:00.123Z", "2026-11-30T11:20:00.124Z", "2026-11-30T11:50:00.000Z"
APPROVAL = {"hold": "hld_019355a0c0007000800000000000f001", "decision": digest(b"the held decision"), "answer": digest(b"the answer")}
MODIFY = """@id("few")
@verdict("MODIFY")
@narrow("at most 10 at once")
forbid (principal, action == Gw::Action::"notes.update", resource) when { context.args has n && context.args.n > 10 };
"""
DEFER = """@id("who")
@verdict("DEFER")
@needs("the principal on whose behalf it is")
forbid (principal, action, resource in Gw::Path::"/notes/private") unless { context has principal };
"""
ANYBODY = """@id("never-to-all")
forbid (principal, action == Gw::Action::"mail.send", resource == Gw::MailAddress::"all@example.com");
"""
ASK_EVERY_MAIL = """@id("ask-every-mail")
@verdict("STEP_UP")
@lift("vendor")
forbid (principal, action in Gw::Action::"send", resource);
"""


def grant(n=1, noun=("path", "/other/a"), service="notes", verb="update", fields=None, until=LATER, agent=AGENT, v=1):
    return {"v": v, "nonce": url64(bytes([n]) * 16), "grant": f"grt_019355a0c00070008000000000{n:06x}", "agent": agent, "service": service, "verb": verb,
            "noun": {"type": noun[0], "value": noun[1]}, "fields": fields or {}, "until": until}


def stated(path="/notes/a.txt", grants=(), **changes):
    """Facts of version 2: the digests are those of the agent's own grants."""
    own = sorted({document(g) for g in grants if g["agent"] == AGENT})
    return facts(path, **({"v": 2, "grants": own, "approval": None, "breakglass_until": None, "shadow_until": None, "stopped": False} | changes))


def mail(to=("a@example.com",), grants=(), args=None, **changes):
    nouns = [{"type": "mail_address", "value": address} for address in to]
    return stated(grants=grants, provider="post", tool="mail_send", action="mail.send", resources=nouns, args=document({"to": list(to)}),
                  context={"operation": "unknown", "args": args or {}}, **changes)


def case(about, given, verdict, reason, *named, rules=RULES, grants=(), effect="enforced", registry=MAIL):
    found = judgement(about, given, verdict, reason, *named, rules=rules) | {"registry": registry, "effect": effect}
    return found | ({"grants": list(grants)} if grants else {})


def granted(about, g, verdict="ALLOW", reason="grant", given=None, rules=RULES, named=None, **changes):
    """One grant, and the call of /other/a, which no rule allows."""
    names = named if named is not None else ([g["grant"]] if reason == "grant" else [])
    return case(about, given or stated("/other/a", [g], **changes), verdict, reason, *names, rules=rules, grants=[g])


def grants():
    one, two = grant(1, ("mail_address", "a@example.com"), "mail", "send"), grant(2, ("mail_address", "b@example.com"), "mail", "send")
    both, g = ("a@example.com", "b@example.com"), grant()
    no = ("STEP_UP", "no_rule")
    bound = lambda fields, args, *out: case(f"fields {fields} against {args}", mail(grants=[b := grant(1, ("mail_address", "a@example.com"), "mail", "send", fields)], args=args),
                                            *out, *([b["grant"]] if out[1] == "grant" else []), grants=[b])
    elsewhere = grant(3, agent=OTHER_AGENT)
    shared = grant(1, ("path", "/notes/shared/a"))
    secret = grant(1, ("path", "/notes/shared/secret/a"))
    return {
        "grant_allows": granted("one agent, one action, one noun, until then", g),
        "grant_to_its_last_millisecond": granted("the end is not reached", grant(until=SOON)),
        "grant_ended": granted("the end itself is too late", grant(until=NOW), *no),
        "grant_ended_long_ago": granted("as if it were not there", grant(until="2026-11-01T00:00:00.000Z"), *no),
        "grant_for_another_noun": granted("the noun is exact", grant(noun=("path", "/other/b")), *no),
        "grant_for_the_folder": granted("a folder is not what is in it", grant(noun=("path", "/other")), *no),
        "grant_for_what_is_below": granted("nor the other way round", grant(noun=("path", "/other/a/b")), *no),
        "grant_for_the_root": granted("the root is a noun like others", grant(noun=("path", "/")), *no),
        "grant_for_another_case": granted("letters are letters", grant(noun=("path", "/other/A")), *no),
        "grant_for_another_verb": granted("the verb is exact", grant(verb="delete"), *no),
        "grant_for_another_service": granted("the service is exact", grant(service="mail"), *no),
        "grant_base_deny": granted("what a grant allows needs no base verdict", g, base_verdict="DENY"),
        "grant_ended_base_deny": granted("and what it does not, gets it", grant(until=NOW), "DENY", "no_rule", base_verdict="DENY"),
        "grant_of_another_agent": case("it is no grant of this agent", stated("/other/a", [elsewhere]), *no, grants=[elsewhere]),
        "grant_not_needed": granted("a rule allows it", g, "ALLOW", "rule", stated("/notes/a.txt", [g]), named=["notes-update"]),
        "deny_beats_grant": case("a rule's deny", stated("/notes/shared/secret/a", [secret]), "DENY", "rule", "secrets", grants=[secret]),
        "hold_beats_grant": case("a published hold", stated("/notes/shared/a", [shared]), "STEP_UP", "rule", "ask-first", grants=[shared]),
        "grant_for_each_noun": case("two nouns, two grants", mail(both, [one, two]), "ALLOW", "grant", one["grant"], two["grant"], grants=[one, two]),
        "grant_for_one_noun_of_two": case("the other is allowed by nothing", mail(both, [one]), *no, grants=[one]),
        "grant_beside_a_rule": case("one noun by a rule, one by a grant; both are named",
                                    stated(grants=[g], resources=[{"type": "path", "value": "/notes/a"}, {"type": "path", "value": "/other/a"}]),
                                    "ALLOW", "grant", g["grant"], "notes-update", grants=[g]),
        "two_grants_for_one_noun": case("both are named", stated("/other/a", [g, grant(2, until=SOON)]), "ALLOW", "grant", g["grant"], grant(2)["grant"], grants=[g, grant(2, until=SOON)]),
        "one_grant_of_two_ended": case("the other stands", stated("/other/a", [g, grant(2, until=NOW)]), "ALLOW", "grant", g["grant"], grants=[g, grant(2, until=NOW)]),
        "deny_beats_grants_of_all_nouns": case("one noun is denied", mail(("a@example.com", "all@example.com"), [one, grant(2, ("mail_address", "all@example.com"), "mail", "send")]),
                                               "DENY", "rule", "never-to-all", rules=RULES + ANYBODY, grants=[one, grant(2, ("mail_address", "all@example.com"), "mail", "send")]),
        "hold_on_a_verb_beats_grant": case("whatever the noun", mail(grants=[one]), "STEP_UP", "rule", "ask-every-mail", rules=RULES + ASK_EVERY_MAIL, grants=[one]),
        "grant_on_the_tool_itself": case("where its reach is the tool", stated(grants=[t := grant(1, ("tool", "notes/sync"), verb="execute")], tool="sync", action="notes.execute",
                                         resources=[{"type": "tool", "value": "notes/sync"}], context={"operation": "unknown"}), "ALLOW", "grant", t["grant"], grants=[t]),
        "grant_field_equal": bound({"subject": "hi"}, {"subject": "hi"}, "ALLOW", "grant"),
        "grant_field_different": bound({"subject": "hi"}, {"subject": "Hi"}, *no),
        "grant_field_absent": bound({"subject": "hi"}, {}, *no),
        "grant_field_empty_text": bound({"subject": ""}, {"subject": ""}, "ALLOW", "grant"),
        "grant_field_quotes": bound({"subject": "\" || true || \""}, {"subject": "x"}, *no),
        "grant_field_number": bound({"copies": 3}, {"copies": 3}, "ALLOW", "grant"),
        "grant_field_other_number": bound({"copies": 3}, {"copies": 4}, *no),
        "grant_field_false": bound({"urgent": False}, {"urgent": False}, "ALLOW", "grant"),
        "grant_field_false_is_not_absent": bound({"urgent": False}, {}, *no),
        "grant_field_null_means_absent": bound({"urgent": None}, {}, "ALLOW", "grant"),
        "grant_field_null_and_present": bound({"urgent": None}, {"urgent": False}, *no),
        "grant_fields_all_of_them": bound({"copies": 3, "subject": "hi"}, {"copies": 3, "subject": "no"}, *no),
        "grant_fields_and_more": bound({"copies": 3}, {"copies": 3, "subject": "anything"}, "ALLOW", "grant"),
        "grant_field_undeclared": bound({"body": "hi"}, {}, *no),
        "grant_field_of_another_type": bound({"copies": "3"}, {"copies": 3}, *no),
        "grant_field_fraction": bound({"copies": 1.5}, {}, *no),
        "grant_action_gone": granted("the registry has no such action", grant(service="gone"), *no),
        "grant_noun_type_gone": granted("no tool of the action has such a noun", grant(noun=("mail_address", "a@example.com")), *no),
        "grant_noun_that_no_call_has": granted("no path ends in a slash", grant(noun=("path", "/other/a/")), *no),
        "grant_of_another_version": granted("only 1 is known", grant(v=2), *no),
        "grant_void_beside_a_good_one": case("the other stands", stated("/other/a", [g, grant(2, service="gone")]), "ALLOW", "grant", g["grant"], grants=[g, grant(2, service="gone")]),
        "grants_with_one_id": case("nobody can say which is the grant", stated("/other/a", [g, grant(1, until=SOON)]), *no, grants=[g, grant(1, until=SOON)]),
        "grants_other_than_the_facts_name": case("the evaluation has other documents than the decision had", stated("/other/a", [grant(2)]), "DENY", "policy_error", grants=[g]),
        "grants_that_the_facts_do_not_name": case("nor fewer", stated("/other/a"), "DENY", "policy_error", grants=[g]),
        "grants_that_are_not_there": case("nor more", stated("/other/a", [g]), "DENY", "policy_error"),
        "grant_is_no_word_on_an_unknown_tool": case("held before it is asked", stated(grants=[g], **UNREAD, unclassified="unknown_tool", tool="note_copy"), "STEP_UP", "unknown_tool", grants=[g]),
        "grant_is_no_word_on_a_changed_definition": case("held before it is asked", stated("/other/a", [g], pin=digest(b"other"), unclassified="definition_changed"),
                                                         "STEP_UP", "definition_changed", grants=[g]),
    }


UNREAD = {"pin": None, "action": None, "resources": [], "context": {"operation": "unknown"}}


def answers():
    yes, g = {"approval": APPROVAL}, grant()
    held = {"pin": digest(b"other"), "unclassified": "definition_changed"}
    two = [{"type": "path", "value": "/notes/shared/a"}, {"type": "path", "value": "/other/a"}]
    return {
        "approved_hold": case("a person answered this call; the rule that held it is named", stated("/notes/shared/a", **yes), "ALLOW", "approved", "ask-first"),
        "approved_no_rule": case("what nothing allows", stated("/other/a", **yes), "ALLOW", "approved"),
        "approved_unknown_tool": case("once", stated(**UNREAD, unclassified="unknown_tool", tool="note_copy", **yes), "ALLOW", "approved"),
        "approved_noun_missing": case("once", stated(resources=[], unclassified="noun_missing", **yes), "ALLOW", "approved"),
        "approved_definition_changed": case("once", stated(**held, **yes), "ALLOW", "approved"),
        "approved_and_a_rule_allows": case("it follows an answer all the same", stated("/notes/a.txt", **yes), "ALLOW", "approved", "notes-update"),
        "approved_and_granted": case("it follows an answer all the same", stated("/other/a", [g], **yes), "ALLOW", "approved", g["grant"], grants=[g]),
        "approved_two_nouns": case("held by a rule, and allowed by nothing", stated(resources=two, **yes), "ALLOW", "approved", "ask-first"),
        "approval_lifts_no_deny": case("a deny beats a person", stated("/notes/shared/secret/a", **yes), "DENY", "rule", "secrets"),
        "approval_lifts_no_base_deny": case("nor the project's base verdict", stated("/other/a", base_verdict="DENY", **yes), "DENY", "no_rule"),
        "approval_lifts_no_error": case("nor an error", stated(context={"args": {"n": "3"}}, **yes), "DENY", "policy_error"),
        "approval_lifts_no_malformed": case("nor what could not be read", stated(**UNREAD, unclassified="malformed", args=None, tool=None, **yes), "DENY", "malformed"),
        "approval_lifts_no_missing_tool": case("nor what is not there", stated(**UNREAD, unclassified="no_such_tool", tool="gone", **yes), "DENY", "no_such_tool"),
        "approval_lifts_no_unbindable": case("nor what cannot be bound", stated(**UNREAD, unclassified="not_bindable", args=None, **yes), "DENY", "not_bindable"),
        "approval_lifts_no_kill": case("nor a kill", stated("/other/a", stopped=True, **yes), "DENY", "killed"),
        "approval_lifts_no_modify": case("a narrowing is not a question to a person", stated(context={"args": {"n": 11}}, **yes), "MODIFY", "rule", "few", rules=PERMIT + MODIFY),
        "approval_lifts_no_defer": case("nor is missing context", stated("/notes/private/a", principal=None, **yes), "DEFER", "rule", "who", rules=PERMIT + DEFER),
        "approval_of_a_vendors_rule": case("`@lift` changes nothing for a person", mail(**yes), "ALLOW", "approved", "ask-every-mail", rules=RULES + ASK_EVERY_MAIL),
    }


def windows():
    open_, shut, shadow = {"breakglass_until": SOON}, {"breakglass_until": NOW}, {"shadow_until": LATER}
    pair = lambda a, b: {"resources": [{"type": "path", "value": a}, {"type": "path", "value": b}]}
    return {
        "breakglass_no_rule": case("until then what nothing allows runs", stated("/other/a", **open_), "ALLOW", "break_glass"),
        "breakglass_base_deny": case("whatever the base verdict", stated("/other/a", base_verdict="DENY", **open_), "ALLOW", "break_glass"),
        "breakglass_over": case("the end itself is too late", stated("/other/a", **shut), "STEP_UP", "no_rule"),
        "breakglass_without_rules": case("there are none", stated("/other/a", **open_), "ALLOW", "break_glass", rules=""),
        "breakglass_is_not_needed": case("a rule allows it", stated(**open_), "ALLOW", "rule", "notes-update"),
        "breakglass_lifts_no_deny": case("a published deny", stated("/notes/shared/secret/a", **open_), "DENY", "rule", "secrets"),
        "breakglass_lifts_no_hold": case("a published hold", stated("/notes/shared/a", **open_), "STEP_UP", "rule", "ask-first"),
        "breakglass_lifts_no_hold_beside": case("of another noun", stated(**pair("/other/a", "/notes/shared/a"), **open_), "STEP_UP", "rule", "ask-first"),
        "breakglass_for_one_noun_of_two": case("the rule of the other is named", stated(**pair("/other/a", "/notes/a"), **open_), "ALLOW", "break_glass", "notes-update"),
        "breakglass_lifts_no_unknown_tool": case("nobody knows what it does", stated(**UNREAD, unclassified="unknown_tool", tool="note_copy", **open_), "STEP_UP", "unknown_tool"),
        "breakglass_lifts_no_missing_noun": case("nobody knows about what", stated(resources=[], unclassified="noun_missing", **open_), "STEP_UP", "noun_missing"),
        "breakglass_lifts_no_changed_definition": case("nobody read it", stated(pin=digest(b"other"), unclassified="definition_changed", **open_), "STEP_UP", "definition_changed"),
        "breakglass_lifts_no_kill": case("nor a kill", stated("/other/a", stopped=True, **open_), "DENY", "killed"),
        "breakglass_lifts_no_error": case("nor an error", stated(context={"args": {"n": "3"}}, **open_), "DENY", "policy_error"),
        "breakglass_lifts_no_modify": case("nor a narrowing", stated(context={"args": {"n": 11}}, **open_), "MODIFY", "rule", "few", rules=PERMIT + MODIFY),
        "breakglass_and_approved": case("the answer is the nearer reason", stated("/other/a", approval=APPROVAL, **open_), "ALLOW", "approved"),
        "shadow_deny": case("said, not enforced", stated("/notes/shared/secret/a", **shadow), "DENY", "rule", "secrets", effect="advisory"),
        "shadow_hold": case("said, not enforced", stated("/notes/shared/a", **shadow), "STEP_UP", "rule", "ask-first", effect="advisory"),
        "shadow_no_rule": case("said, not enforced", stated("/other/a", **shadow), "STEP_UP", "no_rule", effect="advisory"),
        "shadow_no_rule_base_deny": case("said, not enforced", stated("/other/a", base_verdict="DENY", **shadow), "DENY", "no_rule", effect="advisory"),
        "shadow_modify": case("said, not enforced", stated(context={"args": {"n": 11}}, **shadow), "MODIFY", "rule", "few", rules=PERMIT + MODIFY, effect="advisory"),
        "shadow_over": case("the end itself is too late", stated("/other/a", shadow_until=NOW), "STEP_UP", "no_rule"),
        "shadow_allow": case("there is nothing to soften", stated(**shadow), "ALLOW", "rule", "notes-update"),
        "shadow_unknown_tool": case("always enforced", stated(**UNREAD, unclassified="unknown_tool", tool="note_copy", **shadow), "STEP_UP", "unknown_tool"),
        "shadow_changed_definition": case("always enforced", stated(pin=digest(b"other"), unclassified="definition_changed", **shadow), "STEP_UP", "definition_changed"),
        "shadow_policy_error": case("always enforced", stated(context={"args": {"n": "3"}}, **shadow), "DENY", "policy_error"),
        "shadow_killed": case("always enforced", stated(stopped=True, **shadow), "DENY", "killed"),
        "shadow_malformed": case("always enforced", stated(**UNREAD, unclassified="malformed", args=None, tool=None, **shadow), "DENY", "malformed"),
        "shadow_and_breakglass": case("what runs needs no softening", stated("/other/a", **open_, **shadow), "ALLOW", "break_glass"),
        "stopped": case("a kill covers the call", stated(stopped=True), "DENY", "killed"),
        "stopped_without_a_tool": case("before anything else", stated(**UNREAD, unclassified="no_such_tool", tool="gone", stopped=True), "DENY", "killed"),
    }


def order():
    low = {"context": {"args": {"n": 11}}}
    pair = lambda *paths: [{"type": "path", "value": path} for path in paths]
    all_ = PERMIT + HOLD + FORBID + MODIFY + DEFER
    return {
        "modify": case("narrower it may be asked again", stated(**low), "MODIFY", "rule", "few", rules=all_),
        "modify_within": case("the bound itself is within", stated(context={"args": {"n": 10}}), "ALLOW", "rule", "notes-update", rules=all_),
        "defer": case("something must be known first", stated("/notes/private/a", principal=None), "DEFER", "rule", "who", rules=all_),
        "defer_known": case("it is known", stated("/notes/private/a"), "ALLOW", "rule", "notes-update", rules=all_),
        "modify_beats_defer": case("one noun narrower, the other later", stated("/notes/private/a", principal=None, **low), "MODIFY", "rule", "few", rules=all_),
        "hold_beats_modify": case("a person is asked first", stated("/notes/shared/a", **low), "STEP_UP", "rule", "ask-first", rules=all_),
        "deny_beats_modify": case("no narrowing helps", stated("/notes/shared/secret/a", **low), "DENY", "rule", "secrets", rules=all_),
        "deny_beats_defer": case("across nouns", stated(resources=pair("/notes/private/a", "/notes/shared/secret"), principal=None), "DENY", "rule", "secrets", rules=all_),
        "hold_beats_defer": case("across nouns", stated(resources=pair("/notes/private/a", "/notes/shared/a"), principal=None), "STEP_UP", "rule", "ask-first", rules=all_),
        "no_rule_beats_defer": case("the strongest of the nouns", stated(resources=pair("/notes/private/a", "/other/a"), principal=None), "STEP_UP", "no_rule", rules=all_),
        "base_deny_beats_hold": case("the strongest of the nouns", stated(resources=pair("/notes/shared/a", "/other/a"), base_verdict="DENY"), "DENY", "no_rule", rules=all_),
        "hold_names_itself_beside_no_rule": case("both STEP_UP: the rule is named", stated(resources=pair("/notes/shared/a", "/other/a")), "STEP_UP", "rule", "ask-first", rules=all_),
        "defer_beats_allow": case("of another noun", stated(resources=pair("/notes/private/a", "/notes/a"), principal=None), "DEFER", "rule", "who", rules=all_),
    }


def conditions():
    """One rule each, about /notes/a.txt with n = 3 at noon of a Monday."""
    end = 'context.now < datetime("2027-01-01T00:00:00Z")'
    permit = lambda condition, scope='principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/notes"': f'@id("r") permit ({scope}) when {{ {end} && {condition} }};\n'
    forbid = lambda condition, scope="principal, action, resource": f'@id("f") forbid ({scope}) when {{ {condition} }};\n'
    given = lambda **changes: stated(**({"context": {"args": {"n": 3}}} | changes))
    yes, no = ("ALLOW", "rule", "r"), ("STEP_UP", "no_rule")
    allowed = {
        "bound_met": ("context.args has n && context.args.n <= 3", yes), "bound_not_met": ("context.args has n && context.args.n < 3", no),
        "field_not_given": ('context has principal && context.args has n && context.args.n == 4', no), "environment": ('context.env == Gw::Env::"live"', yes),
        "other_environment": ('context.env == Gw::Env::"test"', no), "dimension": ('context.operation == Gw::Operation::"write"', yes),
        "undeclared_dimension": ('context.reversibility == Gw::Reversibility::"reversible"', no), "origin_in_a_set": ('[Gw::Origin::"mcp", Gw::Origin::"sdk"].contains(context.origin)', yes),
        "pattern": ('resource.value like "/notes/*.txt"', yes), "pattern_not_met": ('resource.value like "/notes/*.md"', no),
        "principal_named": ('context has principal && context.principal == "u-88"', yes), "other_principal": ('context has principal && context.principal == "u-8"', no),
        "not_before": ('context.now >= datetime("2026-11-30T11:20:00.123Z")', yes), "not_yet": ('context.now > datetime("2026-11-30T11:20:00.123Z")', no),
        "tool_named": ('context.tool == "note_write"', yes), "never_true": ("false", None),
    }
    found = {f"only_if_{name}": case("a condition of a permit", given(), *out, rules=permit(condition)) for name, (condition, out) in allowed.items() if out}
    me, you = (f'principal == Gw::Agent::"{agent}", action == Gw::Action::"notes.update", resource in Gw::Path::"/notes"' for agent in (AGENT, OTHER_AGENT))
    one = 'principal, action == Gw::Action::"notes.update", resource == Gw::Path::"/notes/a.txt"'
    denied = {
        "or": ('context.tool == "x" || context.args has n && context.args.n > 2', True), "not": ('!(context has principal)', False),
        "if": ('if context has principal then context.principal == "u-88" else true', True), "arithmetic": ("context.args has n && context.args.n * 2 == 6", True),
        "another_path": ('resource in Gw::Path::"/elsewhere"', False), "root": ('resource in Gw::Path::"/"', True),
    }
    found |= {f"forbid_if_{name}": case("a forbid may be as broad as it likes", given(), *(("DENY", "rule", "f") if hit else yes), rules=permit("true") + forbid(condition))
              for name, (condition, hit) in denied.items()}
    return found | {
        "agent_named": case("this agent", given(), *yes, rules=permit("true", me)), "other_agent_named": case("another", given(), *no, rules=permit("true", you)),
        "noun_named": case("this file", given(), *yes, rules=permit("true", one)), "other_noun_named": case("another", stated("/notes/b.txt"), *no, rules=permit("true", one)),
        "forbid_on_a_verb": case("every update", given(), "DENY", "rule", "f", rules=permit("true") + forbid("true", 'principal, action in Gw::Action::"update", resource')),
        "forbid_on_another_verb": case("every send", given(), *yes, rules=permit("true") + forbid("true", 'principal, action in Gw::Action::"send", resource')),
        "forbid_for_an_agent": case("this agent", given(), "DENY", "rule", "f", rules=permit("true") + forbid("true", f'principal == Gw::Agent::"{AGENT}", action, resource')),
        "forbid_that_fails": case("Cedar would skip it", stated(context={"args": {"n": 9007199254740991}}), "DENY", "policy_error",
                                  rules=permit("true") + forbid("context.args has n && context.args.n * 9007199254740991 == 0")),
        "two_permits": case("both are named", given(), "ALLOW", "rule", "r", "s", rules=permit("true") + permit("true").replace('"r"', '"s"')),
    }


MAY_MAIL = """@id("mail")
permit (principal, action == Gw::Action::"mail.send", resource == Gw::MailAddress::"a@example.com")
when { context.now < datetime("2027-01-01T00:00:00Z") };
"""


def sessions():
    """What the key did before, in facts of version 3."""
    def did(**counts):
        return {"session": "ses_019355a0c0007000800000000000b001", "since": "2026-11-30T11:02:00.000Z", "upto": 41, "operations": {}, "data_classes": {},
                "destinations": {}, "cleared": 0, "refused": 0} | counts

    fresh = did(since=None, upto=None)
    forbid = lambda condition, annotation="": MAY_MAIL + f'@id("after") {annotation}\nforbid (principal, action == Gw::Action::"mail.send", resource) when {{ {condition} }};\n'
    permit = lambda condition: MAY_MAIL.replace("Z\") }", f"Z\") && {condition} }}")
    personal = forbid("context.session.data_classes.personal > 0")
    after = lambda about, session, rules, *out: case(about, mail(v=3, session=session), *out, rules=rules)
    yes, no = ("ALLOW", "rule", "mail"), ("DENY", "rule", "after")
    misspelt = {"kind": "unloadable", "registry": MAIL, "place": "rules: after"}
    return {
        "session_before": after("nothing personal was read", did(data_classes={"operational": 9}, cleared=9), personal, *yes),
        "session_after": after("something personal was read", did(data_classes={"operational": 9, "personal": 1}, cleared=10), personal, *no),
        "session_fresh": after("nothing was done yet: every count is 0", fresh, personal, *yes),
        "session_operations": after("by operation", did(operations={"delete": 2}, cleared=2), forbid("context.session.operations.delete >= 2"), *no),
        "session_destinations": after("by destination", did(destinations={"third_party": 1}, cleared=1), forbid("context.session.destinations.third_party == 1"), *no),
        "session_cleared": after("calls that went out", did(cleared=100), forbid("context.session.cleared >= 100"), *no),
        "session_refused": after("calls that did not", did(refused=5), forbid("context.session.refused > 4", '@verdict("STEP_UP")'), "STEP_UP", "rule", "after"),
        "session_sum": after("a forbid may add", did(operations={"write": 2, "delete": 1}), forbid("context.session.operations.write + context.session.operations.delete > 2"), *no),
        "session_bounds_a_permit": after("fewer than three so far", did(operations={"send": 2}), permit("context.session.operations.send < 3"), *yes),
        "session_at_the_bound": after("the fourth has no permit", did(operations={"send": 3}), permit("context.session.operations.send < 3"), "STEP_UP", "no_rule"),
        "session_that_facts_do_not_say": case("rules that ask, and facts of version 2: an error, not a session that did nothing", mail(), "DENY", "policy_error", rules=personal),
        "session_that_no_rule_asks_for": after("it changes nothing", did(data_classes={"personal": 1}), MAY_MAIL, *yes),
        "session_of_a_held_call": case("an approval lifts no deny", mail(v=3, session=did(data_classes={"personal": 1}), approval=APPROVAL), *no, rules=personal),
        "session_misspelt": misspelt | {"refused_because": "a word that no vocabulary has", "rules": forbid("context.session.operations.sent > 0")},
        "session_by_magnitude": misspelt | {"refused_because": "magnitudes are not counted", "rules": forbid("context.session.magnitudes.bulk > 0")},
        "session_as_a_number": misspelt | {"refused_because": "a session is a record", "rules": forbid("context.session > 0")},
    }


def disguised():
    """Permits that would have no end, and annotations that say nothing."""
    deadline = 'context.now < datetime("2027-01-01T00:00:00Z")'
    end = lambda condition: PERMIT.replace(deadline, condition)
    conditions = {
        "true_or": f"true || {deadline}", "or_nested": f"({deadline} || 1 == 1) && true", "or_deep": f"{deadline} && (true && (false || true))",
        "not_not": f"!(!({deadline}))", "not_after": '!(context.now >= datetime("2027-01-01T00:00:00Z"))', "if_around": f"if {deadline} then true else true",
        "if_beside": f"{deadline} && (if true then true else false)", "turned_round": 'datetime("2027-01-01T00:00:00Z") > context.now',
        "from_the_call": 'context.args has n && context.now < datetime("2027-01-01T00:00:00Z").offset(duration("9999d"))',
        "from_context": "context.now < context.now", "offset": 'context.now < datetime("2027-01-01T00:00:00Z").offset(duration("1d"))',
        "arithmetic": f'{deadline} && context.args has n && context.args.n + 1 > 0', "in_a_set": f"[{deadline}].contains(true)",
        "equals_true": f"({deadline}) == true", "of_a_day": 'context.now.toDate() < datetime("2027-01-01T00:00:00Z")',
        "of_a_time": 'context.now.toTime() < duration("24h")', "since": 'context.now.durationSince(datetime("2027-01-01T00:00:00Z")) < duration("0ms")',
        "in_a_record": f'{{"a": {deadline}}}.a', "year_10000": 'context.now < datetime("10000-01-01T00:00:00Z")', "with_an_offset": 'context.now < datetime("2027-01-01T00:00:00+0100")',
        "false": "false", "nothing": "true",
    }
    found = {f"end_{name}": (f"an end that is none: {name.replace('_', ' ')}", end(condition), "notes-update") for name, condition in conditions.items()}
    found |= {
        "end_and_unless": ("a permit has no `unless`", PERMIT.replace("};", '} unless { context.tool == "x" };', 1), "notes-update"),
        "end_in_a_second_unless": ("a permit has no `unless`", PERMIT.replace("};", "} unless { false };", 1), "notes-update"),
        "modify_without_narrowing": ("it must say how", MODIFY.replace('@narrow("at most 10 at once")\n', ""), "few"),
        "modify_with_an_empty_narrowing": ("it must say how", MODIFY.replace("at most 10 at once", " "), "few"),
        "defer_without_need": ("it must say what for", DEFER.replace('@needs("the principal on whose behalf it is")\n', ""), "who"),
        "narrow_on_a_hold": ("it narrows nothing", HOLD.replace("@verdict", '@narrow("x") @verdict'), "ask-first"),
        "needs_on_a_deny": ("it needs nothing", FORBID.replace("forbid", '@needs("x") forbid'), "secrets"),
        "narrow_on_a_permit": ("only on a forbid", PERMIT.replace("permit", '@narrow("x") permit'), "notes-update"),
        "lift_on_a_deny": ("nobody lifts a deny", FORBID.replace("forbid", '@lift("vendor") forbid'), "secrets"),
        "lift_by_somebody_else": ("only the vendor", ASK_EVERY_MAIL.replace('"vendor"', '"agent"').replace('Gw::Action::"send"', 'Gw::Action::"update"'), "ask-every-mail"),
        "lift_on_a_permit": ("only on a hold", PERMIT.replace("permit", '@lift("vendor") permit'), "notes-update"),
        "verdict_in_small_letters": ("one spelling", HOLD.replace("STEP_UP", "step_up"), "ask-first"),
        "rule_named_like_a_grant": ("decisions name both", FORBID.replace("secrets", "grt_019355a0c00070008000000000000001"), "grt_019355a0c00070008000000000000001"),
    }
    return {name: {"kind": "unloadable", "refused_because": why, "registry": REGISTRY, "rules": text, "place": f"rules: {place}"} for name, (why, text, place) in found.items()}


def all_cases():
    parts = [cases(), grants(), answers(), windows(), order(), conditions(), sessions(), disguised()]
    merged = {}
    for part in parts:
        assert not merged.keys() & part.keys(), merged.keys() & part.keys()
        merged |= part
    return merged
