"""Receipts: good ones, and ones that are right in every respect but the one their name says."""
import copy
from example import *

D, L, LOG = KEYS["decision"], KEYS["ledger"], KEYS["log"]


def good():
    """name -> (what it shows, receipt)"""
    denied = decision(verdict="DENY", reason="no_rule", rules=[], capability=None)
    unreadable = decision(verdict="DENY", reason="not_bindable", rules=[], args=None, capability=None, shape={})
    unknown = unreadable | {"reason": "no_such_tool", "tool": None, "class": None, "pin": None}
    witnessed = copy.deepcopy(RECEIPTS[1])
    witnessed["proof"] += f"— witness.example/w1 {std64(b'wit1' + bytes(72))}\n"
    extended = checkpoint_text(3, root(LEAVES)) + "an extension line\n"
    with_extension = receipt(DECISION, ENTRIES[0], proof(0, path(0, LEAVES), note(extended, signature_line(LOG, extended))))
    return {
        "decision": ("an ALLOW, first of three entries", RECEIPTS[0]),
        "observation": ("what the gateway saw, second of three", RECEIPTS[1]),
        "execution": ("a provider's statement, wrapped in received/v1, third of three", RECEIPTS[2]),
        "only_entry": ("a log of one entry has an empty path", alone(DECISION)),
        "denied": ("a verified DENY is still a DENY", alone(signed(denied, D))),
        "arguments_not_bindable": ("arguments without canonical form: no commitment", alone(signed(unreadable, D))),
        "no_such_tool": ("a caller's word never becomes a public label", alone(signed(unknown, D))),
        "witness_line_of_unknown_key": ("signature lines of keys that nobody asked for are ignored", witnessed),
        "checkpoint_extension_line": ("extension lines are signed with the rest", with_extension),
    }


