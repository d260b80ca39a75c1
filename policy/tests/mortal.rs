//! G3: no type, column, flag or rule file can express an allow without an end.
//!
//! Names are all that a test can go by in SQL and in command lines, so the words below are forbidden there at all: whoever
//! needs one of them for something else finds another name.

use counterfoil_core::control::GrantDocument;
use counterfoil_core::statement::{Statement, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{BaseVerdict, Bundle, Facts, Grants, Registry, cases, evaluate};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// In the name of a column, a flag, a setting or a member of a struct, each would be an allow that nothing ends.
const ENDLESS: &[&str] = &[
    "allow",
    "always",
    "auto_approve",
    "bypass",
    "exempt",
    "forever",
    "never",
    "no_deadline",
    "override",
    "permanent",
    "permit",
    "skip",
    "unlimited",
    "whitelist",
];

/// Names that say what can allow. Whatever has such a name has an end.
const ALLOWING: &[&str] = &["grant", "breakglass", "break_glass", "shadow"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "target" | "node_modules" | ".git") {
            found.extend(files(&path, end));
        } else if name.ends_with(end) {
            found.push(path);
        }
    }
    found
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text file")
}

fn endless(name: &str) -> bool {
    ENDLESS.iter().any(|word| name.contains(word))
}

/// The columns of every table: table, column, the rest of its line.
fn columns(sql: &str) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    let mut table = None;
    for line in sql.lines() {
        let line = line.split("--").next().unwrap_or_default().trim().to_ascii_lowercase();
        if let Some(rest) = line.strip_prefix("create table ") {
            table = Some(rest.trim_start_matches("if not exists ").trim_end_matches(['(', ' ']).to_owned());
        } else if let Some(rest) = line.strip_prefix("alter table ") {
            let mut words = rest.split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            if let Some(column) = rest.split("add column ").nth(1) {
                let column = column.trim_start_matches("if not exists ");
                let (column, rest) = column.split_once(' ').unwrap_or((column, ""));
                found.push((name, column.to_owned(), rest.to_owned()));
            } else {
                table = Some(name);
            }
        } else if line.starts_with(')') || line.ends_with(';') && !line.contains("add column") {
            table = None;
        }
        let Some(name) = &table else { continue };
        let column = line.strip_prefix("add column ").unwrap_or(&line);
        if let Some((column, rest)) = column.split_once(char::is_whitespace)
            && !matches!(
                column,
                "create" | "alter" | "primary" | "unique" | "check" | "constraint" | "foreign"
            )
        {
            found.push((name.clone(), column.to_owned(), rest.trim().to_owned()));
        }
    }
    found
}

/// What is wrong with the columns.
fn immortal_columns(columns: &[(String, String, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (table, column, rest) in columns {
        if endless(column) {
            faults.push(format!("{table}.{column}"));
        }
        let says_when = column.ends_with("_until") || column.ends_with("_nonce") || column.ends_with("_id");
        if ALLOWING.iter().any(|word| column.contains(word)) && (!says_when || rest.starts_with("boolean")) {
            faults.push(format!("{table}.{column} says what is allowed and not until when"));
        }
    }
    let mut tables: Vec<&String> = columns.iter().map(|(table, ..)| table).collect();
    tables.sort_unstable();
    tables.dedup();
    for table in tables.into_iter().filter(|table| ALLOWING.iter().any(|word| table.contains(word))) {
        let ends = columns
            .iter()
            .any(|(of, column, rest)| of == table && column == "until" && rest.contains("not null"));
        if !ends {
            faults.push(format!("{table} has no `until … not null`"));
        }
    }
    faults
}

#[test]
fn no_column_holds_an_allow_without_an_end() {
    let sql = files(&root().join("migrations/sql"), ".sql");
    assert!(sql.len() >= 12, "the migrations are found");
    let columns: Vec<_> = sql.iter().flat_map(|path| columns(&text(path))).collect();
    assert!(columns.len() > 150, "only {} columns were read", columns.len());
    assert!(columns.iter().any(|(table, column, _)| table == "heads" && column == "policy"));

    assert_eq!(immortal_columns(&columns), Vec::<String>::new());

    for gained in [
        "create table grants (\n    until bigint,\n    agent uuid not null\n);",
        "create table grants (\n    agent uuid not null\n);",
        "create table heads (\n    always_on boolean not null\n);",
        "alter table credentials add column bypass boolean;",
        "alter table heads\n    add column shadow boolean not null default false;",
        "alter table heads add column breakglass_open boolean not null;",
    ] {
        assert!(!immortal_columns(&self::columns(gained)).is_empty(), "{gained}");
    }
}

/// Members of structs: `name: Type`.
fn members(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        let (name, rest) = line.split_once(": ")?;
        let is_name = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        (is_name && rest.starts_with(|c: char| c.is_ascii_uppercase() || c == 'b')).then_some(name)
    })
}

#[test]
fn no_flag_setting_or_member_speaks_of_an_allow_without_an_end() {
    let mut read = 0;
    let mut sources = files(&root().join("cli/src/commands"), ".rs");
    sources.push(root().join("gateway/src/config.rs"));
    sources.push(root().join("evidence-service/src/config.rs"));
    sources.push(root().join("core/src/control.rs"));
    sources.push(root().join("core/src/hold.rs"));
    sources.push(root().join("core/src/statement/governance.rs"));
    sources.push(root().join("core/src/statement/settings.rs"));
    sources.push(root().join("policy/src/registry/file.rs"));
    sources.push(root().join("policy/src/facts.rs"));
    for path in sources {
        let code = text(&path);
        for name in members(&code) {
            read += 1;
            assert!(!endless(name), "{}: `{name}`", path.display());
        }
        for flag in code.split("long = \"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(!endless(&flag.replace('-', "_")), "{}: `--{flag}`", path.display());
        }
    }
    assert!(read > 150, "only {read} members were read");
    assert_eq!(members("    pub always_on: bool,\n    let x: u8").collect::<Vec<_>>(), ["always_on"]);
}

