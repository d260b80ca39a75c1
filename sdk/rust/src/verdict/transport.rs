//! One question over HTTP: two seconds, three attempts, one idempotency key.
//!
//! The key is derived from the content, so a question that is asked again is the same question and gets the stored answer.

use super::breaker::Breaker;
use super::options::VerdictOptions;
use super::refusal::{NoVerdict, NoVerdictCode};
use crate::fetch::{FetchError, bounded, client};
use counterfoil_core::digest::Digest;
use counterfoil_core::json::{self, Profile, canonical};
use reqwest::Client;
use serde_json::Value;
use std::time::Duration;

/// For each attempt, reading included.
const DEADLINE: Duration = Duration::from_secs(2);
const PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_millis(100), Duration::from_millis(200)];
/// In bytes.
const LARGEST_ANSWER: usize = 4 * 1024 * 1024;

pub(super) struct Transport {
    client: Client,
    breaker: Breaker,
}

struct Answer {
    status: u16,
    bytes: Vec<u8>,
}

impl Transport {
    pub(super) fn new() -> Result<Self, FetchError> {
        Ok(Self { client: client()?, breaker: Breaker::default() })
    }

    /// `identity` is what makes two questions one: the body without its times.
    pub(super) async fn ask(
        &self,
        options: &VerdictOptions,
        path: &str,
        body: &Value,
        identity: &Value,
    ) -> Result<Value, NoVerdict> {
        let key = Digest::of(&canonical(&("POST", path, identity))).hex();
        if !self.breaker.takes((options.clock)()) {
            return Err(NoVerdict::new(NoVerdictCode::Resting, "nobody answered five times in a row"));
        }
        let probe = Probe { breaker: &self.breaker, options };
        let mut why = String::new();
        for pause in PAUSES {
            tokio::time::sleep(pause).await;
            match self.once(options, path, body, &key).await {
                Ok(answer) => {
                    probe.answered();
                    return judged(&answer);
                }
                Err(error) => why = error.to_string(),
            }
        }
        drop(probe);
        Err(NoVerdict::new(NoVerdictCode::Unanswered, why))
    }

    /// An error is a reason to ask again.
    async fn once(
        &self,
        options: &VerdictOptions,
        path: &str,
        body: &Value,
        key: &str,
    ) -> Result<Answer, FetchError> {
        let request = self.client.post(format!("{}{path}", options.gateway)).timeout(DEADLINE);
        let request = request.bearer_auth(&options.api_key).header("content-type", "application/json");
        let request = request.header("idempotency-key", key).header("counterfoil-want", "full");
        let answer = request.body(body.to_string()).send().await?;
        let status = answer.status().as_u16();
        let bytes = bounded(answer, LARGEST_ANSWER).await?;
        if status == 429 || status >= 500 {
            return Err(FetchError(format!("status {status}")));
        }
        Ok(Answer { status, bytes })
    }
}

/// A question under way. One that is given up, by whoever dropped its future, was not answered.
struct Probe<'p> {
    breaker: &'p Breaker,
    options: &'p VerdictOptions,
}

impl Probe<'_> {
    fn answered(self) {
        self.breaker.answered();
        std::mem::forget(self);
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        self.breaker.unanswered((self.options.clock)());
    }
}

fn judged(answer: &Answer) -> Result<Value, NoVerdict> {
    if !matches!(answer.status, 200 | 201) {
        return Err(NoVerdict::new(NoVerdictCode::Rejected, format!("status {}", answer.status)));
    }
    let malformed = |why: String| NoVerdict::new(NoVerdictCode::Malformed, why);
    let read = json::parse_within(&answer.bytes, Profile::Foreign, LARGEST_ANSWER);
    match read.map_err(|error| malformed(error.to_string()))? {
        Value::Object(members) => Ok(Value::Object(members)),
        _ => Err(malformed("the answer is no object".to_owned())),
    }
}
