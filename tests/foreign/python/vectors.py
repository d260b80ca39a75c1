"""Runs the Python examples of docs/formats over every case it can judge, and says which it did not.

Exit 0 only if every good receipt is VERIFIED and every malformed one gets the answer its case names.
"""
import base64, io, json, pathlib, sys, zipfile

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
sys.path.insert(0, str(DOCS / "formats" / "examples"))
import strict_json, verify_package, verify_receipt

VECTORS = DOCS / "vectors"
OURS = (VECTORS / "jwks.json").read_bytes()


def compact(value):
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def answer(receipt, jwks):
    try:
        verify_receipt.verify(receipt, jwks)
        return "VERIFIED"
    except verify_receipt.Unpinned:
        return "UNPINNED"
    except ValueError:
        return "BROKEN"


def receipt_case(case):
    raw = base64.b64decode(case["receipt_base64"]) if "receipt_base64" in case else compact(case["receipt"])
    jwks = compact(case["jwks"]) if "jwks" in case else OURS
    return answer(raw, jwks) == case.get("answer", "VERIFIED")


def key_set_case(case):
    try:
        verify_receipt.pinned(compact(case["jwks"]))
        return case["accepted"]
    except ValueError:
        return not case["accepted"]


def strict_case(case):
    raw = base64.b64decode(case["base64"]) if "base64" in case else case["text"].encode("utf-8", "surrogatepass")
    try:
        value = strict_json.read(raw)
        strict_json.plain(value)
        return strict_json.canonical(value) == case["canonical"].encode()
    except (ValueError, KeyError):
        return "canonical" not in case


# What the example says that it does not check: its answer there.
NOT_CHECKED = {
    "allowed_by_another_bundle": "UNANCHORED", "allowed_under_a_kill": "UNANCHORED", "execution_missing_and_omitted": "UNANCHORED",
    "forked": "UNANCHORED", "observation_before_its_decision": "UNANCHORED", "shorter_than_what_was_kept": "UNANCHORED", "from_entry_7": "USAGE", "from_entry_8": "USAGE",
    "allowed_after_another_resumption": "UNANCHORED", "allowed_for_a_killed_agent": "UNANCHORED", "allowed_in_a_killed_environment": "UNANCHORED",
    "approved_another_action": "UNANCHORED", "approved_another_decision": "UNANCHORED", "approved_before_a_kill": "UNANCHORED",
    "approved_before_the_first_entry": "USAGE", "approved_by_a_refusal": "UNANCHORED", "approved_by_nobody": "UNANCHORED", "approved_once_used_twice":
    "UNANCHORED", "approved_too_late": "UNANCHORED", "approved_without_an_answer": "UNANCHORED", "breakglass_leaves_the_floor": "UNANCHORED",
    "breakglass_moves_the_floor": "UNANCHORED", "grant_leaves_the_floor": "UNANCHORED", "grant_moves_the_floor": "UNANCHORED", "shadow_leaves_the_floor":
    "UNANCHORED", "shadow_moves_the_floor": "UNANCHORED", "granted_before_the_first_entry": "USAGE",
    "advisory_after_a_kill": "UNANCHORED", "advisory_after_it_was_closed": "UNANCHORED", "advisory_after_the_window": "UNANCHORED",
    "advisory_for_an_unknown_tool": "UNANCHORED", "advisory_in_another_window": "UNANCHORED", "advisory_without_a_window": "UNANCHORED",
    "breakglass_after_the_window": "UNANCHORED", "breakglass_in_another_window": "UNANCHORED", "breakglass_marked_without_a_window": "UNANCHORED",
    "breakglass_without_a_window": "UNANCHORED", "granted_by_a_refusal": "UNANCHORED", "granted_by_an_answer_to_one_noun": "UNANCHORED",
    "granted_by_nobody": "UNANCHORED", "granted_for_longer": "UNANCHORED", "granted_twice": "UNANCHORED",
    "previous_never_told": "UNANCHORED", "previous_of_another_session": "UNANCHORED", "catalog_unsigned_and_omitted": "UNANCHORED",
    "grant_renewed_after_its_end": "UNANCHORED", "grant_renewed_after_its_removal": "UNANCHORED",
    "grant_renewed_for_another_agent": "UNANCHORED", "grant_renewed_that_was_never_given": "UNANCHORED",
    "leaning_on_a_grant_before_a_kill": "UNANCHORED", "leaning_on_a_grant_for_another_verb": "UNANCHORED",
    "leaning_on_a_grant_that_was_never_given": "UNANCHORED", "leaning_on_a_later_grant": "UNANCHORED",
    "leaning_on_a_removed_grant": "UNANCHORED", "leaning_on_a_shortened_grant": "UNANCHORED",
    "leaning_on_an_ended_grant": "UNANCHORED", "leaning_on_another_agents_grant": "UNANCHORED",
    "leaning_on_no_grant": "UNANCHORED",
}


def package_case(case, name):
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as writer:
        for file, content in case["files"].items():
            writer.writestr(file, base64.b64decode(content["base64"]) if "base64" in content else content["text"])
    try:
        verify_package.verify(zipped, compact(case["jwks"]))
        found = "UNANCHORED"
    except verify_package.Verdict as verdict:
        found = verdict.args[0]
    except (ValueError, KeyError, TypeError, AttributeError):
        found = "BROKEN"
    return found == NOT_CHECKED.get(name, case["answer"])


RUNNERS = {"receipts": receipt_case, "malformed-receipts": receipt_case, "key-sets": key_set_case, "canonical-json": strict_case,
           "packages": package_case}


def main():
    passed, failed = 0, 0
    for folder, runner in RUNNERS.items():
        for file in sorted((VECTORS / folder).glob("*.json")):
            case = json.loads(file.read_text("utf-8"))
            # The examples read what we sign, nothing else; a key off the curve shows at its signature.
            if case.get("profile") == "foreign" or file.stem == "not_on_the_curve":
                continue
            if runner(case, file.stem) if runner is package_case else runner(case):
                passed += 1
            else:
                failed += 1
                print(f"{folder}/{file.stem}: not as its case says")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed < 100)


main()
