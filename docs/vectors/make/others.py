"""Every folder but the receipts': canonical JSON, commitments, chain, trees, checkpoints, key sets, capability."""
from example import *

BIG = "123456789012345678901234567890"


def canonical_json():
    """name -> members of the case. `canonical` is what comes out; `path` is where a refusal points."""
    def accept(about, text, canonical_text, profile="foreign"):
        return {"about": about, "profile": profile, "text": text, "canonical": canonical_text}

    def refuse(about, text, path, profile="foreign"):
        given = {"base64": std64(text)} if isinstance(text, bytes) else {"text": text}
        return {"about": about, "profile": profile} | given | {"refused_at": path}

    deep = lambda n: "[" * n + "]" * n
    return {
        "utf16_order": accept("names sort by UTF-16 code units, not by code points", '{"\\ud83d\\ude00":1,"\\ufb33":2,"\\uffff":3,"\\ue000":4,"\\ud7ff":5}',
                              '{"\ud7ff":5,"\U0001f600":1,"\ue000":4,"\ufb33":2,"\uffff":3}'),
        "digit_names_are_text": accept("10 sorts before 9", '{"10":1,"9":2,"1":3}', '{"1":3,"10":1,"9":2}'),
        "negative_zero": accept("zero has one spelling", "[-0,-0.0,0e10]", "[0,0,0]"),
        "doubles": accept("shortest digits, exponent from 1e21", "[1.0,1e2,1E30,4.50,2e-3,0.000000000000000000000000001,333333333.33333329,1e23]",
                          "[1,100,1e+30,4.5,0.002,1e-27,333333333.3333333,1e+23]"),
        "largest_integers": accept("plus and minus 2^53-1", "[9007199254740991,-9007199254740991]", "[9007199254740991,-9007199254740991]", "strict"),
        "escapes": accept("only the seven short escapes and \\u00xx in lower case", '["\\u0000\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u001f\\u007f\\/\\"\\\\\\u00e9"]',
                          '["\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\x7f/\\"\\\\é"]'),
        "no_normalisation": accept("two different texts stay different", '["\\u00e9","e\\u0301"]', '["é","e\u0301"]', "strict"),
        "line_separators": accept("written as themselves", '["\\u2028\\u2029"]', '["\u2028\u2029"]'),
        "white_space": accept("dropped", ' {\n\t"b" : [ 1 , true ] ,\r\n "a" : null } ', '{"a":null,"b":[1,true]}', "strict"),
        "names_with_a_meaning_elsewhere": accept("names are only names", '{"__proto__":1,"$serde_json::private::Number":"7"}',
                                                 '{"$serde_json::private::Number":"7","__proto__":1}', "strict"),
        "sixty_four_levels": accept("the deepest that is read", deep(64), deep(64), "strict"),
        "duplicate_name": refuse("two readings", '{"a":1,"a":2}', "$.a"),
        "duplicate_name_escaped": refuse("two readings", '{"a":{"b":1,"\\u0062":2}}', "$.a.b"),
        "lone_surrogate": refuse("no Unicode text", '{"a":["\\ud800"]}', "$.a[0]"),
        "lone_surrogate_in_a_name": refuse("no Unicode text", '{"\\udead":1}', "$"),
        "surrogates_in_the_wrong_order": refuse("no Unicode text", '["\\ude00\\ud83d"]', "$[0]"),
        "invalid_utf8": refuse("no Unicode text", b'["\xff"]', "$"),
        "overlong_utf8": refuse("no Unicode text", b'["\xc0\xaf"]', "$"),
        "integer_2_53": refuse("not exact in every language", '{"n":[9007199254740992]}', "$.n[0]"),
        "integer_of_thirty_digits": refuse("not exact in every language", '{"amount":%s}' % BIG, "$.amount"),
        "overflow": refuse("no double", "[1e400]", "$[0]"),
        "not_a_number": refuse("not JSON", "[NaN]", "$[0]"),
        "infinity": refuse("not JSON", '{"a":-Infinity}', "$.a"),
        "leading_zero": refuse("not JSON", "[01]", "$"),
        "trailing_comma": refuse("not JSON", "[1,]", "$[1]"),
        "byte_order_mark": refuse("not JSON", "\ufeff{}", "$"),
        "text_after_the_end": refuse("not JSON", "{}{}", "$"),
        "raw_control_character": refuse("not JSON", '["a\u0001b"]', "$[0]"),
        "empty": refuse("not JSON", "", "$"),
        "sixty_five_levels": refuse("deeper than is read", deep(65), "$" + "[0]" * 64),
        "strict_minus_zero": refuse("two spellings of zero, and a fraction to some readers", '{"gen":-0}', "$.gen", "strict"),
        "strict_fraction": refuse("no fractions in what we sign", '{"score":0.5}', "$.score", "strict"),
        "strict_exponent": refuse("no exponents in what we sign", "[1e2]", "$[0]", "strict"),
        "strict_name_not_ascii": refuse("names sort alike everywhere only in ASCII", '{"a":{"é":1}}', '$.a["é"]', "strict"),
        "strict_control_character": refuse("escaped differently elsewhere", '["\\u0007"]', "$[0]", "strict"),
        "strict_line_separator": refuse("escaped differently elsewhere", '["\\u2028"]', "$[0]", "strict"),
    }


