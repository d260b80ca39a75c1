"""Executions as they arrive, in both forms: what reads, what it names, and under whose key it holds."""
from example import *

KEY = KEYS["execution"]
DECIDED = digest(jcs(DECISION))
VENDOR = {"action_id": ACTION, "decision_id": "dec_" + DECIDED.removeprefix("sha256:"), "outcome": "EXECUTED", "result_hash": None,
          "error_code": None, "executed_at": "2026-11-30T11:20:00.138Z"}


def native(**changes):
    return canonical(signed(execution(DECIDED) | changes, KEY))


def vendor(key=KEY, body=VENDOR, **changes):
    body = body | changes
    return json.dumps(body | {"signature": {"kid": "k1", "alg": "Ed25519", "value": url64(key.sign(jcs(body)))}}, ensure_ascii=False)


def reads(about, form, text, fingerprint, holds=True, action=ACTION, decision=DECIDED):
    return {"about": about, "form": form, "text": text, "key": KEY.x, "holds": holds, "action": action, "decision": decision,
            "fingerprint": digest(jcs(fingerprint))}


def refused(why, form, text):
    return {"refused_because": why, "form": form, "text": text}


def cases():
    said = execution(DECIDED)
    print_of = [ACTION, DECIDED, "EXECUTED", said["result"]]
    six = [VENDOR["action_id"], VENDOR["decision_id"], "EXECUTED", None]
    without = {name: value for name, value in said.items() if name != "seen"}
    lacking = {name: value for name, value in VENDOR.items() if name != "error_code"}
    hashed = "sha256:" + "ab" * 32
    nat, six_form = "execution-native", "vendor-wire"
    return {
        "native": reads("every member, null where the format allows it", nat, native(), print_of),
        "native_other_times": reads("times and nonce are not in the fingerprint", nat,
                                    native(executed_at="2026-11-30T11:20:09.000Z", started_at=None, nonce=url64(b"\x04" * 16)), print_of),
        "native_failed": reads("another outcome, another fingerprint", nat, native(outcome="FAILED", result=None, error_code="no_such.note-1"),
                               [ACTION, DECIDED, "FAILED", None]),
        "native_seen": reads("the largest checkpoint that the provider holds", nat, native(seen={"size": 3, "root": std64(root(LEAVES))}), print_of),
        "native_tampered": reads("one member changed after signing", nat, native().replace("EXECUTED", "SKIPPED"), [ACTION, DECIDED, "SKIPPED", said["result"]], False),
        "six_fields": reads("the published SDK's form", six_form, vendor(), six),
        "six_fields_with_hash": reads("a bare hash of the result", six_form, vendor(result_hash=hashed), six[:3] + [hashed]),
        "six_fields_in_another_order": reads("the signature is over the canonical form", six_form, vendor(body=dict(reversed(VENDOR.items()))), six),
        "six_fields_by_a_stranger": reads("another key", six_form, vendor(key=STRANGER), six, False),
        "six_fields_of_elsewhere": reads("an id that is none of ours names nothing", six_form, vendor(action_id="4711"), ["4711"] + six[1:], action=None),
        "six_fields_no_digest": reads("an id that is none of ours names nothing", six_form, vendor(decision_id="dec_x"), [ACTION, "dec_x", "EXECUTED", None],
                                      decision=None),
        "native_member_missing": refused("`seen` is not there", nat, canonical(signed(without, KEY))),
        "native_member_added": refused("unknown member", nat, native(extra=1)),
        "native_fraction": refused("no fractions in what is signed natively", nat, native().replace('"seen":null', '"seen":0.5')),
        "native_of_another_type": refused("not execution/v1", nat, canonical(DECISION)),
        "native_speaks_for_another": refused("iss and provider are one", nat, native(provider="mail")),
        "native_outcome_unknown": refused("a closed vocabulary", nat, native(outcome="DONE")),
        "native_error_in_words": refused("a code, never a sentence", nat, native(error_code="no such note")),
        "native_error_code_of_65": refused("at most 64 characters", nat, native(error_code="x" * 65)),
        "native_bare_hash": refused("a commitment, not a hash", nat, native(result=hashed)),
        "native_not_executed_at_all": refused("executed_at is a time", nat, native(executed_at=None)),
        "six_fields_one_missing": refused("six fields", six_form, vendor(body=lacking)),
        "six_fields_one_more": refused("six fields", six_form, vendor(note="x")),
        "six_fields_unsigned": refused("no signature", six_form, json.dumps(VENDOR)),
        "six_fields_twice": refused("two readings", six_form, vendor().replace('{"action_id"', '{"outcome": "FAILED", "action_id"', 1)),
        "six_fields_hash_malformed": refused("a digest", six_form, vendor(result_hash="sha256:xyz")),
        "six_fields_too_long": refused("texts of at most 128 bytes", six_form, vendor(executed_at="0" * 129)),
        "six_fields_other_algorithm": refused("Ed25519 alone", six_form, vendor().replace('"Ed25519"', '"EdDSA"')),
    }
