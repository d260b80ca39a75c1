//! Drafts of provider lists, compiled as an operator would publish them.

use super::*;
use counterfoil_policy::Bundle;
use serde_json::json;

const NOW: i64 = 1_796_041_200_000;

fn drafted(tools: &[Value], folders: &[&str]) -> Draft {
    let circumstances = Circumstances {
        provider: "my-files".parse().unwrap(),
        now: Timestamp::from_millis(NOW).unwrap(),
        folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
        kept: Path::new("/srv/files/.counterfoil"),
    };
    draft(tools, circumstances)
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn with(mut tool: Value, member: &str, value: Value) -> Value {
    tool[member] = value;
    tool
}

fn with_path(name: &str) -> Value {
    with(tool(name), "inputSchema", json!({ "properties": { "path": { "type": "string" } } }))
}

fn fate_of<'a>(draft: &'a Draft, name: &str) -> &'a Fate {
    &draft.tools.iter().find(|tool| tool.name.as_str() == name).unwrap().fate
}

fn compiled(draft: &Draft) -> Bundle {
    let registry = format!("v = 1\n{}", draft.registry_section());
    Bundle::compile(&registry, &draft.rules_section())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{registry}\n{}", draft.rules_section()))
}

#[test]
fn reads_are_allowed_on_concrete_nouns_and_everything_else_is_held() {
    let tools = [tool("list_notes"), with_path("read_file"), with_path("write_file"), tool("sync")];

    let draft = drafted(&tools, &["/srv/files"]);

    assert_eq!(*fate_of(&draft, "list_notes"), Fate::AllowedItself);
    assert_eq!(*fate_of(&draft, "read_file"), Fate::AllowedBelow(vec!["/srv/files".to_owned()]));
    assert!(matches!(fate_of(&draft, "write_file"), Fate::Held(_)));
    assert!(matches!(fate_of(&draft, "sync"), Fate::Held(_)));
    let bundle = compiled(&draft);
    let ids: Vec<&str> = bundle.rules().iter().map(|rule| rule.id().as_str()).collect();
    assert_eq!(ids, ["my-files-keeps-out", "my-files-list_notes", "my-files-read_file"]);
}

#[test]
fn a_drafted_allow_ends_in_a_day() {
    let draft = drafted(&[tool("list_notes")], &[]);

    assert_eq!(draft.until.millis(), NOW + 86_400_000);
    assert!(draft.rules_section().contains(&format!("datetime(\"{}Z\")", &draft.until.to_string()[..19])));
}

/// G2: annotations are hints. They take an allow away and never give one.
#[test]
fn an_annotation_never_allows_what_the_name_does_not() {
    let read_only = json!({ "readOnlyHint": true, "destructiveHint": false });
    let tools = [
        with(tool("open_nodes"), "annotations", read_only.clone()),
        with(tool("delete_all"), "annotations", read_only),
        with(tool("get_token"), "annotations", json!({ "readOnlyHint": false })),
        with(tool("get_page"), "annotations", json!({ "openWorldHint": true })),
        with(tool("read_once"), "annotations", json!({ "destructiveHint": true })),
    ];

    let draft = drafted(&tools, &[]);

    assert!(draft.tools.iter().all(|tool| matches!(tool.fate, Fate::Held(_))));
    assert!(draft.registry_section().contains("# hints of its server, never authority: readOnlyHint=true"));
    assert!(compiled(&draft).rules().is_empty());
}

#[test]
fn a_path_is_allowed_below_folders_that_the_command_names_alone() {
    assert!(matches!(fate_of(&drafted(&[with_path("read_file")], &[]), "read_file"), Fate::Held(_)));
    let inside = drafted(&[with_path("read_file")], &["/srv/files/.counterfoil/keys"]);
    assert!(matches!(fate_of(&inside, "read_file"), Fate::Held(_)));

    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    let real = std::fs::canonicalize(folder.path().join("notes")).unwrap();
    let command = ["server", "--flag", "notes", "absent", "/", ".."].map(str::to_owned);
    let above = std::fs::canonicalize(folder.path().parent().unwrap()).unwrap();
    let mut expected = vec![real.display().to_string(), above.display().to_string()];
    expected.sort();
    assert_eq!(folders_of(&command, folder.path()), expected);
}

/// G2: a draft pins what was listed, so that a change is noticed from the first call on.
#[test]
fn every_drafted_tool_is_pinned() {
    let tools = [tool("list_notes"), tool("sync")];

    let draft = drafted(&tools, &[]);

    for (drafted, listed) in draft.tools.iter().zip(&tools) {
        assert_eq!(drafted.pin, pin_of(listed));
        assert!(draft.registry_section().contains(&drafted.pin.to_string()));
    }
}

#[test]
fn no_name_of_a_provider_can_write_a_line_of_the_draft() {
    let evil = "read\"]\npermit (principal, action, resource);\n#";
    let tools = [
        tool(evil),
        tool("get_\"quoted\\name\""),
        tool("get_a.b [c]"),
        with(
            tool("get_b"),
            "inputSchema",
            json!({ "properties": { evil: {}, "a\"b/path": { "type": "string" } } }),
        ),
        tool("somebody@example.com"),
        tool("twice"),
        tool("twice"),
    ];

    let draft = drafted(&tools, &["/srv/files"]);
    let bundle = compiled(&draft);

    assert_eq!(draft.left_out.len(), 3);
    assert!(!draft.rules_section().contains("\npermit (principal, action, resource)"));
    assert_eq!(bundle.rules().len(), 4);
}

#[test]
fn a_draft_is_marked_until_a_person_publishes_it() {
    let draft = drafted(&[tool("list_notes")], &[]);
    let (registry, rules) = (draft.registry_section(), draft.rules_section());

    assert!(is_marked(&registry) && is_marked(&rules));
    assert!(!is_marked(&without_marks(&registry)) && !is_marked(&without_marks(&rules)));
    assert!(Bundle::compile(&format!("v = 1\n{}", without_marks(&registry)), &without_marks(&rules)).is_ok());
}

#[test]
fn what_stands_in_the_three_files_is_kept_and_added_to() {
    use crate::deployment::providers::{Plan, ProviderPlan};
    let folder = tempfile::TempDir::new().unwrap();
    let command = |name: &str| ProviderPlan::of(vec![name.to_owned()]);
    let first = drafted(&[tool("list_notes")], &[]);
    let mut second = drafted(&[tool("list_notes")], &[]);

    let mut place = Place::open(folder.path()).unwrap();
    place.add(&first, &command("one")).unwrap();
    let kept = std::fs::read_to_string(folder.path().join("registry.toml")).unwrap();
    let mut place = Place::open(folder.path()).unwrap();
    second.provider = place.free(&second.provider);
    place.add(&second, &command("two")).unwrap();

    let plan = Plan::from_file(&folder.path().join("counterfoil.toml")).unwrap();
    let ids: Vec<&str> = plan.providers.keys().map(ProviderId::as_str).collect();
    assert_eq!(ids, ["my-files", "my-files-2"]);
    let registry = std::fs::read_to_string(plan.registry).unwrap();
    assert!(registry.starts_with(&kept));
    assert!(Bundle::compile(&registry, &std::fs::read_to_string(plan.rules).unwrap()).is_ok());
    assert_eq!(
        Place::open(folder.path()).unwrap().reached_by(&command("two")).next(),
        Some(&second.provider)
    );
}