def payload_cases():
    """Each is signed by the decision key and in a tree of its own, so that only the payload is wrong."""
    without = decision()
    del without["gen"]
    shape = decision()["class"]
    half_class = {name: value for name, value in shape.items() if name != "reversibility"}
    odd_source = shape | {"source": shape["source"] | {"operation": "guessed"}}
    changed = {
        "unknown_member": ("unknown member in a /v1 payload", {"extra": 1}),
        "time_without_milliseconds": ("time format", {"at": "2026-11-30T11:20:00Z"}),
        "time_with_offset": ("time format", {"at": "2026-11-30T12:20:00.123+01:00"}),
        "time_impossible": ("30 February", {"at": "2026-02-30T11:20:00.123Z"}),
        "verdict_unknown": ("not one of the five", {"verdict": "allow"}),
        "verdict_null": ("a decision has a verdict", {"verdict": None}),
        "effect_unknown": ("neither enforced nor advisory", {"effect": "off"}),
        "origin_unknown": ("no listener stamps this", {"origin": "web"}),
        "id_in_upper_case": ("one spelling of an id", {"action": "act_019355A0C1007000800000000000B001"}),
        "id_of_another_kind": ("an agent is not an action", {"action": "agt_019355a0c0007000800000000000d001"}),
        "digest_without_prefix": ("digest format", {"policy": "64f46a7526a186d2346552453ae478ca51244674f5b21ba150bd483b39f7c812"}),
        "commitment_with_padding": ("43 base64url characters", {"facts": decision()["facts"] + "="}),
        "nonce_of_fifteen_bytes": ("22 base64url characters", {"nonce": url64(b"\x01" * 15)}),
        "control_as_text": ("a number is not a text", {"control": "17"}),
        "control_as_boolean": ("a boolean is not a number", {"control": True}),
        "reason_unknown": ("a closed vocabulary", {"reason": "because"}),
        "verb_unknown": ("a closed vocabulary", {"class": shape | {"verb": "notify"}}),
        "provider_in_upper_case": ("a provider id", {"provider": "Notes"}),
        "issuer_with_a_port": ("one spelling of an issuer", {"iss": "https://gw.example:443/p/7-k3m9q2v8"}),
        "control_negative": ("versions count up from 0", {"control": -1}),
        "rules_not_a_list": ("a list of rule ids", {"rules": "notes-update"}),
        "class_member_missing": ("a member of class is absent", {"class": half_class}),
        "class_source_unknown": ("where a dimension comes from", {"class": odd_source}),
        "control_character": ("strict profile: no U+0000-001F", {"tool": "note\u0007write"}),
        "line_separator": ("strict profile: no U+2028", {"tool": "note\u2028write"}),
        "member_name_not_ascii": ("strict profile: ASCII names", {"shape": {"é": {"type": "string", "size": 8}}}),
    }
    cases = {name: (why, alone(signed(decision(**change), D))) for name, (why, change) in changed.items()}
    cases["missing_member"] = ("a member of decision/v1 is absent", alone(signed(without, D)))
    cases["typ_of_a_later_version"] = ("no format of that name", alone(signed(decision(typ="decision/v2"), D)))
    cases["decision_ahead_of_its_entry"] = ("more than 2 s ahead", alone(signed(decision(at="2026-11-30T11:20:02.126Z"), D)))
    cases["decision_older_than_its_life"] = ("more than 15 s behind", alone(signed(decision(at="2026-11-30T11:19:45.124Z"), D)))
    cases["typ_in_a_list"] = ("typ is a text", alone(signed(decision(typ=["decision/v1"]), D), kind="decision"))
    cases["payload_not_an_object"] = ("a statement is an object", alone(signed([decision()], D)))
    cases["project_of_another"] = ("payload and entry name different projects",
                                   alone(signed(decision(project="prj_019355a0c0007000800000000000a002"), D)))
    verdict = copy.deepcopy(RECEIPTS[0])
    verdict["statement"]["payload"]["verdict"] = "DENY"
    cases["verdict_changed"] = ("signature", verdict)
    issuer = copy.deepcopy(RECEIPTS[0])
    issuer["statement"]["payload"]["iss"] = "https://gw.example/p/8-k3m9q2v8"
    cases["issuer_changed"] = ("signature", issuer)
    fraction = copy.deepcopy(RECEIPTS[0])
    fraction["statement"]["payload"]["control"] = 17.5
    cases["float_in_payload"] = ("strict profile", fraction)
    return cases


def signature_cases():
    def with_signature(**changes):
        statement = copy.deepcopy(DECISION)
        statement["signature"] |= changes
        return alone(statement)

    raw = D.sign(jcs(DECISION["payload"]))
    flipped = bytes([raw[0] ^ 1]) + raw[1:]
    another = DECISION["signature"]["sig"][:-1] + {"A": "B", "Q": "R", "g": "h", "w": "x"}[DECISION["signature"]["sig"][-1]]
    by_ledger = signed(observation(digest(jcs(DECISION))), L)
    received_by_decision_key = signed(received(INNER), D)
    return {
        "signed_by_execution_key": ("a key that is not of purpose decision", alone(signed(decision(), KEYS["execution"]))),
        "observation_by_ledger_key": ("a key that is not of purpose decision", alone(by_ledger)),
        "received_by_decision_key": ("a key that is not of purpose ledger", alone(received_by_decision_key, kind="execution")),
        "ledger_kind_by_decision_key": ("a key that is not of purpose ledger", alone(signed(decision(typ="kill/v1"), D))),
        "signature_bit_flipped": ("signature", with_signature(sig=url64(flipped))),
        "signature_empty": ("64 bytes", with_signature(sig="")),
        "signature_short": ("64 bytes", with_signature(sig=url64(raw[:63]))),
        "signature_with_padding": ("one spelling of the bytes", with_signature(sig=url64(raw) + "==")),
        "signature_with_loose_bits": ("one spelling of the bytes", with_signature(sig=another)),
        "signature_malleated": ("S is not below the group order", with_signature(sig=url64(malleated(raw)))),
        "signature_nonce_of_small_order": ("R is of small order: strict verification",
                                           with_signature(sig=url64(identity_nonce_signature(D, jcs(DECISION["payload"]))))),
        "signature_alg_none": ("alg is Ed25519", with_signature(alg="none")),
        "signature_alg_eddsa": ("alg is Ed25519", with_signature(alg="EdDSA")),
        "signature_member_added": ("unknown member", with_signature(jwk=D.jwk())),
        "signature_missing": ("an envelope has a signature", alone({"payload": decision()})),
        "kid_of_another_key": ("signature", with_signature(kid=L.kid)),
    }


