use super::*;

const REGISTRY: &str = r#"
    v = 1
    [provider.notes.tool.note_read]
    service = "notes"
    verb = "read"
    nouns = [{ type = "path", at = "/path" }]
    pin = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
    [provider.notes.tool.unpinned]
    service = "notes"
    verb = "list"
    nouns = [{ type = "tool" }]
"#;

const RULES: &str = r#"@id("read") permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes")
    when { context.now < datetime("2027-01-01T00:00:00Z") };"#;

fn report(cases: &str) -> Report {
    let bundle = Bundle::compile(REGISTRY, RULES).expect("good bundle");
    let at = Timestamp::parse("2026-12-01T00:00:00.000Z").expect("time");
    run(&bundle, cases, at).expect("good cases")
}

#[test]
fn cases_that_hold_pass() {
    let report = report(
        r#"
        [[case]]
        name = "inside"
        provider = "notes"
        tool = "note_read"
        args = { path = "/notes/a" }
        verdict = "ALLOW"
        reason = "rule"
        rules = ["read"]
        [[case]]
        name = "next year"
        provider = "notes"
        tool = "note_read"
        args = { path = "/notes/a" }
        at = "2027-01-01T00:00:00.000Z"
        verdict = "STEP_UP"
        reason = "no_rule"
        [[case]]
        name = "changed"
        provider = "notes"
        tool = "note_read"
        args = { path = "/notes/a" }
        definition = "changed"
        verdict = "STEP_UP"
        reason = "definition_changed"
        [[case]]
        name = "without a pin"
        provider = "notes"
        tool = "unpinned"
        verdict = "STEP_UP"
        reason = "definition_changed"
        "#,
    );

    assert!(report.passed(), "{report}");
    assert!(report.to_string().ends_with("4 of 4 cases hold"));
}

#[test]
fn a_case_that_does_not_hold_fails_the_report_and_says_how() {
    for (expectation, difference) in [
        ("verdict = \"DENY\"", "expected DENY, got ALLOW rule by [\"read\"]"),
        ("verdict = \"ALLOW\"\nreason = \"no_rule\"", "expected reason no_rule"),
        ("verdict = \"ALLOW\"\nrules = [\"other\"]", "expected rules"),
    ] {
        let report = report(&format!(
            "[[case]]\nname = \"inside\"\nprovider = \"notes\"\ntool = \"note_read\"\nargs = {{ path = \"/notes/a\" }}\n{expectation}\n"
        ));
        assert!(!report.passed());
        assert!(report.to_string().contains(difference), "{report}");
    }
}

#[test]
fn no_cases_are_no_proof() {
    assert!(!report("case = []").passed());
}

#[test]
fn a_case_with_an_unknown_member_is_refused() {
    let bundle = Bundle::compile(REGISTRY, RULES).expect("good bundle");
    let at = Timestamp::parse("2026-12-01T00:00:00.000Z").expect("time");
    let text =
        "[[case]]\nname = \"a\"\nprovider = \"p\"\ntool = \"t\"\nverdict = \"DENY\"\nresason = \"rule\"\n";

    assert!(run(&bundle, text, at).is_err());
}

const READ: &str = "provider = \"notes\"\ntool = \"note_read\"\n";

/// G3, G8
#[test]
fn cases_say_what_people_did() {
    let grant = |until: &str, more: &str| {
        format!(
            "grants = [{{ action = \"notes.read\", noun = {{ type = \"path\", value = \"/etc/a\" }}, until = \"{until}\"{more} }}]"
        )
    };
    let later = "2026-12-02T00:00:00.000Z";
    for (said, verdict, reason) in [
        (grant(later, ""), "ALLOW", "grant"),
        (grant(later, "") + "\nrules = [\"grt_00000000000070008000000000000000\"]", "ALLOW", "grant"),
        (grant(later, ", fields = { gone = 1 }"), "STEP_UP", "no_rule"),
        (grant("2026-12-01T00:00:00.000Z", ""), "STEP_UP", "no_rule"),
        ("approved = true".to_owned(), "ALLOW", "approved"),
        ("approved = true\nbase_verdict = \"DENY\"".to_owned(), "DENY", "no_rule"),
        ("stopped = true\napproved = true".to_owned(), "DENY", "killed"),
        (format!("breakglass_until = \"{later}\""), "ALLOW", "break_glass"),
        (format!("shadow_until = \"{later}\"\neffect = \"advisory\""), "STEP_UP", "no_rule"),
        ("effect = \"enforced\"".to_owned(), "STEP_UP", "no_rule"),
    ] {
        let report = report(&format!(
            "[[case]]\nname = \"x\"\n{READ}args = {{ path = \"/etc/a\" }}\nverdict = \"{verdict}\"\nreason = \"{reason}\"\n{said}\n"
        ));
        assert!(report.passed(), "{said}: {report}");
    }
    let wrong = report(&format!(
        "[[case]]\nname = \"x\"\n{READ}args = {{ path = \"/etc/a\" }}\nverdict = \"STEP_UP\"\neffect = \"advisory\"\n"
    ));
    assert!(wrong.to_string().contains("expected it advisory, got enforced"), "{wrong}");
}
