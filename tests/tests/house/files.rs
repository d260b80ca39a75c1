//! Files that can be read in one sitting, and nothing in them that belongs to one machine.

use counterfoil_tests::repository;
use std::path::Path;

/// Above this a file says at its top why it is so long.
const LONG: usize = 500;
/// Half of all source files stay below this, and nine in ten below the next.
const HALF: usize = 150;
const MOST: usize = 300;

fn source_lines() -> Vec<(String, usize, String)> {
    let files = repository::tracked().expect("git lists the files");
    let is_source = |file: &&std::path::PathBuf| {
        let extension = file.extension().and_then(|e| e.to_str()).unwrap_or("");
        ["rs", "py", "mjs", "ts", "go", "sh", "sql"].contains(&extension) || file.starts_with("scripts")
    };
    let read = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(repository::root().join(file)).expect("sources are UTF-8");
        (file.display().to_string(), text.lines().count(), text)
    };
    files.iter().filter(is_source).map(read).collect()
}

#[test]
fn a_file_of_more_than_500_lines_says_why() {
    for (file, lines, text) in source_lines() {
        let top: String = text.lines().take(12).collect::<Vec<_>>().join(" ");
        assert!(lines <= LONG || top.contains("Long because"), "{file} has {lines} lines");
    }
}

#[test]
fn most_files_can_be_read_in_one_sitting() {
    let mut lines: Vec<usize> = source_lines().into_iter().map(|(_, lines, _)| lines).collect();
    lines.sort_unstable();
    assert!(!lines.is_empty());
    assert!(lines[lines.len() / 2] < HALF, "the median file has {} lines", lines[lines.len() / 2]);
    assert!(lines[lines.len() * 9 / 10] < MOST, "one file in ten has {} lines", lines[lines.len() * 9 / 10]);
}

#[test]
fn no_module_is_a_mod_rs() {
    let files = repository::tracked().expect("git lists the files");
    let strays: Vec<_> = files.iter().filter(|file| file.file_name() == Some("mod.rs".as_ref())).collect();
    assert!(strays.is_empty(), "{strays:?}");
}

/// A lock file with addresses in it would send everybody to the registry of whoever made it.
#[test]
fn no_lock_file_names_a_registry() {
    let files = repository::tracked().expect("git lists the files");
    let is_lock = |name: &str| {
        name == "package-lock.json" || name.starts_with("requirements") && name.ends_with(".txt")
    };
    let locks = files.iter().filter(|file| file.file_name().and_then(|n| n.to_str()).is_some_and(is_lock));
    let locks: Vec<String> = locks.map(|file| file.display().to_string()).collect();
    assert!(locks.len() >= 2, "{locks:?}");
    for file in &locks {
        let text = std::fs::read_to_string(repository::root().join(file)).expect("lock files are there");
        assert!(!text.contains("\"resolved\""), "{file} says where packages were fetched");
        assert!(!text.contains("index-url") && !text.contains(" @ http"), "{file} names a registry");
        let pinned = |line: &str| line.trim().is_empty() || line.starts_with('#') || line.contains("==");
        assert!(file.ends_with(".json") || text.lines().all(pinned), "{file} has an open version");
    }
}

#[test]
fn both_commands_of_the_readme_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let readme = std::fs::read_to_string(repository::root().join("README.md")).expect("a README");
    for command in ["scripts/demo", "scripts/test"] {
        assert!(readme.contains(command), "README.md does not name {command}");
        let file = std::fs::metadata(repository::root().join(command)).expect("the command is there");
        assert!(file.permissions().mode() & 0o111 != 0, "{command} has no run bit");
    }
}

#[test]
fn every_link_between_documents_leads_somewhere() {
    for file in repository::tracked().expect("git lists the files") {
        if file.extension() != Some("md".as_ref()) {
            continue;
        }
        let text = std::fs::read_to_string(repository::root().join(&file)).expect("documents are UTF-8");
        let folder = repository::root().join(file.parent().unwrap_or(Path::new("")));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(folder.join(target).exists(), "{}: {link} leads nowhere", file.display());
        }
    }
}

#[test]
fn every_format_and_every_folder_of_cases_is_listed() {
    let formats = std::fs::read_to_string(repository::root().join("docs/formats/README.md")).expect("a list");
    let vectors = std::fs::read_to_string(repository::root().join("docs/vectors/README.md")).expect("a list");
    for file in repository::tracked().expect("git lists the files") {
        let text = file.display().to_string();
        match text.strip_prefix("docs/formats/") {
            Some(page) if page.ends_with(".md") && page != "README.md" => {
                assert!(
                    formats.contains(&format!("({page})")),
                    "docs/formats/README.md does not list {page}"
                );
            }
            Some(_) | None => {}
        }
        let folder = text.strip_prefix("docs/vectors/").and_then(|rest| rest.split_once('/'));
        if let Some((folder, "README.md")) = folder {
            assert!(
                vectors.contains(&format!("| {folder} |")),
                "docs/vectors/README.md does not list {folder}"
            );
        }
    }
}