def entry_cases():
    def moved(**changes):
        return RECEIPTS[0] | {"entry": ENTRIES[0] | changes}

    other = signed(decision(nonce=url64(b"\x09" * 16)), D)
    lacking = {name: value for name, value in ENTRIES[0].items() if name != "prev"}
    catalog = signed(received(INNER, form="catalog"), L)
    return {
        "entry_of_another_statement": ("entry.body", moved(body=digest(jcs(other)))),
        "seq_moved": ("index is not seq, and inclusion", moved(seq=1)),
        "kind_renamed": ("entry.kind is not the statement's typ", moved(kind="observation")),
        "kind_of_another_form": ("a catalog is not an execution", alone(catalog, kind="execution")),
        "entry_of_version_2": ("entry format", alone(DECISION, v=2)),
        "entry_member_added": ("unknown member", alone(DECISION, note="x")),
        "entry_member_missing": ("a member of the entry is absent", proved(DECISION, lacking)),
        "entry_at_changed": ("inclusion", moved(at="2026-11-30T11:20:00.126Z")),
        "entry_prev_changed": ("inclusion", RECEIPTS[1] | {"entry": ENTRIES[1] | {"prev": digest(b"another")}}),
        "entry_of_another_day": ("epoch is the UTC day of at", alone(DECISION, epoch="2026-12-01")),
        "entry_of_another_project": ("entry.project", alone(DECISION, project="prj_019355a0c0007000800000000000a002")),
        "first_entry_without_genesis": ("prev of seq 0", alone(DECISION, prev=digest(b"another"))),
        "seq_negative": ("places count up from 0", alone(DECISION, seq=-1)),
        "seq_as_text": ("a text is not a number", alone(DECISION, seq="0")),
    }


def proof_cases():
    hashes, head = path(0, LEAVES), checkpoint(3, root(LEAVES))
    right = RECEIPTS[0]["proof"]

    def with_proof(text, of=0):
        return RECEIPTS[of] | {"proof": text}

    flipped = bytes([hashes[0][0] ^ 1]) + hashes[0][1:]
    return {
        "path_truncated": ("inclusion", with_proof(proof(0, hashes[:1], head))),
        "path_extended": ("inclusion", with_proof(proof(0, hashes + [hashes[1]], head))),
        "path_swapped": ("inclusion", with_proof(proof(0, hashes[::-1], head))),
        "path_bit_flipped": ("inclusion", with_proof(proof(0, [flipped, hashes[1]], head))),
        "path_of_another_entry": ("inclusion", with_proof(RECEIPTS[1]["proof"].replace("index 1", "index 0"))),
        "path_hash_short": ("32 bytes", with_proof(right.replace(std64(hashes[0]), std64(hashes[0][:31])))),
        "index_changed": ("index is not seq", with_proof(right.replace("index 0", "index 1"))),
        "index_with_leading_zero": ("one spelling of a number", with_proof(right.replace("index 0", "index 00"))),
        "index_beyond_the_tree": ("index is not below size", with_proof(proof(0, [], checkpoint(0, sha(b""))))),
        "index_missing": ("proof format", with_proof(right.replace("index 0\n", ""))),
        "proof_of_version_2": ("proof format", with_proof(right.replace("@v1", "@v2"))),
        "proof_without_checkpoint": ("proof format", with_proof(right[:right.index("\n\n") + 1])),
        "proof_without_last_newline": ("note format", with_proof(right[:-1])),
        "proof_with_carriage_returns": ("note format", with_proof(right.replace("\n", "\r\n"))),
        "proof_not_a_text": ("proof is a text", with_proof(None)),
    }


