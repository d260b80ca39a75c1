"""Reconciliation: one situation a case, its outcome written down by hand from docs/formats/reconciliation.md.

Times are seconds of entry time; `seq` is the place. A statement's name stands for the digest of its body, commitments
are names too: equal names are equal values, null is what cannot be compared.
"""

ALLOW = {"seq": 1, "at": 0, "mode": "gateway", "verdict": "ALLOW", "effect": "enforced", "marks": [], "provider": "notes", "tool": "note_write",
         "args": "A", "quoted": None}
RETURNED = {"seq": 2, "at": 1, "status": "returned", "is_error": False, "result": "R"}
SIGNED = {"seq": 3, "at": 2, "name": "first", "standing": "holds", "signer": "notes", "provider": "notes", "tool": "note_write", "outcome": "EXECUTED",
          "args": "A", "result": "R", "charged": None}


def seen(status, **more):
    return RETURNED | {"status": status, "is_error": None, "result": None} | more


def said(outcome, **more):
    ran = {"result": "R"} if outcome == "EXECUTED" else {"result": None}
    return SIGNED | {"outcome": outcome} | ran | more


def case(about, status, findings=(), decision=ALLOW, observation=RETURNED, statements=(), duty="owes", watch="open", now=3, clears=(), account="governed",
         again_after=None):
    return {"about": about, "decision": decision, "observation": observation, "statements": list(statements), "duty": duty, "sign_within": 600,
            "watch": watch, "now": now, "status": status, "account": account, "findings": [list(f) for f in findings],
            "clears": [list(c) for c in clears], "again_after": again_after}


KNOWN_BY_OBSERVATION = ("OUTCOME_UNKNOWN", "observation")
KNOWN_BY_FIRST = ("OUTCOME_UNKNOWN", "first")


def observed(*more, **rest):
    return case(*more, clears=[KNOWN_BY_OBSERVATION], **rest)


def step_2():
    forged, revoked = said("EXECUTED", standing="fails"), said("EXECUTED", standing="ended")
    other = said("EXECUTED", signer="mail", provider="mail")
    return {
        "signature_bad": observed("a signature that holds under no key signed nothing: the provider still owes", "waiting",
                                  [("INVALID_VENDOR_SIGNATURE", "first")], statements=[forged], again_after=601),
        "signature_bad_past_the_deadline": observed("signed nothing, so the execution is missing", "missing",
                                                    [("MISSING_EXECUTION", "decision"), ("INVALID_VENDOR_SIGNATURE", "first")], statements=[forged], now=602),
        "key_revoked": observed("the key ended before the statement's place", "waiting", [("REVOKED_KEY", "first")], statements=[revoked], again_after=601),
        "key_of_another_provider": observed("a provider signs another's action", "waiting", [("WRONG_SIGNER", "first")], statements=[other], again_after=601),
        "speaks_for_another_provider": observed("its own key, another's name", "waiting", [("WRONG_SIGNER", "first")],
                                                statements=[said("EXECUTED", provider="mail")], again_after=601),
        "signature_bad_then_good": observed("a forged statement takes nobody's place", "matched", [("INVALID_VENDOR_SIGNATURE", "first")],
                                            statements=[forged, said("EXECUTED", name="second", seq=4)]),
        "key_revoked_without_duty": observed("signed nothing, owes nothing", "unsigned", [("REVOKED_KEY", "first")], statements=[revoked],
                                             duty="owes_nothing"),
    }


def step_3():
    second = {"name": "second", "seq": 4, "at": 3}
    abandoned = said("ABANDONED")
    done = said("EXECUTED", **second)
    late_done = said("EXECUTED", **(second | {"at": 700}))
    quoted = ALLOW | {"quoted": 500}
    return {
        "repeated": observed("a retry says the same again", "matched", statements=[SIGNED, said("EXECUTED", **second)]),
        "duplicate": observed("the same outcome with another result", "matched", [("DUPLICATE_EXECUTION", "second"), ("RESULT_DIFFERS", "second")],
                              statements=[SIGNED, said("EXECUTED", **second | {"result": "S"})]),
        "contradicting": observed("EXECUTED, then FAILED", "matched", [("CONTRADICTING_EXECUTIONS", "second")],
                                  statements=[SIGNED, said("FAILED", **second)]),
        "executed_then_abandoned": observed("what was done cannot be given up", "matched", [("CONTRADICTING_EXECUTIONS", "second")],
                                            statements=[SIGNED, said("ABANDONED", **second)]),
        "abandoned_then_executed": observed("given up, and done after all", "matched", statements=[abandoned, done]),
        "abandoned_waits_for_executed": observed("the second half may still come", "waiting", statements=[abandoned], again_after=601),
        "abandoned_for_good": observed("a result came back, and nothing was done", "contradicted",
                                       [("STATEMENT_CONTRADICTS_OBSERVATION", "first")], statements=[abandoned], now=602),
        "abandoned_then_executed_too_late": observed("contradicted until then, and named", "contradicted",
                                                     [("STATEMENT_CONTRADICTS_OBSERVATION", "first")], statements=[abandoned, late_done], now=701),
        "arguments_differ": observed("the gateway committed to A and forwarded B, or the provider ran B", "matched", [("ARGUMENTS_DIFFER", "first")],
                                     statements=[said("EXECUTED", args="B")]),
        "arguments_not_given": observed("what one side does not give is not compared", "matched", statements=[said("EXECUTED", args=None)]),
        "another_tool": observed("what ran is not what was decided", "matched", [("ARGUMENTS_DIFFER", "first")],
                                 statements=[said("EXECUTED", tool="note_delete")]),
        "result_differs": observed("both can be compared", "matched", [("RESULT_DIFFERS", "first")], statements=[said("EXECUTED", result="S")]),
        "result_without_canonical_form": observed("too large, streamed, or of no one reading: not compared", "matched", statements=[SIGNED],
                                                  observation=RETURNED | {"result": None}),
        "result_not_given": observed("not compared", "matched", statements=[said("EXECUTED", result=None)]),
        "charged_above_the_quote": observed("more than was quoted", "matched", [("CHARGE_MISMATCH", "first")], decision=quoted,
                                            statements=[said("EXECUTED", charged=501)]),
        "charged_as_quoted": observed("no more than was quoted", "matched", decision=quoted, statements=[said("EXECUTED", charged=500)]),
        "charge_sealed": observed("not opened, not compared", "matched", statements=[said("EXECUTED", charged=501)]),
    }


