"""The folder `policy`: classification, the digest of a bundle, judgements, texts that do not load."""
from example import *

DEFINITION = {"name": "note_write", "description": "Write one note",
              "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}, "tags": {}, "clé": {}}}}
PIN = digest(jcs(DEFINITION))
AGENT = "agt_019355a0c0007000800000000000d001"
DIMENSIONS = ["operation", "data_class", "destination", "magnitude", "reversibility"]

REGISTRY = f"""v = 1
[provider.notes.tool.note_write]
service = "notes"
verb = "update"
nouns = [{{ type = "path", at = "/path" }}]
operation = "write"
redact = ["tags"]
fields = {{ n = {{ at = "/n", type = "long" }} }}
pin = "{PIN}"
[provider.notes.tool.sync]
service = "notes"
verb = "execute"
nouns = [{{ type = "tool" }}]
pin = "{PIN}"
[provider.notes.tool.unpinned]
service = "notes"
verb = "list"
nouns = [{{ type = "tool" }}]
"""

PERMIT = """@id("notes-update")
permit (principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/notes")
when { context.now < datetime("2027-01-01T00:00:00Z") };
"""
HOLD = """@id("ask-first")
@verdict("STEP_UP")
forbid (principal, action, resource in Gw::Path::"/notes/shared");
"""
FORBID = """@id("secrets")
forbid (principal, action, resource in Gw::Path::"/notes/shared/secret");
"""
RULES = PERMIT + HOLD + FORBID

# The same rules as Cedar's JSON policy format writes them.
TREES = [
    {"id": "ask-first", "tree": {"effect": "forbid", "principal": {"op": "All"}, "action": {"op": "All"},
                                 "resource": {"op": "in", "entity": {"type": "Gw::Path", "id": "/notes/shared"}},
                                 "conditions": [], "annotations": {"id": "ask-first", "verdict": "STEP_UP"}}},
    {"id": "notes-update", "tree": {"effect": "permit", "principal": {"op": "All"}, "action": {"op": "==", "entity": {"type": "Gw::Action", "id": "notes.update"}},
                                    "resource": {"op": "in", "entity": {"type": "Gw::Path", "id": "/notes"}},
                                    "conditions": [{"kind": "when", "body": {"<": {"left": {".": {"left": {"Var": "context"}, "attr": "now"}},
                                                                                   "right": {"datetime": [{"Value": "2027-01-01T00:00:00Z"}]}}}}],
                                    "annotations": {"id": "notes-update"}}},
    {"id": "secrets", "tree": {"effect": "forbid", "principal": {"op": "All"}, "action": {"op": "All"},
                               "resource": {"op": "in", "entity": {"type": "Gw::Path", "id": "/notes/shared/secret"}},
                               "conditions": [], "annotations": {"id": "secrets"}}},
]


def schema():
    """What docs/formats/policy.md says that REGISTRY implies."""
    enumerated = {"Env": ["live", "test"], "Origin": ["mcp", "stdio", "sdk", "console", "commission"], "Mode": ["gateway", "hook"],
                  "Operation": ["read", "write", "send", "delete", "execute", "unknown"],
                  "DataClass": ["none", "operational", "financial", "credential", "personal", "unknown"],
                  "Destination": ["none", "internal", "external", "third_party", "unknown"],
                  "Magnitude": ["none", "single", "bulk", "unknown"], "Reversibility": ["reversible", "costly", "terminal", "unknown"]}
    noun = lambda parents: {"memberOfTypes": parents, "shape": {"type": "Record", "attributes": {"value": {"type": "String"}}}}
    members = {"now": {"type": "Extension", "name": "datetime"}, "provider": {"type": "String"}, "tool": {"type": "String"},
               "principal": {"type": "String", "required": False}}
    members |= {name: {"type": "Entity", "name": kind} for name, kind in
                [("env", "Env"), ("origin", "Origin"), ("mode", "Mode"), ("operation", "Operation"), ("data_class", "DataClass"),
                 ("destination", "Destination"), ("magnitude", "Magnitude"), ("reversibility", "Reversibility")]}

    def action(verb, nouns, args):
        context = {"type": "Record", "attributes": members | {"args": {"type": "Record", "attributes": args}}}
        return {"memberOf": [{"id": verb}], "appliesTo": {"principalTypes": ["Agent"], "resourceTypes": nouns, "context": context}}

    return {"Gw": {
        "entityTypes": {"Agent": {}, "Path": noun(["Path"]), "Tool": noun([])} | {k: {"enum": v} for k, v in enumerated.items()},
        "actions": {"update": {}, "execute": {}, "list": {}, "notes.execute": action("execute", ["Tool"], {}), "notes.list": action("list", ["Tool"], {}),
                    "notes.update": action("update", ["Path"], {"n": {"type": "Long", "required": False}})}}}


def bundle_document():
    rules = [{"id": rule["id"], "digest": document(rule["tree"])} for rule in TREES]
    return {"v": 1, "engine": "cedar-policy 4.14.1", "schema": document(schema()), "registry": digest(REGISTRY.encode()), "rules": rules}


def classification(about, arguments, held=None, action="notes.update", nouns=(), shape=None, tool="note_write", provider="notes", listed=DEFINITION):
    without_meta = {k: v for k, v in listed.items() if k != "_meta"}
    return {"kind": "classification", "about": about, "registry": REGISTRY, "provider": provider, "tool": tool, "listed": listed, "arguments": arguments,
            "pin": document(without_meta), "held": held, "action": action, "nouns": [{"type": t, "value": v} for t, v in nouns], "shape": shape or {}}


def classifications():
    note, sized = "/notes/été.txt", lambda t, n: {"type": t, "size": n}
    path = [("path", note)]
    return {
        "classified": classification("as the registry says; the size of a text is its UTF-8 bytes, rounded up", {"path": note, "text": "hello", "n": 3}, nouns=path,
                                     shape={"path": sized("string", 16), "text": sized("string", 8)}),
        "redacted_and_unnamed_arguments": classification("neither what is redacted nor what the schema does not name, nor a name that is no plain word, is in the shape",
                                                         {"path": note, "tags": [], "other": 1, "clé": 1}, nouns=path, shape={"path": sized("string", 16)}),
        "sizes": classification("a boolean and a number have size 1, an empty text too", {"path": note, "text": ""}, nouns=path,
                                shape={"path": sized("string", 16), "text": sized("string", 1)}),
        "size_of_a_boolean": classification("not its length", {"path": note, "text": False}, nouns=path, shape={"path": sized("string", 16), "text": sized("boolean", 1)}),
        "meta_is_not_pinned": classification("hosts and gateways rewrite it", {"path": note}, nouns=path, shape={"path": sized("string", 16)},
                                             listed=DEFINITION | {"_meta": {"a": 1}}),
        "tool_itself": classification("its noun is its name at its provider", {}, action="notes.execute", nouns=[("tool", "notes/sync")], tool="sync"),
        "unknown_tool": classification("the registry does not name it", {"path": note}, "unknown_tool", None, tool="note_copy"),
        "unknown_provider": classification("nor this provider", {"path": note}, "unknown_tool", None, provider="other"),
        "definition_changed": classification("a word of the description is another one; the shape is left out", {"path": note, "text": "hello"}, "definition_changed", nouns=path,
                                             listed=DEFINITION | {"description": "Write one note, and mail it"}),
        "no_pin": classification("an entry without a pin is no permission", {}, "definition_changed", "notes.list", [("tool", "notes/unpinned")], tool="unpinned"),
        "noun_absent": classification("no path", {"text": "hello"}, "noun_missing", shape={"text": sized("string", 8)}),
        "noun_is_a_number": classification("a noun is a string", {"path": 7}, "noun_missing", shape={"path": sized("number", 1)}),
        "path_goes_up": classification("not lexically normalised", {"path": "/notes/../etc"}, "noun_missing", shape={"path": sized("string", 16)}),
        "path_is_relative": classification("not absolute", {"path": "notes/a"}, "noun_missing", shape={"path": sized("string", 8)}),
        "path_ends_in_a_slash": classification("not lexically normalised", {"path": "/notes/"}, "noun_missing", shape={"path": sized("string", 8)}),
        "path_with_nul": classification("control characters are in no path", {"path": "/notes/a\x00b"}, "noun_missing", shape={"path": sized("string", 16)}),
        "path_with_backslash": classification("a separator elsewhere", {"path": "/notes/..\\b"}, "noun_missing", shape={"path": sized("string", 16)}),
    }


def facts(path="/notes/a.txt", **changes):
    context = {"now": "2026-11-30T11:20:00.123Z", "env": "live", "origin": "mcp", "mode": "gateway", "operation": "write"}
    context |= {name: "unknown" for name in DIMENSIONS[1:]} | {"args": {}} | changes.pop("context", {})
    base = {"v": 1, "agent": AGENT, "principal": "u-88", "provider": "notes", "tool": "note_write", "pin": PIN, "unclassified": None, "action": "notes.update",
            "resources": [{"type": "path", "value": path}], "args": document({"path": path}), "context": context, "session": None, "windows": None, "run": None,
            "base_verdict": "STEP_UP"}
    return base | changes


def judgement(about, given, verdict, reason, *named, rules=RULES):
    return {"kind": "judgement", "about": about, "registry": REGISTRY, "rules": rules, "facts": given, "facts_digest": document(given),
            "verdict": verdict, "reason": reason, "named": list(named), "effect": "enforced"}


def judgements():
    late = {"context": {"now": "2027-01-01T00:00:00.000Z"}}
    unread = {"pin": None, "action": None, "resources": [], "context": {"operation": "unknown"}}
    return {
        "allowed": judgement("a permit for the folder", facts(), "ALLOW", "rule", "notes-update"),
        "allowed_to_the_last_millisecond": judgement("the deadline is not reached", facts(context={"now": "2026-12-31T23:59:59.999Z"}), "ALLOW", "rule", "notes-update"),
        "deadline_reached": judgement("the permit has ended", facts(**late), "STEP_UP", "no_rule"),
        "nothing_allows": judgement("another folder", facts("/other/a"), "STEP_UP", "no_rule"),
        "nothing_allows_base_deny": judgement("the project's base verdict", facts("/other/a", base_verdict="DENY"), "DENY", "no_rule"),
        "folder_with_the_same_start": judgement("a folder is not a prefix of letters", facts("/notes-old/a"), "STEP_UP", "no_rule"),
        "no_rules": judgement("the deny floor", facts(), "STEP_UP", "no_rule", rules=""),
        "hold_beats_allow": judgement("a forbid with @verdict(\"STEP_UP\")", facts("/notes/shared/a"), "STEP_UP", "rule", "ask-first"),
        "deny_beats_hold_and_allow": judgement("all three match", facts("/notes/shared/secret/a"), "DENY", "rule", "secrets"),
        "one_noun_of_two_is_not_allowed": judgement("every noun must be", facts(resources=[{"type": "path", "value": "/notes/a"}, {"type": "path", "value": "/b"}]),
                                                    "STEP_UP", "no_rule"),
        "one_noun_of_two_is_denied": judgement("a deny for one is a deny for all", facts(resources=[{"type": "path", "value": "/b"}, {"type": "path", "value": "/notes/shared/secret"}]),
                                               "DENY", "rule", "secrets"),
        "field_of_another_type": judgement("the request does not fit the schema", facts(context={"args": {"n": "3"}}), "DENY", "policy_error"),
        "class_against_the_registry": judgement("facts cannot reclassify", facts(context={"operation": "read"}), "DENY", "policy_error"),
        "other_definition": judgement("classified, but under another pin", facts(pin=digest(b"other")), "DENY", "policy_error"),
        "held_unknown_tool": judgement("held whatever the base verdict", facts(**unread, unclassified="unknown_tool", tool="note_copy", base_verdict="DENY"), "STEP_UP", "unknown_tool"),
        "held_noun_missing": judgement("no rule is asked", facts(resources=[], unclassified="noun_missing"), "STEP_UP", "noun_missing"),
        "held_definition_changed": judgement("no rule is asked", facts(pin=digest(b"other"), unclassified="definition_changed"), "STEP_UP", "definition_changed"),
        "held_without_cause": judgement("the registry knows the tool", facts(unclassified="unknown_tool"), "DENY", "policy_error"),
        "refused_not_bindable": judgement("never allowed", facts(**unread, unclassified="not_bindable", args=None), "DENY", "not_bindable"),
        "refused_malformed": judgement("never allowed", facts(**unread, unclassified="malformed", args=None, tool=None), "DENY", "malformed"),
        "refused_no_such_tool": judgement("never allowed", facts(**unread, unclassified="no_such_tool", tool="gone"), "DENY", "no_such_tool"),
    }


def unloadable():
    def rule(why, text, place="rules: notes-update"):
        return {"kind": "unloadable", "refused_because": why, "registry": REGISTRY, "rules": text, "place": place}

    def registry(why, old, new, place):
        return {"kind": "unloadable", "refused_because": why, "registry": REGISTRY.replace(old, new, 1), "rules": "", "place": place}

    deadline = 'context.now < datetime("2027-01-01T00:00:00Z")'
    return {
        "permit_on_a_verb": rule("an action is a service and a verb", PERMIT.replace("notes.update", "update")),
        "permit_on_every_action": rule("no wildcard", PERMIT.replace('action == Gw::Action::"notes.update"', "action")),
        "permit_without_noun": rule("no allow without a noun", PERMIT.replace('resource in Gw::Path::"/notes"', "resource")),
        "permit_on_a_kind_of_noun": rule("no allow without a noun", PERMIT.replace('resource in Gw::Path::"/notes"', "resource is Gw::Path")),
        "permit_on_the_root": rule("every path is below it", PERMIT.replace('"/notes"', '"/"')),
        "permit_without_deadline": rule("no allow without an end", PERMIT.replace(deadline, 'context.tool == "note_write"')),
        "deadline_or_true": rule("an end that is none", PERMIT.replace(deadline, deadline + " || true")),
        "deadline_in_unless": rule("an end that is none", PERMIT.replace("when {", "unless {")),
        "deadline_in_if": rule("an end that is none", PERMIT.replace(deadline, f"if true then true else {deadline}")),
        "deadline_not_strict": rule("one spelling", PERMIT.replace("now <", "now <=")),
        "two_deadlines": rule("one end", PERMIT.replace(deadline, f"{deadline} && {deadline}")),
        "deadline_without_time": rule("one spelling", PERMIT.replace("2027-01-01T00:00:00Z", "2027-01-01")),
        "leading_wildcard": rule("it could match everything", PERMIT.replace(deadline, deadline + ' && resource.value like "*.txt"')),
        "or_in_a_permit": rule("not on the list of operators", PERMIT.replace(deadline, f'{deadline} && (context.tool == "a" || context.tool == "b")')),
        "path_that_no_call_has": rule("a forbid that protects nothing", FORBID.replace("/secret", "/secret/"), "rules: secrets"),
        "tool_that_no_call_has": rule("a forbid that protects nothing", FORBID.replace('in Gw::Path::"/notes/shared/secret"', '== Gw::Tool::"notes/gone"'), "rules: secrets"),
        "misspelt_word": rule("outside its vocabulary", FORBID.replace(";", ' when { context.env == Gw::Env::"life" };'), "rules: secrets"),
        "misspelt_annotation": rule("not on the list", HOLD.replace("verdict", "verdct"), "rules: ask-first"),
        "verdict_allow": rule("none of the three", HOLD.replace("STEP_UP", "ALLOW"), "rules: ask-first"),
        "verdict_on_a_permit": rule("only on a forbid", PERMIT.replace("permit", '@verdict("STEP_UP") permit')),
        "rule_without_id": rule("nobody could name it", FORBID.replace('@id("secrets")', ""), "rules: rule 1"),
        "rule_id_twice": rule("nobody could name it", FORBID + FORBID, "rules: secrets"),
        "too_deep": rule("the parser recurses", FORBID.replace(";", f" when {{ {'(' * 126}true{')' * 126} }};"), "rules: rule 1"),
        "template": rule("the principal is open", PERMIT.replace("principal,", "principal == ?principal,"), "rules: whole file"),
        "integer_2_53": rule("no canonical bytes", FORBID.replace(";", " when { context.args has n && context.args.n == 9007199254740992 };"), "rules: secrets"),
        "action_that_no_tool_has": rule("unknown to the registry", PERMIT.replace("notes.update", "notes.delete")),
        "registry_unknown_field": registry("a field that nobody reads", "redact", "redcat", "registry: line 7"),
        "registry_verb": registry("outside its vocabulary", '"update"', '"overwrite"', "registry: line 4"),
        "registry_without_noun": registry("no call could be allowed", 'nouns = [{ type = "path", at = "/path" }]', "nouns = []", "registry: provider.notes.tool.note_write.nouns"),
        "registry_pointer": registry("no JSON pointer", '"/path"', '"path"', "registry: provider.notes.tool.note_write.nouns[0]"),
        "registry_version": registry("another version", "v = 1", "v = 2", "registry: v"),
    }


def cases():
    document_ = bundle_document()
    bundle = {"kind": "bundle", "about": "what the member `policy` of a decision is the digest of", "registry": REGISTRY, "rules": RULES, "schema": schema(),
              "rule_trees": TREES, "document": document_, "digest": document(document_)}
    return {"bundle": bundle} | classifications() | judgements() | unloadable()
