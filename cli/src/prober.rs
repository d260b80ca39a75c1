//! Asks a provider over HTTP, with capabilities that it must refuse.
//!
//! Promised: the table is the one that gateways use (`counterfoil_core::probe`). An honest call comes first: where that does not
//! run, a refusal says nothing. Its capability is then presented again, which is the replay.
//! Not promised: that a handler which did not answer did not run; from outside only answers can be seen.

mod caller;
mod issuer;

pub use caller::{Answer, Caller};
pub use issuer::Issuing;

use std::time::Duration;

use counterfoil_core::key::{Capability, SigningKey};
use counterfoil_core::probe::{Attack, Forge, Target, of_error};
use counterfoil_core::statement::{ProbeCase, ProbeOutcome};
use serde_json::Value;

use crate::{chance, clock};

/// A provider that started before us looks for our keys again after a while.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_secs(1);

/// What came back from one case.
pub struct Row {
    pub case: ProbeCase,
    pub outcome: ProbeOutcome,
    /// In the provider's words.
    pub said: String,
}

pub struct Table<'a> {
    pub target: Target<'a>,
    /// The key of an issuer that the provider was told to pin.
    pub known: Option<&'a SigningKey<Capability>>,
    pub stranger: &'a SigningKey<Capability>,
}

impl Table<'_> {
    /// The honest call. Its capability, once it ran; or what the provider said instead.
    pub async fn honest(&self, caller: &mut Caller) -> Result<Option<String>, String> {
        let mut said = String::new();
        for _ in 0..TRIES {
            let Some(token) = self.forging(|target, forge| target.honest(forge)) else { return Ok(None) };
            match caller.call(&self.target.params(&Value::String(token.clone()))).await {
                Answer::Result => return Ok(Some(token)),
                Answer::Error(error) if of_error(&error) == ProbeOutcome::Refused => said = words(&error),
                Answer::Error(error) => return Err(words(&error)),
                Answer::Nothing(why) => return Err(why),
            }
            tokio::time::sleep(BETWEEN).await;
        }
        Err(said)
    }

    /// Every case that can be made; the replay is of this token.
    pub async fn ask(&self, caller: &mut Caller, spent: Option<&str>) -> Vec<Row> {
        let mut rows = Vec::new();
        for case in ProbeCase::ALL {
            let attack = match (case, spent) {
                (ProbeCase::Replayed, Some(token)) => {
                    Some(Attack { case: *case, params: self.target.params(&Value::String(token.to_owned())) })
                }
                _ => self.forging(|target, forge| target.attack(*case, forge)),
            };
            let Some(attack) = attack else { continue };
            let (outcome, said) = match caller.call(&attack.params).await {
                Answer::Result => (ProbeOutcome::Passed, "a result".to_owned()),
                Answer::Error(error) => (of_error(&error), words(&error)),
                Answer::Nothing(why) => (ProbeOutcome::Unclear, why),
            };
            rows.push(Row { case: attack.case, outcome, said });
        }
        rows
    }

    fn forging<T>(&self, make: impl FnOnce(&Target<'_>, &mut Forge<'_>) -> T) -> T {
        let mut nonce = chance::nonce;
        let now = clock::now().millis() / 1000;
        let mut forge = Forge { known: self.known, stranger: self.stranger, now, nonce: &mut nonce };
        make(&self.target, &mut forge)
    }
}

/// An error for a terminal: its reason, or its message without what a terminal would act on.
fn words(error: &Value) -> String {
    let reason =
        error.pointer("/data/reason").or(error.get("message")).and_then(Value::as_str).unwrap_or("an error");
    reason.chars().filter(|c| !c.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests;
