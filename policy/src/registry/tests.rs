use super::*;

const NOTES: &str = r#"
v = 1

# The sandbox of the demo.
[provider.notes]
capability = true
sign_within = 60

[provider.notes.tool.note_read]
service = "notes" # short
verb = "read"
nouns = [{ type = "path", at = "/path" }]
operation = "read"
redact = ["text"]
"#;

/// The first defect of `text`, as `place: what`.
fn defect(text: &str) -> (String, String) {
    let errors = Registry::parse(text).expect_err("the registry is bad");
    (errors[0].place().to_owned(), errors[0].fault().to_string())
}

/// One tool with these members beside service and verb.
fn with_tool(members: &str) -> String {
    format!("v = 1\n[provider.p.tool.t]\nservice = \"s\"\nverb = \"read\"\n{members}\n")
}

#[test]
fn a_registry_says_what_its_text_says() {
    let registry = Registry::parse(NOTES).expect("good registry");

    let provider = registry.provider("notes").expect("known provider");
    assert!(provider.capability() && !provider.receipt() && !provider.signs());
    assert_eq!(provider.sign_within(), Duration::from_secs(60));
    let tool = provider.tool("note_read").expect("known tool");
    assert_eq!(tool.action(), "notes.read");
    assert_eq!(tool.dimensions().operation, Some(Operation::Read));
    assert_eq!(tool.dimensions().data_class, None);
    assert_eq!(tool.pin(), None);
    assert_eq!(tool.redacted(), ["text"]);
    assert!(!tool.reaches_itself());
}

#[test]
fn a_tool_is_shown_to_those_it_names_and_to_all_when_it_names_none() {
    let agent = |last: &str| format!("agt_019355a0c000700080000000000{last}").parse().expect("an id");
    let shown = |members: &str| {
        let registry = Registry::parse(&with_tool(&format!("nouns = [{{ type = \"tool\" }}]\n{members}")));
        let registry = registry.expect("good registry");
        let tool = registry.provider("p").and_then(|p| p.tool("t")).expect("known tool").clone();
        (tool.is_shown_to(agent("0d001")), tool.is_shown_to(agent("0d002")))
    };

    assert_eq!(shown(""), (true, true));
    assert_eq!(shown("shown_to = [\"agt_019355a0c0007000800000000000d001\"]"), (true, false));
    assert_eq!(shown("shown_to = []"), (false, false));
}

#[test]
fn an_unknown_field_is_refused_with_its_line() {
    for (text, line) in [
        ("v = 1\nallow = true\n", 2),
        ("v = 1\n[provider.p]\ncapabilty = true\n", 3),
        (&with_tool("nouns = [{ type = \"tool\", any = 1 }]"), 5),
    ] {
        let (place, what) = defect(text);
        assert_eq!(place, format!("registry: line {line}"), "{text}");
        assert!(what.contains("unknown field"), "{what}");
    }
}

/// G2: verbs and dimensions are closed vocabularies.
#[test]
fn a_word_outside_its_vocabulary_is_refused() {
    let tool = "nouns = [{ type = \"tool\" }]";
    for text in [
        with_tool(tool).replace("\"read\"", "\"peek\""),
        with_tool(&format!("{tool}\noperation = \"look\"")),
        with_tool(&format!("{tool}\ndata_class = \"secret\"")),
        with_tool(&format!("{tool}\ndestination = \"moon\"")),
        with_tool(&format!("{tool}\nmagnitude = \"huge\"")),
        with_tool(&format!("{tool}\nreversibility = \"maybe\"")),
        with_tool(&format!("{tool}\npin = \"sha256:00\"")),
        with_tool(tool).replace("\"s\"", "\"a.b\""),
        with_tool(tool).replace("provider.p", "provider.P"),
    ] {
        let (place, _) = defect(&text);
        assert!(place.starts_with("registry: line "), "{text}: {place}");
    }
}

#[test]
fn a_tool_without_nouns_is_refused() {
    assert_eq!(defect(&with_tool("nouns = []")).0, "registry: provider.p.tool.t.nouns");
    assert!(defect(&with_tool("")).1.contains("missing field `nouns`"));
}

#[test]
fn a_noun_has_one_pointer_and_the_tool_itself_none() {
    for noun in [
        r#"{ type = "path" }"#,
        r#"{ type = "path", at = "/a", each = "/b" }"#,
        r#"{ type = "tool", at = "/a" }"#,
        r#"{ type = "path", at = "a" }"#,
        r#"{ type = "path", at = "" }"#,
        r#"{ type = "path", at = "/a~2" }"#,
        r#"{ type = "agent", at = "/a" }"#,
        r#"{ type = "a_1", at = "/a" }"#,
    ] {
        let (place, _) = defect(&with_tool(&format!("nouns = [{noun}]")));
        assert_eq!(place, "registry: provider.p.tool.t.nouns[0]", "{noun}");
    }
}

