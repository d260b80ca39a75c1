//! docs/architecture.md draws which room may import which. There are no other arrows.

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use counterfoil_tests::repository;
use std::collections::BTreeSet;

/// Package, what it may import, what its tests may import besides.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("counterfoil-core", &[], &[]),
    ("counterfoil-policy", &["counterfoil-core"], &[]),
    ("counterfoil-jwks", &["counterfoil-core"], &[]),
    ("counterfoil-migrations", &[], &[]),
    ("counterfoil-gateway", &["counterfoil-core", "counterfoil-policy", "counterfoil-jwks"], &[]),
    (
        "counterfoil-evidence",
        &["counterfoil-core", "counterfoil-policy", "counterfoil-jwks", "counterfoil-migrations"],
        &[],
    ),
    (
        "counterfoil",
        &[
            "counterfoil-core",
            "counterfoil-policy",
            "counterfoil-jwks",
            "counterfoil-gateway",
            "counterfoil-evidence",
        ],
        &[],
    ),
    ("counterfoil-sdk", &["counterfoil-core"], &[]),
    // It drives processes from outside; the core is for checking what they say.
    ("counterfoil-tests", &["counterfoil-core"], &[]),
];

/// Crates that touch the world. The pure rooms have none of them, however far down.
const WORLDLY: &[&str] = &["tokio", "reqwest", "hyper", "socket2", "mio", "postgres", "tokio-postgres"];

fn packages() -> Vec<Package> {
    let manifest = repository::root().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    metadata.expect("cargo metadata reads the workspace").packages
}

fn ours(package: &Package, kinds: &[DependencyKind]) -> BTreeSet<String> {
    let dependencies = package.dependencies.iter().filter(|d| kinds.contains(&d.kind));
    dependencies.map(|d| d.name.clone()).filter(|name| name.starts_with("counterfoil")).collect()
}

#[test]
fn no_room_imports_what_no_arrow_draws() {
    let packages = packages();
    for package in &packages {
        let name = package.name.as_str();
        let arrows = ARROWS.iter().find(|(drawn, ..)| *drawn == name);
        let (_, allowed, in_tests) = arrows.unwrap_or_else(|| panic!("`{name}` is in no room"));

        let built = ours(package, &[DependencyKind::Normal, DependencyKind::Build]);
        let stray: Vec<_> = built.iter().filter(|d| !allowed.contains(&d.as_str())).collect();
        assert!(stray.is_empty(), "`{name}` imports {stray:?}");

        let tested = ours(package, &[DependencyKind::Development]);
        let drawn = |d: &str| allowed.contains(&d) || in_tests.contains(&d) || d == name;
        let stray: Vec<_> = tested.iter().filter(|d| !drawn(d)).collect();
        assert!(stray.is_empty(), "the tests of `{name}` import {stray:?}");
    }
    assert_eq!(packages.len(), ARROWS.len(), "a room in the list is not in the workspace");
}

/// G1: the evaluation can reach no file, socket or clock that a dependency would offer.
#[test]
fn the_pure_rooms_depend_on_nothing_that_touches_the_world() {
    let manifest = repository::root().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).exec().expect("cargo metadata resolves");
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let name_of = |id: &cargo_metadata::PackageId| metadata[id].name.to_string();

    for pure in ["counterfoil-core", "counterfoil-policy"] {
        let start = metadata.packages.iter().find(|p| p.name.as_str() == pure).expect("a room of this name");
        let (mut waiting, mut seen) = (vec![start.id.clone()], BTreeSet::new());
        while let Some(id) = waiting.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            assert!(!WORLDLY.contains(&name_of(&id).as_str()), "`{pure}` reaches {}", name_of(&id));
            let node =
                resolve.nodes.iter().find(|node| node.id == id).expect("every package is in the graph");
            let normal = |d: &&cargo_metadata::NodeDep| {
                d.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
            };
            waiting.extend(node.deps.iter().filter(normal).map(|d| d.pkg.clone()));
        }
        assert!(seen.len() > 10, "the graph of `{pure}` was walked");
    }
}
