//! A call whose capability was used up, until its end: then the provider's own statement about it is signed.
//!
//! Without an execution key nothing is signed, and `executed`, `failed` and `abandoned` give None.

use super::builder::Place;
use crate::chance;
use crate::clock::Clock;
#[cfg(any(feature = "tower", feature = "stdio"))]
use crate::execution::bound_value;
use crate::execution::{Envelope, Facts, SignError, Signer, bound_result, execution_statement};
use counterfoil_core::capability::Claims;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::statement::{ErrorCode, Outcome, SeenCheckpoint};
use counterfoil_core::time::Timestamp;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Where a statement stands in `_meta` of a result.
pub const EXECUTION: &str = "dev.counterfoil/execution";

type Seen = Box<dyn Fn() -> Option<SeenCheckpoint> + Send + Sync>;
type OnExecution = Box<dyn Fn(&Envelope) + Send + Sync>;

/// Who signs, and who is told.
pub(super) struct Executions {
    project: ProjectId,
    provider: ProviderId,
    pub(super) signer: Option<Box<dyn Signer>>,
    pub(super) seen: Option<Seen>,
    pub(super) on_execution: Option<OnExecution>,
}

impl Executions {
    pub(super) fn of(place: &Place) -> Self {
        let (project, provider) = (place.project, place.provider.clone());
        Self { project, provider, signer: None, seen: None, on_execution: None }
    }
}

/// A call that may run now, once. Clones are the same call. The tower layer leaves one in the request's extensions.
#[derive(Clone)]
pub struct Admitted(Arc<Call>);

struct Call {
    claims: Claims,
    arguments: Value,
    started_at: Timestamp,
    executions: Arc<Executions>,
    clock: Clock,
}

impl Admitted {
    pub(super) fn new(
        claims: Claims,
        arguments: Value,
        started_at: Timestamp,
        executions: Arc<Executions>,
        clock: Clock,
    ) -> Self {
        Self(Arc::new(Call { claims, arguments, started_at, executions, clock }))
    }

    /// What the gateway let pass: `txn` is the action, `sub` is for whom, under a name that only this provider sees.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.0.claims
    }

    /// `params.arguments` as they came on the wire; absent ones are {}.
    #[must_use]
    pub fn arguments(&self) -> &Value {
        &self.0.arguments
    }

    /// The call came to its end. `result` is the JSON-RPC result as text that leaves on the wire.
    pub async fn executed(&self, result: &[u8]) -> Option<Envelope> {
        let read: Value = serde_json::from_slice(result).unwrap_or_default();
        let (outcome, code) = outcome_of(&read);
        self.sign(outcome, bound_result(result), code).await
    }

    /// As [`Admitted::executed`], of a result that the strict parser read.
    #[cfg(any(feature = "tower", feature = "stdio"))]
    pub(crate) async fn executed_value(&self, result: &Value) -> Option<Envelope> {
        let (outcome, code) = outcome_of(result);
        self.sign(outcome, bound_value(result), code).await
    }

    /// As [`Admitted::executed`], of a result without a single reading.
    #[cfg(any(feature = "tower", feature = "stdio"))]
    pub(crate) async fn executed_unbound(&self, result: &Value) -> Option<Envelope> {
        let (outcome, code) = outcome_of(result);
        self.sign(outcome, None, code).await
    }

    /// The call ended in a protocol error, or in an exception. What does not fit a code is replaced by `_`.
    pub async fn failed(&self, error_code: &str) -> Option<Envelope> {
        self.sign(Outcome::Failed, None, Some(error_code)).await
    }

    /// Whoever asked went away; what became of the call is not known.
    pub async fn abandoned(&self) -> Option<Envelope> {
        self.sign(Outcome::Abandoned, None, None).await
    }

    /// The call was carried out: that nobody could sign for it is reported, and does not swallow its answer.
    async fn sign(&self, outcome: Outcome, result: Option<String>, code: Option<&str>) -> Option<Envelope> {
        let signer = self.0.executions.signer.as_deref()?;
        match self.statement(signer, outcome, result, code).await {
            Ok(statement) => {
                if let Some(tell) = &self.0.executions.on_execution {
                    tell(&statement);
                }
                Some(statement)
            }
            Err(error) => {
                let tool = &self.0.claims.call.t;
                eprintln!("counterfoil: an execution of `{tool}` could not be signed: {error}");
                None
            }
        }
    }

    async fn statement(
        &self,
        signer: &dyn Signer,
        outcome: Outcome,
        result: Option<String>,
        code: Option<&str>,
    ) -> Result<Envelope, SignError> {
        let Call { claims, arguments, started_at, executions, clock } = &*self.0;
        let facts = Facts {
            project: executions.project,
            provider: executions.provider.clone(),
            tool: claims.call.t.parse()?,
            action: claims.txn,
            decision: claims.dec,
            capability: Some(claims.jti),
            seed: claims.os,
            arguments,
            outcome,
            result,
            error_code: code.map(error_code).transpose()?,
            started_at: Some(*started_at),
            executed_at: clock(),
            seen: executions.seen.as_ref().and_then(|seen| seen()),
            nonce: chance::nonce()?,
        };
        execution_statement(&facts, signer).await
    }
}

/// A result that asks back executed nothing yet; one that says `isError` failed by its own word.
fn outcome_of(result: &Value) -> (Outcome, Option<&'static str>) {
    if result["resultType"] == "input_required" {
        (Outcome::NotAttempted, None)
    } else if result["isError"] == true {
        (Outcome::Failed, Some("tool_error"))
    } else {
        (Outcome::Executed, None)
    }
}

fn error_code(text: &str) -> Result<ErrorCode, SignError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let code: String = text.chars().take(64).map(|c| if fits(c) { c } else { '_' }).collect();
    let code = if code.is_empty() { "error" } else { code.as_str() };
    Ok(code.parse()?)
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Admitted({} {})", self.0.claims.txn, self.0.claims.call.t)
    }
}