def step_4():
    denied = ALLOW | {"verdict": "DENY"}
    held = ALLOW | {"verdict": "STEP_UP"}
    quiet = {"observation": None}
    cases = {
        "denied_and_executed": case("the verdict said no", "against_verdict", [("EXECUTED_AGAINST_VERDICT", "first")], decision=denied,
                                    statements=[SIGNED], **quiet),
        "denied_and_failed": case("it ran, and went wrong", "against_verdict", [("EXECUTED_AGAINST_VERDICT", "first")], decision=denied,
                                  statements=[said("FAILED")], **quiet),
        "held_and_executed": case("nobody had answered", "against_verdict", [("EXECUTED_AGAINST_VERDICT", "first")], decision=held,
                                  statements=[SIGNED], **quiet),
        "denied_and_sent": case("the gateway itself saw a result of what it had refused", "against_verdict",
                                [("EXECUTED_AGAINST_VERDICT", "observation")], decision=denied),
        "denied_and_not_sent": case("as it should be", "matched", decision=denied, observation=seen("not_sent")),
        "denied": case("nothing is due", "matched", decision=denied, **quiet),
        "advisory_and_executed": observed("a shadow window: what ran, ran as a rehearsal", "matched", decision=denied | {"effect": "advisory"},
                                          statements=[SIGNED], account="rehearsal"),
        "break_glass": observed("same rows, counted apart", "matched", decision=ALLOW | {"marks": ["break_glass"]}, statements=[SIGNED],
                                account="break_glass"),
    }
    for outcome in ["SKIPPED", "BLOCKED", "ESCALATED", "ABANDONED", "NOT_ATTEMPTED"]:
        cases[f"denied_and_{outcome.lower()}"] = case("nothing ran", "matched", decision=denied, statements=[said(outcome)], **quiet)
    return cases


