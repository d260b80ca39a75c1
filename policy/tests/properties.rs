//! Random rules and calls against a second, much smaller evaluator that knows nothing of Cedar (G3).

use counterfoil_core::id::AgentId;
use counterfoil_core::statement::{Environment, Mode, Origin, Reason, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{
    Asked, BaseVerdict, Bundle, Call, Facts, Grants, Judgement, Listed, Standing, classify, evaluate, pin_of,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

const AGENTS: [&str; 2] = ["agt_019355a0c0007000800000000000d001", "agt_019355a0c0007000800000000000d002"];
const FOLDERS: [&str; 5] = ["/a", "/a/b", "/a/b/c", "/x", "/ab"];
const PATHS: [&str; 8] = ["/", "/a", "/ab", "/a/b", "/a/b/c", "/a/b/c/d.txt", "/x/y", "/a/./b"];
const ACTIONS: [&str; 2] = ["notes.read", "notes.move"];
/// Seconds around the time at which every call of these tests is asked.
const NOW: i64 = 1_796_037_600_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Effect {
    Permit,
    Forbid,
    Hold,
}

#[derive(Clone, Debug)]
struct ModelRule {
    effect: Effect,
    agent: Option<&'static str>,
    action: Option<&'static str>,
    folder: Option<&'static str>,
    /// Seconds from now; counts for permits only.
    ends_in: i64,
    at_most: Option<i64>,
}

#[derive(Clone, Debug)]
struct ModelCall {
    agent: &'static str,
    tool: &'static str,
    paths: Vec<&'static str>,
    n: Option<i64>,
    base_verdict: BaseVerdict,
}

impl ModelRule {
    fn text(&self, id: usize) -> String {
        let principal = self.agent.map_or("principal".into(), |a| format!("principal == Gw::Agent::\"{a}\""));
        let action = self.action.map_or("action".into(), |a| format!("action == Gw::Action::\"{a}\""));
        let resource = self.folder.map_or("resource".into(), |f| format!("resource in Gw::Path::\"{f}\""));
        let scope = format!("{principal}, {action}, {resource}");
        let bound = self.at_most.map(|n| format!("context.args has n && context.args.n <= {n}"));
        let until = Timestamp::from_millis(NOW + self.ends_in * 1000).expect("a time");
        match self.effect {
            Effect::Permit => {
                let narrow = bound.map_or(String::new(), |b| format!("&& {b}"));
                let when = format!("when {{ context.now < datetime(\"{until}\") {narrow} }}");
                format!("@id(\"r{id}\") permit ({scope}) {when};\n")
            }
            Effect::Forbid | Effect::Hold => {
                let verdict = if self.effect == Effect::Hold { "@verdict(\"STEP_UP\")" } else { "" };
                let when = bound.map_or(String::new(), |b| format!("when {{ {b} }}"));
                format!("@id(\"r{id}\") {verdict} forbid ({scope}) {when};\n")
            }
        }
    }

    fn matches(&self, call: &ModelCall, path: &str) -> bool {
        let action = if call.tool == "note_move" { "notes.move" } else { "notes.read" };
        let below = |folder: &str| path == folder || path.starts_with(&format!("{folder}/"));
        self.agent.is_none_or(|agent| agent == call.agent)
            && self.action.is_none_or(|a| a == action)
            && self.folder.is_none_or(below)
            && (self.effect != Effect::Permit || self.ends_in > 0)
            && self.at_most.is_none_or(|most| call.n.is_some_and(|n| n <= most))
    }
}

/// The verdict as a reader of GUARANTEES G3 would work it out by hand.
fn by_hand(rules: &[ModelRule], call: &ModelCall) -> Verdict {
    if call.paths.contains(&"/a/./b") {
        return Verdict::StepUp;
    }
    let some = |effect: Effect, path: &str| rules.iter().any(|r| r.effect == effect && r.matches(call, path));
    if call.paths.iter().any(|path| some(Effect::Forbid, path)) {
        return Verdict::Deny;
    }
    // The strongest verdict of all nouns: one that nothing speaks of gets the base verdict.
    let spoken = |path: &&str| rules.iter().any(|rule| rule.matches(call, path));
    if call.base_verdict == BaseVerdict::Deny && !call.paths.iter().all(spoken) {
        return Verdict::Deny;
    }
    if call.paths.iter().any(|path| some(Effect::Hold, path)) {
        return Verdict::StepUp;
    }
    if call.paths.iter().all(|path| some(Effect::Permit, path)) {
        return Verdict::Allow;
    }
    match call.base_verdict {
        BaseVerdict::StepUp => Verdict::StepUp,
        BaseVerdict::Deny => Verdict::Deny,
    }
}

fn definition() -> Value {
    json!({ "name": "any" })
}

fn compile(rules: &[ModelRule], order: &[usize]) -> Bundle {
    let pin = pin_of(&definition());
    let field = "fields = { n = { at = \"/n\", type = \"long\" } }";
    let registry = format!(
        "v = 1\n\
         [provider.notes.tool.note_read]\nservice = \"notes\"\nverb = \"read\"\npin = \"{pin}\"\n\
         nouns = [{{ type = \"path\", each = \"/paths\" }}]\n{field}\n\
         [provider.notes.tool.note_move]\nservice = \"notes\"\nverb = \"move\"\npin = \"{pin}\"\n\
         nouns = [{{ type = \"path\", each = \"/paths\" }}]\n{field}\n"
    );
    let text: String = order.iter().map(|i| rules[*i].text(*i)).collect();
    Bundle::compile(&registry, &text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

fn judge(bundle: &Bundle, call: &ModelCall) -> Judgement {
    let mut arguments = json!({ "paths": call.paths });
    if let Some(n) = call.n {
        arguments["n"] = json!(n);
    }
    let listed = Listed::read(&definition());
    let asked_call = Call { provider: "notes", tool: call.tool, listed: &listed, arguments: &arguments };
    let asked = Asked {
        agent: call.agent.parse::<AgentId>().expect("an agent"),
        principal: None,
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("notes"),
        tool: Some(call.tool),
        args: None,
        now: Timestamp::from_millis(NOW).expect("a time"),
        base_verdict: call.base_verdict,
        standing: Standing::default(),
    };
    evaluate(bundle, &Grants::default(), &Facts::of(&asked, &classify(bundle.registry(), &asked_call)))
}

fn rule() -> impl Strategy<Value = ModelRule> {
    (
        select(vec![Effect::Permit, Effect::Permit, Effect::Forbid, Effect::Hold]),
        prop::option::of(select(AGENTS.to_vec())),
        prop::option::of(select(ACTIONS.to_vec())),
        prop::option::of(select(FOLDERS.to_vec())),
        prop_oneof![Just(0), -5i64..5, Just(1000)],
        prop::option::weighted(0.3, 0i64..4),
    )
        .prop_map(|(effect, agent, action, folder, ends_in, at_most)| {
            let permit = effect == Effect::Permit;
            // The lint demands of a permit what a forbid may leave open.
            let action = if permit { Some(action.unwrap_or("notes.read")) } else { action };
            let folder = if permit { Some(folder.unwrap_or("/a")) } else { folder };
            // A bound reads a field, so a rule with a bound names the action that has it; both have.
            ModelRule { effect, agent, action, folder, ends_in, at_most }
        })
}

fn call() -> impl Strategy<Value = ModelCall> {
    (
        select(AGENTS.to_vec()),
        select(vec!["note_read", "note_move"]),
        subsequence(PATHS.to_vec(), 1..=3),
        prop::option::of(0i64..5),
        select(vec![BaseVerdict::StepUp, BaseVerdict::Deny]),
    )
        .prop_map(|(agent, tool, paths, n, base_verdict)| ModelCall {
            agent,
            tool,
            paths,
            n,
            base_verdict,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Covers: no ALLOW without a matching live permit for every noun; a deny dominates; holds beat allows.
    #[test]
    fn cedar_and_the_model_agree(
        rules in prop::collection::vec(rule(), 0..7),
        calls in prop::collection::vec(call(), 1..6),
    ) {
        let order: Vec<usize> = (0..rules.len()).collect();
        let bundle = compile(&rules, &order);
        for call in &calls {
            let judgement = judge(&bundle, call);
            prop_assert_eq!(judgement.verdict, by_hand(&rules, call), "{:?} {:?}", call, judgement);
            prop_assert_ne!(judgement.reason, Reason::PolicyError);
        }
    }

    #[test]
    fn the_order_of_rules_does_not_matter(
        (rules, order) in prop::collection::vec(rule(), 1..7).prop_flat_map(|rules| {
            let order: Vec<usize> = (0..rules.len()).collect();
            (Just(rules), Just(order).prop_shuffle())
        }),
        call in call(),
    ) {
        let straight: Vec<usize> = (0..rules.len()).collect();
        let (one, other) = (compile(&rules, &straight), compile(&rules, &order));
        prop_assert_eq!(one.digest(), other.digest());
        prop_assert_eq!(judge(&one, &call), judge(&other, &call));
    }

    /// Adding a forbid never allows more; taking a permit away never allows more.
    #[test]
    fn more_forbids_or_fewer_permits_never_allow_more(
        rules in prop::collection::vec(rule(), 1..6),
        extra in rule(),
        call in call(),
    ) {
        let mut narrower: Vec<ModelRule> = rules.clone();
        match extra.effect {
            Effect::Forbid | Effect::Hold => narrower.push(extra),
            Effect::Permit => {
                narrower.remove(0);
            }
        }
        prop_assume!(rules[0].effect == Effect::Permit);
        let all = |rules: &[ModelRule]| compile(rules, &(0..rules.len()).collect::<Vec<_>>());
        let (before, after) = (judge(&all(&rules), &call), judge(&all(&narrower), &call));
        prop_assert!(before.verdict == Verdict::Allow || after.verdict != Verdict::Allow);
    }
}
