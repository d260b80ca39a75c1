//! The client of the verdict API.

use super::decision::{Cleared, Decided, read_decision};
use super::options::VerdictOptions;
use super::proposal::{Proposal, Session};
use super::refusal::{GuardError, NoVerdict, NoVerdictCode, StatementError};
use super::transport::Transport;
use crate::execution::{ErrorCode, Outcome, SignedSixFields, VendorExecution, six_field_statement};
use crate::fetch::FetchError;
use counterfoil_core::commitment::document_value;
use counterfoil_core::digest::Digest;
use counterfoil_core::json::{self, Profile};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Mutex;

/// So many decisions are remembered, that none is used for two calls.
const REMEMBERED: usize = 10_000;

/// Asks the gateway, and believes nothing that is not signed.
pub struct Verdicts {
    options: VerdictOptions,
    transport: Transport,
    answered: Mutex<Answered>,
}

/// Decision id → session and seq that it answered.
#[derive(Default)]
struct Answered {
    places: HashMap<String, (String, u64)>,
    order: VecDeque<String>,
}

impl Verdicts {
    /// Fails where no HTTP client can be made.
    pub fn new(options: VerdictOptions) -> Result<Self, FetchError> {
        Ok(Self { options, transport: Transport::new()?, answered: Mutex::default() })
    }

    pub async fn open(&self, session: &Session) -> Result<(), NoVerdict> {
        let mut body = json!(session);
        body["started_at"] = json!((self.options.clock)());
        let identity = json!({ "external_id": session.external_id });
        self.transport.ask(&self.options, "/v1/sessions", &body, &identity).await.map(drop)
    }

    pub async fn close(&self, session: &str) -> Result<(), NoVerdict> {
        let path = format!("/v1/sessions/{}/close", escaped(session));
        self.transport.ask(&self.options, &path, &json!({}), &json!({ "session": session })).await.map(drop)
    }

    /// A verified decision, whatever it says; or [`NoVerdict`].
    pub async fn decide(&self, proposal: &Proposal) -> Result<Decided, NoVerdict> {
        let Proposal { session, seq, tool, args_hash, arguments, shown, discloses, signals } = proposal;
        let identity = json!({
            "session": session, "seq": seq, "tool": tool, "args_hash": args_hash, "signals": signals,
        });
        // Null is absent on that wire.
        let arguments = discloses.then_some(arguments);
        let body = json!({
            "session_external_id": session, "seq": seq, "tool": tool, "args_redacted": shown,
            "arguments": arguments,
            "args_hash": args_hash, "signals": signals, "requested_at": (self.options.clock)(),
        });
        let answer = self.transport.ask(&self.options, "/v1/actions", &body, &identity).await?;
        let decided = read_decision(&answer, proposal, &self.options)?;
        self.demand_first(&decided, proposal)?;
        Ok(decided)
    }

    /// Runs the work if, and only if, it was cleared; reports what came of it.
    pub async fn guard<T, E, W>(
        &self,
        proposal: &Proposal,
        work: impl FnOnce(Cleared) -> W,
    ) -> Result<T, GuardError<E>>
    where
        T: Serialize,
        W: Future<Output = Result<T, E>>,
    {
        let decided = self.decide(proposal).await?;
        let cleared = decided.cleared().map_err(GuardError::NotCleared)?;
        match work(cleared.clone()).await {
            Ok(result) => {
                let shown = serde_json::to_value(&result).ok();
                self.report_quietly(&cleared, Outcome::Executed, shown.as_ref(), None).await;
                Ok(result)
            }
            Err(error) => {
                self.report_quietly(&cleared, Outcome::Failed, None, "exception".parse().ok()).await;
                Err(GuardError::Work(error))
            }
        }
    }

    /// The signed statement alone: keep it with your own commit, send it later with [`Verdicts::send`].
    pub async fn statement(
        &self,
        decided: &Decided,
        outcome: Outcome,
        result: Option<&Value>,
        error_code: Option<ErrorCode>,
    ) -> Result<SignedSixFields, StatementError> {
        let signer = self.options.signer.as_deref().ok_or(StatementError::NoSigner)?;
        let fields = VendorExecution {
            action_id: decided.action().to_string(),
            decision_id: decided.decision_id(),
            outcome,
            result_hash: result.map(value_of).transpose()?,
            error_code,
            executed_at: (self.options.clock)().to_string(),
        };
        Ok(six_field_statement(fields, signer).await?)
    }

    pub async fn send(&self, statement: &SignedSixFields) -> Result<(), NoVerdict> {
        self.send_text(&json!(statement)).await
    }

    pub(super) async fn send_text(&self, statement: &Value) -> Result<(), NoVerdict> {
        let names = ["action_id", "decision_id", "outcome", "result_hash"];
        let identity: Value =
            names.iter().map(|name| ((*name).to_owned(), statement[*name].clone())).collect();
        self.transport.ask(&self.options, "/v1/executions", statement, &identity).await.map(drop)
    }

    /// The work is done: that nobody could be told does not undo it. Whoever must tell uses an [`super::Outbox`].
    async fn report_quietly(
        &self,
        decided: &Decided,
        outcome: Outcome,
        result: Option<&Value>,
        error_code: Option<ErrorCode>,
    ) {
        let result = result.filter(|result| value_of(result).is_ok());
        if let Ok(statement) = self.statement(decided, outcome, result, error_code).await {
            let _untold = self.send(&statement).await;
        }
    }

    fn demand_first(&self, decided: &Decided, proposal: &Proposal) -> Result<(), NoVerdict> {
        let place = (proposal.session.clone(), proposal.seq);
        let broken = |_| NoVerdict::new(NoVerdictCode::Replayed, "a call broke off while it was remembered");
        let mut answered = self.answered.lock().map_err(broken)?;
        let id = decided.decision_id();
        match answered.places.get(&id) {
            Some(before) if *before == place => Ok(()),
            Some(_) => {
                Err(NoVerdict::new(NoVerdictCode::Replayed, "this decision answered another call before"))
            }
            None => {
                answered.places.insert(id.clone(), place);
                answered.order.push_back(id);
                if answered.order.len() > REMEMBERED
                    && let Some(oldest) = answered.order.pop_front()
                {
                    answered.places.remove(&oldest);
                }
                Ok(())
            }
        }
    }
}

fn value_of(result: &Value) -> Result<Digest, StatementError> {
    let read = json::parse(result.to_string().as_bytes(), Profile::Foreign);
    let read = read.map_err(|_| StatementError::NotBindable)?;
    document_value(&read).parse().map_err(|_| StatementError::NotBindable)
}

/// One segment of a path.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}
