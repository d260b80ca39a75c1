//! What the gateway saw come back, signed by it alone.
//!
//! Promised: one observation for every ALLOW that this process lived to see the end of. A result is bound as the
//! provider returned it, without `_meta` and `resultType`; one without a canonical form is never refused, only not
//! compared: its value is `none:<reason>`.

use crate::chance;
use crate::raw::Object;
use counterfoil_core::commitment::{Commitment, ProviderSeed};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::json::{self, MAX_BOUND, Profile};
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::statement::{
    Decision, Observation, ObservationReason, ObservationStatus, ObservationType,
};
use counterfoil_core::time::Timestamp;
use serde_json::Value;

/// What happened to a call after its decision was made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Seen {
    /// A `result` object.
    Returned(String),
    /// A JSON-RPC `error` object.
    Failed(String),
    /// It went away, broke the protocol or answered with too much, in a word.
    Broke(&'static str),
    TimedOut,
    Cancelled,
    NotSent(ObservationReason),
}

/// Signs what was seen. None for a decision that names no tool: such a one is never an ALLOW.
pub fn observe(
    decision: &Signed<Decision>,
    seed: &ProviderSeed,
    seen: &Seen,
    (sent_at, at): (Option<Timestamp>, Timestamp),
    key: &SigningKey<key::Decision>,
) -> Option<Signed<Observation>> {
    let digest = decision.digest();
    let decision = decision.payload();
    let observation = Observation {
        typ: ObservationType::V1,
        iss: decision.iss.clone(),
        project: decision.project,
        env: decision.env,
        action: decision.action,
        decision: digest,
        provider: decision.provider.clone()?,
        tool: decision.tool.clone()?,
        status: status(seen),
        reason: match seen {
            Seen::NotSent(reason) => Some(*reason),
            Seen::Returned(_) | Seen::Failed(_) | Seen::Broke(_) => None,
            Seen::TimedOut | Seen::Cancelled => None,
        },
        is_error: is_error(seen),
        result: result(seen, seed),
        error: error(seen, seed),
        sent_at,
        at,
        nonce: chance::nonce(),
    };
    Some(Signed::sign(observation, key))
}

fn status(seen: &Seen) -> ObservationStatus {
    match seen {
        Seen::Returned(result) if asks(result) => ObservationStatus::Asked,
        Seen::Returned(_) => ObservationStatus::Returned,
        Seen::Failed(_) | Seen::Broke(_) => ObservationStatus::Error,
        Seen::TimedOut => ObservationStatus::Timeout,
        Seen::Cancelled => ObservationStatus::Cancelled,
        Seen::NotSent(_) => ObservationStatus::NotSent,
    }
}

fn member(result: &str, name: &str) -> Option<String> {
    let object = Object::read_loosely(result).ok()?;
    object.value(name).map(str::to_owned)
}

fn asks(result: &str) -> bool {
    member(result, "resultType").as_deref() == Some("\"input_required\"")
}

fn is_error(seen: &Seen) -> Option<bool> {
    match seen {
        Seen::Returned(result) => Some(member(result, "isError").as_deref() == Some("true")),
        Seen::Failed(_) | Seen::Broke(_) | Seen::TimedOut | Seen::Cancelled | Seen::NotSent(_) => None,
    }
}

fn result(seen: &Seen, seed: &ProviderSeed) -> Option<Commitment> {
    let Seen::Returned(result) = seen else {
        return None;
    };
    let bound = Object::read_loosely(result)
        .map(|object| object.without(|name| matches!(name, "_meta" | "resultType")))
        .unwrap_or_else(|_| result.clone());
    Some(seed.commit("result", &value_of(&bound)).commitment())
}

fn error(seen: &Seen, seed: &ProviderSeed) -> Option<Commitment> {
    let value = match seen {
        Seen::Failed(error) => value_of(error),
        Seen::Broke(word) => (*word).to_owned(),
        Seen::Returned(_) | Seen::TimedOut | Seen::Cancelled | Seen::NotSent(_) => return None,
    };
    Some(seed.commit("error", &value).commitment())
}

/// `sha256:…` of the canonical document, or why it has none.
fn value_of(text: &str) -> String {
    let Ok(document) = json::parse(text.as_bytes(), Profile::Foreign) else {
        return "none:no_canonical_form".to_owned();
    };
    let canonical = json::canonical::<Value>(&document);
    if canonical.len() > MAX_BOUND {
        return "none:too_large".to_owned();
    }
    Digest::of(&canonical).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterfoil_core::commitment::OpeningSeed;

    #[test]
    fn a_result_is_bound_without_what_hops_add() {
        let seed = OpeningSeed::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]).provider();
        let returned = |text: &str| result(&Seen::Returned(text.to_owned()), &seed);
        let golden = "fEOO2JrPdoJTQPojBXoeFPx5uwiltYbzMxQOrkcEXlw".parse().ok();

        for text in [
            r#"{"content":[{"type":"text","text":"ok"}],"isError":false}"#,
            r#"{"_meta":{"a":1}, "isError":false, "resultType":"complete","content":[{"text":"ok","type":"text"}]}"#,
        ] {
            assert_eq!(returned(text), golden, "{text}");
        }
        assert_ne!(returned(r#"{"content":[],"isError":false}"#), golden);
    }

    #[test]
    fn what_has_no_canonical_form_is_never_compared() {
        assert_eq!(value_of(r#"{"n":123456789012345678901234567890}"#), "none:no_canonical_form");
        assert_eq!(value_of(r#"{"a":1,"a":1}"#), "none:no_canonical_form");
        let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_BOUND));
        assert_eq!(value_of(&large), "none:too_large");
    }

    #[test]
    fn a_tools_own_error_is_still_a_result() {
        let failed = Seen::Returned(r#"{"content":[],"isError":true}"#.into());
        assert_eq!(status(&failed), ObservationStatus::Returned);
        assert_eq!(is_error(&failed), Some(true));
        let asked = Seen::Returned(r#"{"resultType":"input_required","requestState":"x"}"#.into());
        assert_eq!(status(&asked), ObservationStatus::Asked);
    }
}
