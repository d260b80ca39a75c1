//! docs/security.md names every guarantee, and every test that it names exists.

use counterfoil_tests::repository;
use std::collections::BTreeSet;

/// Letter and how many there are.
const GUARANTEES: &[(&str, u32)] = &[("P", 10), ("G", 13), ("C", 10), ("T", 12), ("E", 6), ("R", 1)];
const NOT_YET: &str = "not enforced yet";

/// Rows of the table: `| **P1** … | `a_test`, `another` |`.
fn rows() -> Vec<(String, String)> {
    let text =
        std::fs::read_to_string(repository::root().join("docs/security.md")).expect("docs/security.md");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let table = text.lines().filter(|line| line.starts_with("| **")).map(cells);
    table
        .map(|row| {
            let id = row[1].trim_start_matches("**").split("**").next().unwrap_or("").to_owned();
            (id, row.get(3).cloned().unwrap_or_default())
        })
        .collect()
}

fn test_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in repository::tracked().expect("git lists the files") {
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or("").to_owned();
        let read = || std::fs::read_to_string(repository::root().join(&file)).expect("sources are UTF-8");
        if extension == "py" && file.starts_with("sdk") {
            names.extend(python_tests(&read()));
        }
        if extension != "rs" {
            continue;
        }
        let text = read();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let name = line.trim_start_matches("async ").strip_prefix("fn ");
            if let Some(name) = name.filter(|_| is_test) {
                names.insert(name.split(['(', '<']).next().unwrap_or("").to_owned());
                is_test = false;
            }
        }
        // Properties stand inside a macro without an attribute of their own.
        for test in text.split("#[test]").skip(1) {
            if let Some(name) = test.split("fn ").nth(1) {
                names.insert(name.split(['(', '<']).next().unwrap_or("").trim().to_owned());
            }
        }
    }
    names
}

/// Tests of the SDKs: both say the same, and unittest wants its prefix.
fn python_tests(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("async "));
    let names = lines.filter_map(|line| line.strip_prefix("def test_")?.split('(').next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_guarantee_has_a_row_that_says_what_proves_it() {
    let rows = rows();
    let tests = test_names();
    for (letter, count) in GUARANTEES {
        for number in 1..=*count {
            let id = format!("{letter}{number}");
            let proofs: Vec<_> = rows.iter().filter(|(row, _)| *row == id).collect();
            assert!(!proofs.is_empty(), "docs/security.md has no row for {id}");
            for (_, proof) in proofs {
                let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
                let honest = proof.contains(NOT_YET) || !named.is_empty();
                assert!(honest, "{id}: neither a test nor `{NOT_YET}`");
                for name in named {
                    assert!(tests.contains(name), "{id} names `{name}`, and there is no such test");
                }
            }
        }
    }
}
