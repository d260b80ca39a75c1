//! The demo's registry and rules say what the demo's cases expect.

use counterfoil_core::digest::Digest;
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{Bundle, Registry, cases, with_pins};
use std::fs;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo").join(name);
    fs::read_to_string(path).expect("a file of the demo")
}

#[test]
fn the_demo_allows_denies_and_holds_as_its_cases_say() {
    let at = Timestamp::parse("2026-11-30T00:00:00.000Z").expect("time");
    let registry = file("registry.toml");
    let provider = Registry::parse(&registry).expect("good registry");
    let tools = provider.provider("notes").expect("the demo's provider").tools();
    let pins: Vec<(String, Digest)> =
        tools.map(|tool| (tool.name().to_string(), Digest::of(b"any definition"))).collect();
    let pinned = with_pins(&registry, "notes", &pins).expect("good registry");
    let rules = file("rules.cedar").replace("DEADLINE", "2026-12-30T00:00:00Z");

    let bundle = Bundle::compile(&pinned, &rules).unwrap_or_else(|errors| panic!("{errors:?}"));
    let report = cases::run(&bundle, &file("cases.toml"), at).expect("good cases");

    assert!(bundle.publishable(at).is_ok());
    assert!(report.passed(), "{report}");
}
