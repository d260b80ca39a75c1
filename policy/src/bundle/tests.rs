use super::*;

const REGISTRY: &str = r#"
    v = 1
    [provider.notes.tool.note_read]
    service = "notes"
    verb = "read"
    nouns = [{ type = "path", at = "/path" }]
"#;

const PERMIT: &str = r#"@id("b") permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes")
    when { context.now < datetime("2027-01-01T00:00:00Z") };"#;
const FORBID: &str =
    r#"@id("a") forbid (principal, action == Gw::Action::"notes.read", resource == Gw::Path::"/notes/x");"#;

fn digest_of(registry: &str, rules: &str) -> Digest {
    Bundle::compile(registry, rules).expect("good bundle").digest()
}

/// P8: the digest is of what decides, not of how it is written down.
#[test]
fn order_and_comments_of_rules_do_not_change_the_digest() {
    let one = digest_of(REGISTRY, &format!("{PERMIT}\n{FORBID}"));
    let other = digest_of(REGISTRY, &format!("// why\n{FORBID}\n\n{PERMIT}"));

    assert_eq!(one, other);
}

/// P8
#[test]
fn anything_that_decides_changes_the_digest() {
    let base = digest_of(REGISTRY, PERMIT);

    for (registry, rules) in [
        (REGISTRY.to_owned(), String::new()),
        (REGISTRY.to_owned(), PERMIT.replace("2027-01-01", "2027-01-02")),
        (REGISTRY.to_owned(), PERMIT.replace("@id(\"b\")", "@id(\"c\")")),
        (REGISTRY.to_owned(), PERMIT.replace("\"/notes\"", "\"/note\"")),
        (format!("{REGISTRY} # read"), PERMIT.to_owned()),
        (REGISTRY.replace("note_read", "note_red"), PERMIT.to_owned()),
    ] {
        assert_ne!(digest_of(&registry, &rules), base, "{rules}");
    }
}

/// The document whose digest the bundle's is, member by member.
#[test]
fn the_digest_is_of_the_documented_members() {
    let bundle = Bundle::compile(REGISTRY, &format!("{PERMIT}{FORBID}")).expect("good bundle");

    let schema = schema::of(bundle.registry(), false);
    let document = json!({
        "v": 1,
        "engine": "cedar-policy 4.14.1",
        "schema": Digest::of(&json::canonical(&schema)),
        "registry": Digest::of(REGISTRY.as_bytes()),
        "rules": [
            { "id": "a", "digest": bundle.rules()[0].digest() },
            { "id": "b", "digest": bundle.rules()[1].digest() },
        ],
    });
    assert_eq!(bundle.digest(), Digest::of(&json::canonical(&document)));
}

#[test]
fn the_first_deadline_is_the_bundles() {
    let sooner = PERMIT.replace("\"b\"", "\"c\"").replace("2027-01-01", "2026-12-01");
    let bundle = Bundle::compile(REGISTRY, &format!("{PERMIT}{sooner}{FORBID}")).expect("good");

    let expires_at = bundle.expires_at().expect("there are permits");
    assert_eq!(expires_at.to_string(), "2026-12-01T00:00:00.000Z");
    assert_eq!(Bundle::compile(REGISTRY, FORBID).expect("good").expires_at(), None);
}

/// G3
#[test]
fn a_deadline_beyond_a_year_is_not_published() {
    let at = |text| Timestamp::parse(text).expect("time");
    let bundle = Bundle::compile(REGISTRY, PERMIT).expect("good bundle");

    assert!(bundle.publishable(at("2026-11-30T00:00:00.000Z")).is_ok());
    let errors = bundle.publishable(at("2025-12-30T23:59:59.999Z")).expect_err("too far ahead");
    assert_eq!(errors[0].place(), "rules: b");
}

#[test]
fn nothing_is_loaded_if_anything_is_wrong() {
    assert!(Bundle::compile("v = 2", "").is_err());
    assert!(Bundle::compile(REGISTRY, &format!("{PERMIT} permit (principal, action, resource);")).is_err());
}

#[test]
fn a_project_without_rules_or_tools_compiles() {
    let bundle = Bundle::compile("v = 1\n", "").expect("an empty bundle");

    assert!(bundle.rules().is_empty());
}
