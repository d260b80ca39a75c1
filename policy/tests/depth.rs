//! A rule that goes as deep as is allowed compiles and is judged on a small thread; a deeper one is refused before it
//! can end the process (T8).

use counterfoil_core::statement::{Environment, Mode, Origin, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{
    Asked, BaseVerdict, Bundle, Call, Facts, Fault, Grants, LintError, Listed, RuleFault, Standing, classify,
    evaluate, pin_of,
};
use serde_json::json;

/// Smaller than a worker thread of tokio.
const STACK: usize = 512 * 1024;

const YES: &str = "context.tool == \"t\"";
const NO: &str = "context.tool == \"u\"";

type Nesting = fn(usize) -> String;

/// True conditions that nest `n` levels, and the operators and brackets that one level takes.
const NESTINGS: [(Nesting, usize); 6] = [
    (|n| format!("{}{YES}{}", "(".repeat(n), ")".repeat(n)), 2),
    (|n| format!("{}{YES}{}", "!(!(".repeat(n), "))".repeat(n)), 6),
    (|n| vec![YES; n + 1].join(" && "), 5),
    (|n| format!("{}{YES}", format!("{NO} || ").repeat(n)), 5),
    (|n| format!("{}{YES}", format!("if {NO} then {NO} else ").repeat(n)), 7),
    (|n| format!("{}1{}{} == 1", "{a: ".repeat(n), "}".repeat(n), ".a".repeat(n)), 3),
];

fn on_a_small_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    thread.join().expect("no overflow")
}

fn compiled(condition: String) -> Result<Bundle, Vec<LintError>> {
    let pin = pin_of(&json!({ "name": "t" }));
    let registry = format!(
        "v = 1\n[provider.p.tool.t]\nservice = \"s\"\nverb = \"read\"\npin = \"{pin}\"\n\
         nouns = [{{ type = \"path\", at = \"/path\" }}]\n"
    );
    let rules = format!(
        "@id(\"r\") forbid (principal, action, resource) when {{ context.tool == \"t\" && ({condition}) }};"
    );
    Bundle::compile(&registry, &rules)
}

fn verdict(bundle: &Bundle) -> Verdict {
    let (listed, arguments) = (Listed::read(&json!({ "name": "t" })), json!({ "path": "/a" }));
    let call = Call { provider: "p", tool: "t", listed: &listed, arguments: &arguments };
    let asked = Asked {
        agent: "agt_019355a0c0007000800000000000d001".parse().expect("an agent"),
        principal: None,
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("p"),
        tool: Some("t"),
        args: None,
        now: Timestamp::parse("2026-11-30T00:00:00.000Z").expect("a time"),
        base_verdict: BaseVerdict::StepUp,
        standing: Standing::default(),
    };
    evaluate(bundle, &Grants::default(), &Facts::of(&asked, &classify(bundle.registry(), &call))).verdict
}

#[test]
fn a_rule_that_goes_too_deep_is_refused() {
    for (nesting, _) in NESTINGS {
        for n in [251, 3_000] {
            let refused = on_a_small_thread(move || compiled(nesting(n)).map(|_| ()));
            let errors = refused.expect_err("too deep");
            assert_eq!(errors[0].fault(), &Fault::Rule(RuleFault::TooDeep));
        }
    }
}

#[test]
fn a_rule_as_deep_as_is_allowed_is_judged_on_a_small_thread() {
    // The rule around the condition takes some operators, too.
    let left = 250 - 20;
    for (nesting, each) in NESTINGS {
        let judged = on_a_small_thread(move || compiled(nesting(left / each)).map(|b| verdict(&b)));
        assert!(matches!(judged, Ok(Verdict::Deny)), "{judged:?}");
    }
}

#[test]
fn strings_and_comments_do_not_count() {
    let long = "(".repeat(1_000);
    assert!(compiled(format!("context.tool != \"{long}\\\"{long}\" // {long}\n")).is_ok());
    // A carriage return ends a comment for Cedar, so it does here.
    let hidden = format!("true // \r {}true{}", "(".repeat(300), ")".repeat(300));
    let errors = on_a_small_thread(move || compiled(hidden).map(|_| ())).expect_err("too deep");
    assert_eq!(errors[0].fault(), &Fault::Rule(RuleFault::TooDeep));
}