def commitments():
    documents = {"args": ARGS, "facts": FACTS, "result": RESULT}
    values = {"principal": "u-88", "noun/0": "/notes/été.txt"}
    cases = {}
    for name in ["args", "facts", "principal", "noun/0", "result"]:
        value = document(documents[name]) if name in documents else values[name]
        seed = "provider" if name in ("args", "result") else "action"
        given = PROVIDER_SEED if seed == "provider" else SEED
        case = {"about": f"`{name}` is salted from the {seed} seed", "seed": SEED.hex(), "salted_from": seed, "name": name}
        if name in documents:
            case["document"] = documents[name]
        cases[name.replace("/", "_")] = case | {"value": value, "salt": url64(salt(given, name)),
                                                "disclosure": disclosure(given, name, value), "commitment": commit(name, value)}
    quote = 'a "quoted"\\ value\n'
    cases["escaped_value"] = {"about": "a value is escaped as in canonical JSON", "seed": SEED.hex(), "salted_from": "action", "name": "error",
                              "value": quote, "salt": url64(salt(SEED, "error")), "disclosure": disclosure(SEED, "error", quote),
                              "commitment": commitment(disclosure(SEED, "error", quote))}
    cases["provider_seed"] = {"about": "the provider seed is the salt of the name `provider`", "seed": SEED.hex(), "salted_from": "action",
                              "name": "provider", "salt": url64(PROVIDER_SEED)}
    return cases


def chain():
    names = ["decision", "observation", "execution"]
    cases = {"genesis": {"about": "prev of the first entry of a project", "project": PROJECT, "prev": GENESIS}}
    for name, statement, entry, leaf in zip(names, STATEMENTS, ENTRIES, LEAVES):
        cases[name] = {"about": f"entry {entry['seq']} of three", "statement": statement, "canonical_payload": canonical(statement["payload"]),
                       "digest": digest(jcs(statement)), "entry": entry, "canonical_entry": canonical(entry),
                       "entry_hash": digest(jcs(entry)), "leaf_hash": leaf.hex()}
    return cases


def trees():
    cases = {}
    for size in [0, 1, 2, 3, 4, 5, 7, 8, 13]:
        data = [f"leaf {i}" for i in range(size)]
        leaves = [leaf_hash(d.encode()) for d in data]
        cases[f"size_{size}"] = {"about": "root, inclusion path of every leaf, consistency with every smaller size", "leaf_data": data,
                                 "root": std64(root(leaves)), "paths": [list(map(std64, path(i, leaves))) for i in range(size)],
                                 "consistency": {str(old): list(map(std64, consistency(old, leaves))) for old in range(1, size)}}
    return cases


def checkpoints():
    log, body = KEYS["log"], checkpoint_text(3, root(LEAVES))
    line = signature_line(log, body)
    typed = std64(b"\x01" + log.raw)
    vkey = f"{ORIGIN}+{key_id(log, ORIGIN).hex()}+{typed}"
    extended = body + "an extension line\n"
    size = lambda text: f"{ORIGIN}\n{text}\n{std64(root(LEAVES))}\n"
    short = f"{ORIGIN}\n3\n{std64(root(LEAVES)[:31])}\n"
    own = lambda text: note(text, signature_line(log, text))
    foreign = f"— witness.example/w1 {std64(b'wit1' + bytes(72))}\n"
    raw = log.sign(body.encode())
    wrong = signature_line(log, body, raw=raw[:63] + bytes([raw[63] ^ 1]))
    good = {"signed": ("as every receipt carries it", note(body, line)),
            "witness_line": ("lines of other keys are ignored", note(body, line, foreign)),
            "extension_line": ("signed with the rest", own(extended)), "empty_log": ("size 0", own(checkpoint_text(0, sha(b""))))}
    bad = {"signature_flipped": ("signature", note(body, wrong)), "signed_rightly_and_wrongly": ("a failing line of this key", note(body, line, wrong)),
           "by_another_key": ("not by this key", note(body, signature_line(KEYS["ledger"], body))),
           "under_another_name": ("not by this key", note(body, signature_line(log, body, name="gw.example/p/8-zzzzzzzz"))),
           "unsigned": ("no signature", body + "\n"), "no_blank_line": ("note format", body + line),
           "no_last_newline": ("note format", note(body, line)[:-1]), "hyphen_for_dash": ("note format", note(body, line.replace("—", "-"))),
           "carriage_returns": ("control character", note(body, line).replace("\n", "\r\n")),
           "size_with_leading_zero": ("one spelling of a number", own(size("03"))), "size_with_sign": ("one spelling of a number", own(size("+3"))),
           "size_negative": ("a size", own(size("-1"))), "size_missing": ("three lines", own(f"{ORIGIN}\n{std64(root(LEAVES))}\n")),
           "root_short": ("32 bytes", own(short)), "root_in_base64url": ("standard base64", own(body.replace("+", "-").replace("/", "_").replace("gw.example_p_", "gw.example/p/")))}
    cases = {name: {"about": about, "vkey": vkey, "log_key": log.x, "note": text, "checkpoint": read_back(text)} for name, (about, text) in good.items()}
    return cases | {name: {"about": about, "vkey": vkey, "log_key": log.x, "note": text, "checkpoint": None} for name, (about, text) in bad.items()}