fn document() -> Value {
    json!({ "v": 1, "nonce": "AQEBAQEBAQEBAQEBAQEBAQ", "grant": "grt_019355a0c0007000800000000000e001",
            "agent": "agt_019355a0c0007000800000000000d001", "service": "notes", "verb": "read",
            "noun": { "type": "path", "value": "/a" }, "fields": {}, "until": "2026-12-01T00:00:00.000Z" })
}

/// Everything that is not a time.
fn no_ends() -> Vec<Value> {
    vec![
        json!(null),
        json!(""),
        json!("never"),
        json!("2026-12-01"),
        json!(0),
        json!(true),
        json!([]),
        json!({}),
    ]
}

fn without(mut document: Value, member: &str) -> Value {
    document.as_object_mut().expect("an object").remove(member);
    document
}

#[test]
fn no_grant_reads_without_an_end_or_a_noun() {
    let read = |document: Value| serde_json::from_value::<GrantDocument>(document);
    assert!(read(document()).is_ok());
    for member in ["until", "agent", "service", "verb", "noun"] {
        assert!(read(without(document(), member)).is_err(), "{member}");
        for nothing in [json!(null), json!(""), json!("*")] {
            let mut document = document();
            document[member] = nothing.clone();
            assert!(read(document).is_err(), "{member} = {nothing}");
        }
    }
    for end in no_ends() {
        let mut document = document();
        document["until"] = end.clone();
        assert!(read(document).is_err(), "{end}");
    }
}

/// The published statements about what may run, and the same without their end.
#[test]
fn no_statement_opens_what_nothing_closes() {
    let mut seen = Vec::new();
    for path in files(&root().join("docs/vectors/receipts"), ".json") {
        let receipt: Value = serde_json::from_str(&text(&path)).expect("JSON");
        let payload = &receipt["receipt"]["statement"]["payload"];
        let typ = payload["typ"].as_str().unwrap_or_default();
        if !matches!(typ, "grant/v1" | "breakglass/v1" | "shadow/v1") {
            continue;
        }
        assert!(Statement::from_payload(payload).is_ok(), "{}", path.display());
        assert!(Statement::from_payload(&without(payload.clone(), "until")).is_err(), "{typ}");
        for end in no_ends() {
            let mut payload = payload.clone();
            payload["until"] = end.clone();
            assert!(Statement::from_payload(&payload).is_err(), "{typ} until {end}");
        }
        seen.push(typ.to_owned());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, ["breakglass/v1", "grant/v1", "shadow/v1"]);
}

#[test]
fn a_base_verdict_is_never_an_allow() {
    assert!(BaseVerdict::try_from(Verdict::Allow).is_err());
    assert!(serde_json::from_value::<BaseVerdict>(json!("ALLOW")).is_err());
}

/// Every file of rules in the tree loads, and so ends: the lint refuses a permit without a deadline.
#[test]
fn every_rules_file_of_the_tree_ends() {
    let at = Timestamp::parse("2026-12-01T00:00:00.000Z").expect("a time");
    let rules = files(&root(), ".cedar");
    assert!(!rules.is_empty(), "the demo's rules are found");
    for path in rules {
        let written = text(&path).replace("DEADLINE", "2026-12-30T00:00:00Z");
        let registry = text(&path.with_file_name("registry.toml"));
        assert!(Registry::parse(&registry).is_ok(), "{}", path.display());
        let bundle = Bundle::compile(&registry, &written);
        let bundle = bundle.unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
        let permits = written.matches("permit (").count();
        assert_eq!(bundle.rules().iter().filter(|rule| rule.deadline().is_some()).count(), permits);
        // And it can be asked: a file of cases without any is no report.
        assert!(cases::run(&bundle, "", at).is_err());
    }
}

/// G3, G8: every published case that is allowed is not, once enough time has gone by. What an answer lifts ends elsewhere:
/// the record transaction takes an answer once, and before its `until`.
#[test]
fn every_allow_dies() {
    let mut died = 0;
    for path in files(&root().join("docs/vectors/policy"), ".json") {
        let case: Value = serde_json::from_str(&text(&path)).expect("JSON");
        if case["verdict"] != "ALLOW" || case["reason"] == "approved" {
            continue;
        }
        let (registry, rules) = (case["registry"].as_str(), case["rules"].as_str());
        let bundle = Bundle::compile(registry.expect("a text"), rules.expect("a text")).expect("a bundle");
        let documents: Vec<GrantDocument> =
            serde_json::from_value(case.get("grants").cloned().unwrap_or(json!([]))).expect("documents");
        let grants = Grants::compile(&documents, &bundle);
        let mut facts = case["facts"].clone();
        facts["context"]["now"] = json!("2031-01-01T00:00:00.000Z");
        let facts = Facts::parse(facts.to_string().as_bytes()).expect("facts");
        assert_ne!(evaluate(&bundle, &grants, &facts).verdict, Verdict::Allow, "{}", path.display());
        died += 1;
    }
    assert!(died >= 40, "only {died} cases were allowed");
}
