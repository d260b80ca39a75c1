//! Export streams, followed to their end or to the first thing that is not right.

use crate::{Outcome, equal, read};
use counterfoil_core::audit::Trust;
use counterfoil_core::export::{Contradiction, Follower, Line};
use counterfoil_core::key::{JwkSet, PublicKey, Purpose};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(rename = "about")]
    _about: String,
    jwks: Value,
    lines: Vec<String>,
    answer: String,
    /// Entries that were right.
    size: u64,
}

pub fn stream(case: &[u8]) -> Outcome {
    let case: Case = read(case)?;
    let jwks = serde_json::to_vec(&case.jwks).map_err(|error| error.to_string())?;
    let set = JwkSet::parse(&jwks).map_err(|error| error.to_string())?;
    let of = |wanted: Purpose| -> Vec<PublicKey> {
        let keys = set.keys.iter().filter(|key| key.purpose == wanted);
        keys.filter_map(|key| key.public_key().ok()).collect()
    };
    let trust = Trust { log: of(Purpose::Log), ledger: of(Purpose::Ledger), ..Trust::default() };
    let mut follower = Follower::new(set.iss.clone(), trust);

    let answer = follow(&mut follower, &case.lines);

    equal("answer", answer, case.answer.as_str())?;
    equal("size", follower.size(), case.size)
}

fn follow(follower: &mut Follower, lines: &[String]) -> &'static str {
    for line in lines {
        let Ok(line) = Line::parse(line.as_bytes()) else { return "BROKEN" };
        match follower.follow(&line) {
            Ok(()) => {}
            Err(Contradiction::Broken(_)) => return "BROKEN",
            Err(Contradiction::Shrunk { .. }) => return "SHRUNK",
            Err(Contradiction::Forked { .. }) => return "FORKED",
        }
    }
    match follower.nothing_is_missing() {
        Ok(()) => "FOLLOWED",
        Err(_) => "BROKEN",
    }
}
