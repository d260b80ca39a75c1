"""P4: situations and what follows from them (docs/vectors/reconciliation)."""

from counterfoil_sdk.verify.matter import Decided, Matter, Observed, Standing, Stated, account_of, is_cleared
from counterfoil_sdk.verify.reconcile import Terms, reconcile, stray

ACTION = "act_019355a0c1007000800000000000b001"
MEMBERS = {
    "about", "decision", "observation", "statements", "duty", "sign_within", "watch", "now", "status", "account", "findings",
    "clears", "again_after",
}  # fmt: skip


def stated(said):
    standing = {"holds": Standing(said["signer"]), "ended": Standing(has_ended=True), "fails": Standing()}[said["standing"]]
    same = {name: said[name] for name in ("seq", "provider", "tool", "args", "result", "outcome", "charged")}
    return Stated(
        digest=said["name"], at=said["at"] * 1000, standing=standing, action=ACTION, decision="decision",
        fingerprint=f"{said['outcome']} {said['result']}", **same,
    )  # fmt: skip


def decided(said):
    same = {name: said[name] for name in ("seq", "provider", "tool", "args", "mode", "quoted")}
    return Decided("decision", at=said["at"] * 1000, action=ACTION, account=account_of(said), is_cleared=is_cleared(said), **same)


def observed(said):
    return said and Observed(
        "observation", said["seq"], said["at"] * 1000, said["status"], said["is_error"] is True, said["result"]
    )


def pairs(found, name):
    return [[one.code, getattr(one, name)] for one in found]


def reconciliation_case(test, case):
    if "stray" in case:
        test.assertEqual(pairs([stray(stated(case["stray"]))], "statement"), case["findings"])
        return
    test.assertEqual(set(case), MEMBERS, "a case of a shape that nobody knows")
    matter = Matter(decided(case["decision"]), observed(case["observation"]), [stated(said) for said in case["statements"]])
    terms = Terms(case["duty"] == "owes", case["sign_within"] * 1000)
    now, is_watched = case["now"] * 1000, case["watch"] == "open"

    found = reconcile(matter, terms, now, is_watched=is_watched)

    test.assertEqual(pairs(found.findings, "statement"), case["findings"])
    test.assertEqual([found.status, found.account], [case["status"], case["account"]])
    test.assertEqual(pairs(found.clears, "by"), case["clears"])
    test.assertEqual(found.again_after, None if case["again_after"] is None else case["again_after"] * 1000)
    matter.stated.reverse()
    test.assertEqual(reconcile(matter, terms, now, is_watched=is_watched), found, "in another order")