#[test]
fn the_tool_itself_stands_alone() {
    let text = with_tool(r#"nouns = [{ type = "tool" }, { type = "path", at = "/a" }]"#);

    assert_eq!(defect(&text).1, "`tool` stands alone or not at all");
}

/// C1: an audience is one provider.
#[test]
fn two_providers_under_one_resource_are_refused() {
    let text = "v = 1\n[provider.a]\nresource = \"urn:x\"\n[provider.b]\nresource = \"urn:x\"\n";

    assert_eq!(defect(text).0, "registry: provider.b.resource");
}

#[test]
fn a_resource_that_is_no_uri_is_refused() {
    for resource in ["", "notes", "urn:a b", "https://é", "Urn:a"] {
        let text = format!("v = 1\n[provider.a]\nresource = \"{resource}\"\n");
        assert_eq!(defect(&text).0, "registry: provider.a.resource", "{resource}");
    }
}

#[test]
fn a_field_that_two_tools_of_one_action_type_differently_is_refused() {
    let mut text =
        with_tool("nouns = [{ type = \"tool\" }]\nfields = { n = { at = \"/n\", type = \"long\" } }");
    text += "[provider.p.tool.u]\nservice = \"s\"\nverb = \"read\"\nnouns = [{ type = \"tool\" }]\nfields = { n = { at = \"/n\", type = \"bool\" } }\n";

    assert_eq!(defect(&text).0, "registry: provider.p.tool.u.fields.n");
}

#[test]
fn a_time_to_sign_out_of_range_is_refused() {
    for seconds in ["0", "2592001"] {
        let text = format!("v = 1\n[provider.a]\nsign_within = {seconds}\n");
        assert_eq!(defect(&text).0, "registry: provider.a.sign_within");
    }
}

#[test]
fn another_version_is_refused() {
    assert_eq!(defect("v = 2\n").0, "registry: v");
}

#[test]
fn every_defect_is_reported() {
    let text = "v = 3\n[provider.a]\nresource = \"x\"\nsign_within = 0\n";

    assert_eq!(Registry::parse(text).expect_err("bad").len(), 3);
}

#[test]
fn a_registry_that_is_too_large_is_refused() {
    let text = format!("v = 1\n#{}", "x".repeat(MAX_DOCUMENT));

    assert!(defect(&text).1.contains("larger than"));
}

#[test]
fn pins_are_written_without_touching_the_rest() {
    let pin = Digest::of(b"definition");
    let pins = [("note_read".to_owned(), pin), ("unnamed".to_owned(), pin)];

    let pinned = with_pins(NOTES, "notes", &pins).expect("good registry");

    assert_eq!(pinned.replace(&format!("pin = \"{pin}\"\n"), ""), NOTES);
    let registry = Registry::parse(&pinned).expect("still good");
    let tool = registry.tool("notes", "note_read").expect("known tool");
    assert_eq!(tool.pin(), Some(pin));
    assert!(registry.tool("notes", "unnamed").is_none());
}

/// T4: the nearest word counts, and nothing said means sealed.
#[test]
fn what_is_kept_is_said_by_the_tool_else_its_provider_else_the_registry() {
    let tool = |name: &str, store: &str| {
        let nouns = "nouns = [{ type = \"tool\" }]";
        format!("[provider.p.tool.{name}]\nservice = \"s\"\nverb = \"read\"\n{nouns}\n{store}\n")
    };
    let registry = |top: &str, provider: &str| {
        let own =
            tool("own", "store = \"sealed\"") + &tool("shaped", "store = \"shape\"") + &tool("quiet", "");
        Registry::parse(&format!("v = 1\n{top}\n[provider.p]\n{provider}\n{own}")).expect("good registry")
    };
    let kept = |registry: &Registry| {
        [
            (Some("p"), Some("own")),
            (Some("p"), Some("shaped")),
            (Some("p"), Some("quiet")),
            (Some("p"), None),
            (None, None),
        ]
        .map(|(provider, tool)| registry.store(provider, tool))
    };
    use Store::{Sealed, Shape};

    assert_eq!(kept(&registry("", "")), [Sealed, Shape, Sealed, Sealed, Sealed]);
    assert_eq!(kept(&registry("store = \"shape\"", "")), [Sealed, Shape, Shape, Shape, Shape]);
    assert_eq!(
        kept(&registry("store = \"shape\"", "store = \"sealed\"")),
        [Sealed, Shape, Sealed, Sealed, Shape]
    );
    assert_eq!(registry("", "").store(Some("p"), Some("unlisted")), Sealed);
    assert_eq!(registry("", "store = \"shape\"").store(Some("p"), Some("unlisted")), Shape);
    assert_eq!(registry("store = \"shape\"", "").store(Some("nobody"), Some("own")), Shape);
    let (place, _) = defect("v = 1\nstore = \"clear\"\n");
    assert!(place.starts_with("registry: line 2"), "{place}");
}