def checkpoint_cases():
    hashes, body = path(0, LEAVES), checkpoint_text(3, root(LEAVES))

    def under(note_text):
        return RECEIPTS[0] | {"proof": proof(0, hashes, note_text)}

    line = signature_line(LOG, body)
    raw = LOG.sign(body.encode())
    bad = signature_line(LOG, body, raw=bytes([raw[0] ^ 1]) + raw[1:])
    bigger = checkpoint_text(4, root(LEAVES))
    padded = f"{ORIGIN}\n03\n{std64(root(LEAVES))}\n"
    other_root = checkpoint_text(3, sha(b"another tree"))
    other = "gw.example/p/8-zzzzzzzz"
    return {
        "origin_of_another_project": ("origin is not the issuer without its scheme",
                                      under(checkpoint(3, root(LEAVES), other))),
        "checkpoint_signature_flipped": ("checkpoint signature", under(note(body, bad))),
        "checkpoint_signed_rightly_and_wrongly": ("a failing line of a known key", under(note(body, line, bad))),
        "checkpoint_of_another_root": ("inclusion", under(note(other_root, signature_line(LOG, other_root)))),
        "checkpoint_root_changed": ("inclusion, and checkpoint signature", under(note(other_root, line))),
        "checkpoint_size_changed": ("checkpoint signature", under(note(bigger, line))),
        "checkpoint_size_with_leading_zero": ("one spelling of a number", under(note(padded, signature_line(LOG, padded)))),
        "checkpoint_unsigned": ("note format", under(body)),
        "checkpoint_witness_line_malformed": ("note format: base64 has one spelling", under(note(body, line, "— witness.example/w1 d2l0MQB=\n"))),
        "checkpoint_witness_line_short": ("note format: a key id alone", under(note(body, line, "— witness.example/w1 d2l0MQ==\n"))),
        "checkpoint_line_without_dash": ("note format", under(note(body, line.replace("— ", "- ")))),
    }


def unpinned_cases():
    """name -> (why, receipt, the keys that the reader pinned)"""
    body = checkpoint_text(3, root(LEAVES))

    def under(note_text):
        return RECEIPTS[0] | {"proof": proof(0, path(0, LEAVES), note_text)}

    def without(purpose):
        return {"iss": ISS, "keys": [key.jwk() for key in KEYS.values() if key.purpose != purpose]}

    wrong_id = signature_line(LOG, body, id=b"\0\0\0\0")
    other_name = signature_line(LOG, body, name="gw.example/p/8-zzzzzzzz")
    elsewhere = decision(iss="https://other.example/p/7-k3m9q2v8")
    return {
        "decision_key_not_pinned": ("no key of that kid", RECEIPTS[0], without("decision")),
        "signed_by_a_stranger": ("no key of that kid", alone(signed(decision(), STRANGER)), None),
        "log_key_not_pinned": ("no log key", RECEIPTS[0], without("log")),
        "checkpoint_by_a_stranger": ("checkpoint not by a log key", under(checkpoint(3, root(LEAVES), key=STRANGER)), None),
        "checkpoint_key_id_wrong": ("checkpoint not by a log key", under(note(body, wrong_id)), None),
        "checkpoint_signed_under_another_name": ("checkpoint not by a log key", under(note(body, other_name)), None),
        "issuer_not_pinned": ("of another issuer than the key set's", alone(signed(elsewhere, D)), None),
        "key_set_of_another_issuer": ("of another issuer than the key set's", RECEIPTS[0],
                                      JWKS | {"iss": "https://gw.example/p/8-zzzzzzzz"}),
    }


