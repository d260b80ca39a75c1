//! Columns that find rows. Each is read out of the body, at the append and again by every audit. Pure.
//!
//! Promised: a statement has one projection. Not promised: that a stored column is right; only comparing it with this
//! shows it, and nothing that a reader sees is taken from a column.

use crate::digest::Digest;
use crate::execution::{Said, Submitted};
use crate::statement::{Received, Statement};
use uuid::Uuid;

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Projection {
    pub action: Option<Uuid>,
    pub decision: Option<Digest>,
    pub agent: Option<Uuid>,
    pub verdict: Option<String>,
    pub reason: Option<String>,
    pub provider: Option<String>,
    pub tool: Option<String>,
    pub status: Option<String>,
}

impl Projection {
    pub fn of(statement: &Statement) -> Self {
        match statement {
            Statement::Decision(decision) => Self {
                action: Some(decision.action.uuid()),
                agent: Some(decision.agent.uuid()),
                verdict: Some(decision.verdict.to_string()),
                reason: Some(decision.reason.to_string()),
                provider: decision.provider.as_ref().map(ToString::to_string),
                tool: decision.tool.as_ref().map(ToString::to_string),
                ..Self::default()
            },
            Statement::Observation(seen) => Self {
                action: Some(seen.action.uuid()),
                decision: Some(seen.decision),
                reason: seen.reason.map(|reason| reason.to_string()),
                provider: Some(seen.provider.to_string()),
                tool: Some(seen.tool.to_string()),
                status: Some(seen.status.to_string()),
                ..Self::default()
            },
            Statement::Finding(finding) => {
                Self { action: finding.action.map(|action| action.uuid()), ..Self::default() }
            }
            Statement::Clearance(clearance) => {
                Self { action: Some(clearance.action.uuid()), ..Self::default() }
            }
            Statement::Hold(hold) => {
                Self { action: Some(hold.action.uuid()), decision: Some(hold.decision), ..Self::default() }
            }
            Statement::Answer(answer) => Self {
                action: Some(answer.action.uuid()),
                decision: Some(answer.decision),
                ..Self::default()
            },
            Statement::Session(session) => Self { agent: Some(session.agent.uuid()), ..Self::default() },
            Statement::Grant(grant) => Self { agent: Some(grant.agent.uuid()), ..Self::default() },
            Statement::Received(received) => Self::of_received(received),
            Statement::Key(_)
            | Statement::Published(_)
            | Statement::Epoch(_)
            | Statement::Kill(_)
            | Statement::Resolution(_)
            | Statement::Coverage(_)
            | Statement::Settings(_)
            | Statement::Tombstone(_)
            | Statement::Probe(_)
            | Statement::Incident(_)
            | Statement::Resume(_)
            | Statement::Breakglass(_)
            | Statement::Shadow(_) => Self::default(),
        }
    }

    /// What an execution names, as it names it: nothing here says that there is such an action.
    fn of_received(received: &Received) -> Self {
        let Ok(Some(submitted)) = Submitted::unwrap(received) else { return Self::default() };
        let (provider, tool) = match submitted.said() {
            Said::Native(said) => (Some(said.provider.to_string()), Some(said.tool.to_string())),
            Said::Vendor(_) => (None, None),
        };
        Self {
            action: submitted.action().map(|action| action.uuid()),
            decision: submitted.decision(),
            provider,
            tool,
            status: Some(submitted.outcome().to_string()),
            ..Self::default()
        }
    }
}
