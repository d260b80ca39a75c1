//! How long a judgement takes: `cargo run --release -p counterfoil-policy --example judge`.
//!
//! Prints medians of three things, interleaved in one run so that all meet the same machine: Cedar alone on prepared
//! entities with ten grants; a whole evaluation with ten grants; the same with 500 grants of other agents in the project.
//! The targets are 50 µs, 150 µs, and a ratio near one. What else ran on the machine is part of the result: say it.

use cedar_policy::{
    Authorizer, Context, Entities, Entity, EntityUid, PolicySet, Request, RestrictedExpression,
};
use counterfoil_core::control::GrantDocument;
use counterfoil_core::id::AgentId;
use counterfoil_core::statement::{Environment, Mode, Origin, Reason};
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{
    Asked, BaseVerdict, Bundle, Call, Facts, Grants, Listed, Standing, classify, evaluate, pin_of,
};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::str::FromStr;
use std::time::{Duration, Instant};

const ROUNDS: usize = 400;
const IN_A_ROUND: u32 = 25;
const PATH: &str = "/notes/2026/11/a.txt";

fn agent(number: usize) -> String {
    format!("agt_019355a0c00070008000000000{number:06x}")
}

fn document(number: usize, agent: &str, path: &str) -> GrantDocument {
    let document = json!({ "v": 1, "nonce": "AQEBAQEBAQEBAQEBAQEBAQ", "grant": format!("grt_019355a0c00070008000000000{number:06x}"),
        "agent": agent, "service": "notes", "verb": "read", "noun": { "type": "path", "value": path }, "fields": { "n": 3 },
        "until": "2026-12-01T00:00:00.000Z" });
    serde_json::from_value(document).expect("a document")
}

/// Ten grants of the agent, of which the last is for the path that is asked about.
fn own() -> Vec<GrantDocument> {
    let paths = (0..9).map(|n| format!("/notes/{n}")).chain([PATH.to_owned()]);
    paths.enumerate().map(|(n, path)| document(n, &agent(1), &path)).collect()
}

fn of_others() -> Vec<GrantDocument> {
    (0..500).map(|n| document(100 + n, &agent(2 + n), PATH)).collect()
}

fn bundle() -> Bundle {
    let registry = format!(
        "v = 1\n[provider.notes.tool.note_read]\nservice = \"notes\"\nverb = \"read\"\npin = \"{}\"\n\
         nouns = [{{ type = \"path\", at = \"/path\" }}]\nfields = {{ n = {{ at = \"/n\", type = \"long\" }} }}\n",
        pin_of(&json!({ "name": "note_read" }))
    );
    let rules: String = (0..10)
        .map(|n| {
            format!(
                "@id(\"r{n}\") permit (principal, action == Gw::Action::\"notes.read\", resource in Gw::Path::\"/r{n}\")\n\
                 when {{ context.now < datetime(\"2027-01-01T00:00:00Z\") }};\n"
            )
        })
        .collect();
    Bundle::compile(&registry, &rules).expect("a bundle")
}

fn facts(bundle: &Bundle, grants: &Grants) -> Facts {
    let arguments = json!({ "path": PATH, "n": 3 });
    let listed = Listed::read(&json!({ "name": "note_read" }));
    let call = Call { provider: "notes", tool: "note_read", listed: &listed, arguments: &arguments };
    let agent: AgentId = agent(1).parse().expect("an agent");
    let asked = Asked {
        agent,
        principal: Some("u-88"),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("notes"),
        tool: Some("note_read"),
        args: None,
        now: Timestamp::parse("2026-11-30T11:20:00.123Z").expect("a time"),
        base_verdict: BaseVerdict::StepUp,
        standing: Standing { grants: grants.digests(agent), ..Standing::default() },
    };
    Facts::of(&asked, &classify(bundle.registry(), &call))
}

/// What a grant compiles to, and the question that it is asked, made once.
fn prepared() -> (PolicySet, Request, Entities) {
    let uid = |kind: &str, id: &str| EntityUid::from_str(&format!("Gw::{kind}::\"{id}\"")).expect("a uid");
    let permits: String = own()
        .iter()
        .map(|grant| {
            format!(
                "permit (principal == Gw::Agent::\"{}\", action == Gw::Action::\"notes.read\", resource == Gw::Path::\"{}\")\n\
                 when {{ context.now < datetime(\"2026-12-01T00:00:00.000Z\") && context.args has n && context.args.n == 3 }};\n",
                agent(1),
                grant.noun.value
            )
        })
        .collect();
    let chain = [PATH, "/notes/2026/11", "/notes/2026", "/notes", "/"];
    let mut entities = vec![Entity::with_uid(uid("Agent", &agent(1)))];
    for (place, path) in chain.iter().enumerate() {
        let parents: HashSet<EntityUid> =
            chain.get(place + 1).map(|parent| uid("Path", parent)).into_iter().collect();
        let value = RestrictedExpression::new_string((*path).to_owned());
        let attributes = HashMap::from([("value".to_owned(), value)]);
        entities.push(Entity::new(uid("Path", path), attributes, parents).expect("an entity"));
    }
    let args = RestrictedExpression::new_record([("n".to_owned(), RestrictedExpression::new_long(3))]);
    let context = Context::from_pairs([
        ("now".to_owned(), RestrictedExpression::new_datetime("2026-11-30T11:20:00.123Z")),
        ("args".to_owned(), args.expect("a record")),
    ]);
    let action = uid("Action", "notes.read");
    let request =
        Request::new(uid("Agent", &agent(1)), action, uid("Path", PATH), context.expect("a context"), None);
    let entities = Entities::from_entities(entities, None).expect("entities");
    (permits.parse().expect("permits"), request.expect("a request"), entities)
}

fn timed(run: impl Fn()) -> Duration {
    let began = Instant::now();
    (0..IN_A_ROUND).for_each(|_| run());
    began.elapsed() / IN_A_ROUND
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() {
    let bundle = bundle();
    let few = Grants::compile(&own(), &bundle);
    let many = Grants::compile(&[own(), of_others()].concat(), &bundle);
    let facts = facts(&bundle, &few);
    for grants in [&few, &many] {
        assert_eq!(evaluate(&bundle, grants, &facts).reason, Reason::Grant, "the last grant allows it");
    }
    let (permits, request, entities) = prepared();
    let cedar = || {
        black_box(Authorizer::new().is_authorized(black_box(&request), &permits, &entities));
    };
    let stage = |grants: &Grants| {
        black_box(evaluate(&bundle, grants, black_box(&facts)));
    };

    let mut taken: [Vec<Duration>; 3] = Default::default();
    for round in 0..ROUNDS + ROUNDS / 10 {
        // Which of the pair comes first alternates.
        let pair = match round % 2 {
            0 => [timed(|| stage(&few)), timed(|| stage(&many))],
            _ => {
                let second = timed(|| stage(&many));
                [timed(|| stage(&few)), second]
            }
        };
        let times = [timed(cedar), pair[0], pair[1]];
        // The first tenth warms up.
        if round >= ROUNDS / 10 {
            taken.iter_mut().zip(times).for_each(|(taken, time)| taken.push(time));
        }
    }
    let [cedar, few, many] = taken.map(median);
    println!("is_authorized, prepared entities, 10 grants   {cedar:7.1} µs   {:.2} of 50 µs", cedar / 50.0);
    println!("evaluate, 10 rules and 10 grants               {few:7.1} µs   {:.2} of 150 µs", few / 150.0);
    println!(
        "evaluate, and 500 grants of other agents       {many:7.1} µs   {:.3} of the same without them",
        many / few
    );
}