def step_5():
    nothing = {"observation": None}
    hook = ALLOW | {"mode": "hook"}
    cases = {"returned_and_executed": observed("all three agree", "matched", statements=[SIGNED])}
    for outcome in ["SKIPPED", "FAILED", "BLOCKED", "ESCALATED", "NOT_ATTEMPTED"]:
        cases[f"returned_and_{outcome.lower()}"] = observed("a result came back of what was not done", "contradicted",
                                                           [("STATEMENT_CONTRADICTS_OBSERVATION", "first")], statements=[said(outcome)])
    for status in ["refused", "not_sent"]:
        cases[f"{status}_and_executed"] = observed("done, and the gateway says that it was not sent or taken", "contradicted",
                                                  [("STATEMENT_CONTRADICTS_OBSERVATION", "first")], observation=seen(status), statements=[SIGNED])
    for status in ["refused", "error", "not_sent", "asked"]:
        cases[f"{status}_and_failed"] = observed("any other statement fits", "matched", observation=seen(status), statements=[said("FAILED")])
        cases[f"{status}_and_nothing"] = observed("no statement is due, ever", "matched", observation=seen(status), now=99999)
    cases["error_and_executed"] = observed("done, and the answer went wrong", "matched", observation=seen("error"), statements=[SIGNED])
    cases["asked_and_executed"] = observed("a round of a call that goes on", "matched", observation=seen("asked"), statements=[SIGNED])
    unclear = {"is_error": seen("returned", is_error=True, result="R"), "timeout": seen("timeout"), "cancelled": seen("cancelled")}
    for name, observation in unclear.items():
        for outcome in ["EXECUTED", "FAILED", "ABANDONED"]:
            cases[f"{name}_and_{outcome.lower()}"] = observed("the gateway cannot know: any statement fits", "matched", observation=observation,
                                                             statements=[said(outcome)])
        cases[f"{name}_and_nothing_yet"] = observed("owed, not yet due", "waiting", observation=observation, again_after=601)
        cases[f"{name}_and_missing"] = observed("owed, past the deadline", "missing", [("MISSING_EXECUTION", "decision")], observation=observation, now=602)
        cases[f"{name}_unsigned"] = observed("nothing owed", "unsigned", observation=observation, duty="owes_nothing", now=99999)
    cases |= {
        "executed_and_no_observation_yet": case("the statement was faster", "matched", statements=[SIGNED], clears=[KNOWN_BY_FIRST], **nothing),
        "statement_before_the_observation": case("order does not count", "matched", statements=[SIGNED | {"seq": 2, "at": 1}],
                                                 observation=RETURNED | {"seq": 3, "at": 2}, clears=[KNOWN_BY_FIRST]),
        "contradicting_before_the_observation": case(
            "each statement meets the observation that comes late", "contradicted",
            [("STATEMENT_CONTRADICTS_OBSERVATION", "first"), ("CONTRADICTING_EXECUTIONS", "second"), ("RESULT_DIFFERS", "second")],
            statements=[said("FAILED") | {"seq": 2, "at": 1}, said("EXECUTED", name="second", seq=3, at=2, result="S")],
            observation=RETURNED | {"seq": 4, "at": 3}, now=4, clears=[KNOWN_BY_FIRST]),
        "no_observation_yet": case("the gateway may still observe", "waiting", **nothing),
        "no_observation_yet_unsigned": case("the gateway may still observe", "unsigned", duty="owes_nothing", **nothing),
        "no_observation_and_gateway_gone": case("nobody knows what became of it", "outcome_unknown", [("OUTCOME_UNKNOWN", "decision")], watch="closed",
                                                now=900, **nothing),
        "no_observation_and_gateway_gone_unsigned": case("owes or not", "outcome_unknown", [("OUTCOME_UNKNOWN", "decision")], watch="closed", now=900,
                                                         duty="owes_nothing", **nothing),
        "gateway_gone_and_executed": case("the provider knows: a late statement clears it", "matched", statements=[SIGNED | {"at": 5000}], watch="closed",
                                          now=5001, clears=[KNOWN_BY_FIRST], **nothing),
        "gateway_gone_and_observed_late": observed("a late observation clears it, and the deadline runs from there", "waiting",
                                                   observation=RETURNED | {"at": 5000}, watch="closed", now=5001, again_after=5600),
        "returned_unsigned": observed("an unmodified provider owes nothing", "unsigned", duty="owes_nothing", now=99999),
        "returned_and_nothing_yet": observed("owed, not yet due", "waiting", again_after=601),
        "returned_and_nothing_at_the_deadline": observed("the last millisecond counts", "waiting", now=601, again_after=601),
        "returned_and_missing": observed("owed, past the deadline", "missing", [("MISSING_EXECUTION", "decision")], now=602),
        "returned_and_late": case("it came after its deadline, and is named for it", "late", [("LATE_EXECUTION", "first")], statements=[SIGNED | {"at": 700}],
                                  now=701, clears=[("MISSING_EXECUTION", "first"), KNOWN_BY_OBSERVATION]),
        "returned_and_failed_late": case("late, and says otherwise", "contradicted",
                                         [("STATEMENT_CONTRADICTS_OBSERVATION", "first"), ("LATE_EXECUTION", "first")],
                                         statements=[said("FAILED", at=700)], now=701, clears=[("MISSING_EXECUTION", "first"), KNOWN_BY_OBSERVATION]),
        "returned_and_executed_late_without_duty": observed("nothing was due", "matched", statements=[SIGNED | {"at": 700}], duty="owes_nothing", now=701),
        "signed_without_duty": observed("welcome, not owed", "matched", statements=[SIGNED], duty="owes_nothing"),
        "hook_and_executed": case("nobody observes: any statement fits", "matched", decision=hook, statements=[SIGNED], clears=[KNOWN_BY_FIRST], **nothing),
        "hook_and_not_attempted": case("the vendor's own refusal", "matched", decision=hook, statements=[said("NOT_ATTEMPTED")], clears=[KNOWN_BY_FIRST],
                                       **nothing),
        "hook_and_nothing_yet": case("the deadline runs from the decision", "waiting", decision=hook, again_after=600, **nothing),
        "hook_and_missing": case("never OUTCOME_UNKNOWN: there is no gateway to ask", "missing", [("MISSING_EXECUTION", "decision")], decision=hook,
                                 watch="closed", now=601, **nothing),
        "hook_unsigned": case("nothing owed", "unsigned", decision=hook, duty="owes_nothing", watch="closed", now=99999, **nothing),
        "six_fields": observed("no arguments, no result, no provider's name: not compared", "matched",
                               statements=[SIGNED | {"provider": None, "tool": None, "args": None, "result": None}]),
    }
    return cases


def cases():
    stray = {"about": "no such action in this project, or no such decision on it: one finding, and nothing else is looked at",
             "stray": SIGNED | {"standing": "fails"}, "findings": [["EXECUTION_WITHOUT_DECISION", "first"]]}
    return {"no_such_action": stray} | step_2() | step_3() | step_4() | step_5()