def pinned_otherwise_cases():
    """name -> (why, receipt, the keys that the reader pinned): the pins contradict the receipt."""
    def relabelled(old, new):
        return {"iss": ISS, "keys": [k.jwk(purpose=new if k.purpose == old else k.purpose) for k in KEYS.values()]}

    def valid(purpose, **times):
        return {"iss": ISS, "keys": [k.jwk(**(times if k.purpose == purpose else {})) for k in KEYS.values()]}

    by_ledger = RECEIPTS[0] | {"proof": proof(0, path(0, LEAVES), checkpoint(3, root(LEAVES), key=L))}
    return {
        "checkpoint_by_ledger_key": ("checkpoint not by a log key", by_ledger, None),
        "log_key_pinned_as_ledger_key": ("checkpoint not by a log key", RECEIPTS[0], relabelled("log", "ledger")),
        "decision_key_pinned_as_ledger_key": ("a key that is not of purpose decision", RECEIPTS[0], relabelled("decision", "ledger")),
        "decision_key_not_yet_introduced": ("the key counts from a later entry", RECEIPTS[0], valid("decision", **{"from": TIMES[1]})),
        "decision_key_already_retired": ("the key counted until an earlier entry", RECEIPTS[1], valid("decision", until=TIMES[0])),
    }


def unreadable_cases():
    """name -> (why, bytes): receipts that have no single reading."""
    text = json.dumps(RECEIPTS[0], ensure_ascii=False, separators=(",", ":"))

    def changed(old, new):
        assert text.count(old) >= 1
        return text.replace(old, new, 1).encode("utf-8", "surrogatepass")

    return {
        "duplicate_member": ("two readings", changed('"verdict":"ALLOW"', '"verdict":"DENY","verdict":"ALLOW"')),
        "duplicate_member_escaped": ("two readings", changed('"gen":3', '"g\\u0065n":4,"gen":3')),
        "duplicate_statement": ("two readings", changed('"typ":"receipt/v1",', '"typ":"receipt/v1","statement":null,')),
        "integer_beyond_2_53": ("two readings", changed('"control":17', '"control":9007199254740993')),
        "integer_minus_zero": ("two spellings of zero", changed('"gen":3', '"gen":-0')),
        "seq_minus_zero": ("two spellings of zero", changed('"seq":0', '"seq":-0')),
        "integer_with_exponent": ("strict profile", changed('"control":17', '"control":17e0')),
        "integer_with_fraction": ("strict profile", changed('"control":17', '"control":17.0')),
        "integer_not_a_number": ("not JSON", changed('"control":17', '"control":NaN')),
        "lone_surrogate": ("no Unicode text", changed('"tool":"note_write"', '"tool":"\\ud800"')),
        "invalid_utf8": ("no Unicode text", text.encode().replace(b"note_write", b"note_\xff", 1)),
        "byte_order_mark": ("not JSON", b"\xef\xbb\xbf" + text.encode()),
        "text_after_the_end": ("not JSON", text.encode() + b"{}"),
        "truncated": ("not JSON", text.encode()[:-1]),
        "empty": ("not JSON", b""),
        "trailing_comma": ("not JSON", changed('"plan":null', '"plan":null,')),
        "nested_too_deep": ("more than 64 levels", changed('"plan":null', '"plan":' + "[" * 70 + "]" * 70)),
        "receipt_member_added": ("unknown member", changed('"typ":"receipt/v1"', '"typ":"receipt/v1","keys":[]')),
        "receipt_member_missing": ("a member of the receipt is absent", changed('"typ":"receipt/v1",', "")),
        "receipt_of_version_2": ("no format of that name", changed("receipt/v1", "receipt/v2")),
        "a_list_of_receipts": ("a receipt is an object", b"[" + text.encode() + b"]"),
    }