def read_back(text):
    origin, size, root_text = text.split("\n")[:3]
    return {"origin": origin, "size": int(size), "root": root_text}


def key_sets():
    log = KEYS["log"]
    keys = lambda *items: {"iss": ISS, "keys": list(items)}
    def odd(raw, **changes):
        x = url64(raw)
        return keys(log.jwk(x=x, kid=thumbprint(x)) | changes)
    y8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
    cases = {
        "every_purpose": ("one key a purpose", JWKS, True),
        "with_times": ("from and until", keys(log.jwk(**{"from": TIMES[0], "until": None}) | {"until": TIMES[2]}), True),
        "member_of_others": ("members beside ours are allowed", keys(log.jwk(key_ops=["verify"])), True),
        "no_keys": ("pins nothing", keys(), True),
        "small_order_identity": ("y = 1: anything verifies", odd(bytes([1]) + bytes(31)), False),
        "small_order_zero": ("y = 0", odd(bytes(32)), False),
        "small_order_minus_one": ("y = -1", odd(bytes.fromhex("ec" + "ff" * 30 + "7f")), False),
        "small_order_eight": ("a point of order 8", odd(y8), False),
        "second_spelling_of_y": ("y = p + 3 is another spelling of 3", odd(bytes.fromhex("f0" + "ff" * 30 + "7f")), False),
        "not_on_the_curve": ("no point has y = 2", odd(bytes([2]) + bytes(31)), False),
        "key_short": ("32 bytes", odd(log.raw[:31]), False),
        "key_with_padding": ("one spelling", keys(log.jwk(x=log.x + "=")), False),
        "kid_not_the_thumbprint": ("a kid is computed, not claimed", keys(log.jwk(kid=KEYS["ledger"].kid)), False),
        "key_twice": ("one key, one purpose", keys(log.jwk(), log.jwk(purpose="ledger")), False),
        "other_curve": ("Ed25519 alone", keys(log.jwk(crv="X25519")), False),
        "purpose_unknown": ("no such purpose", keys(log.jwk(purpose="signing")), False),
        "purpose_missing": ("one key, one purpose", keys({k: v for k, v in log.jwk().items() if k != "purpose"}), False),
        "no_issuer": ("whose keys?", {"keys": [log.jwk()]}, False),
        "not_an_object": ("a key set is an object", [log.jwk()], False),
    }
    return {name: {"about": about, "jwks": jwks, "accepted": fine} for name, (about, jwks, fine) in cases.items()}


def capability():
    aud, key = "https://notes.example/mcp", KEYS["capability"]
    call = {"v": 1, "aud": aud, "m": "tools/call", "t": "note_write", "a": ARGS}
    sub_key, named = b"\x07" * 32, [aud, "u-88"]
    header = {"alg": "EdDSA", "typ": "toolcap+jwt", "kid": key.kid}
    claims = {"iss": ISS, "aud": aud, "sub": url64(hmac.new(sub_key, jcs(named), hashlib.sha256).digest()), "jti": JTI,
              "iat": 1796037600, "nbf": 1796037595, "exp": 1796037630, "txn": ACTION, "dec": digest(jcs(DECISION)), "env": "live", "gen": 3,
              "os": url64(PROVIDER_SEED), "call": {"m": "tools/call", "t": "note_write", "h": url64(sha(jcs(call)))}}
    text = url64(jcs(header)) + "." + url64(jcs(claims))
    token = text + "." + url64(key.sign(text.encode()))
    return {
        "note_write": {"about": "header, claims, call.h and the token; sub is an HMAC under 32 bytes 0x07", "sub_key": sub_key.hex(), "principal": "u-88",
                       "header": header, "claims": claims, "call_document": call, "token": token},
        "no_arguments": {"about": "absent arguments count as {}", "call_document": call | {"t": "note_list", "a": {}},
                         "h": url64(sha(jcs(call | {"t": "note_list", "a": {}})))},
        "another_audience": {"about": "the hash does not move between providers", "call_document": call | {"aud": "urn:counterfoil:7-k3m9q2v8:notes"},
                             "h": url64(sha(jcs(call | {"aud": "urn:counterfoil:7-k3m9q2v8:notes"})))},
        "with_input_responses": {"about": "answers of a multi-round call are bound too", "call_document": call | {"i": {"ask": {"action": "accept"}}},
                                 "h": url64(sha(jcs(call | {"i": {"ask": {"action": "accept"}}})))},
        "no_principal": {"about": "sub for nobody in particular is the HMAC of null", "sub_key": sub_key.hex(), "aud": aud, "principal": None,
                         "sub": url64(hmac.new(sub_key, jcs([aud, None]), hashlib.sha256).digest())},
    }
