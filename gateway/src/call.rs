//! A call as the front hands it on, before anybody has judged it.

use crate::envelope::Params;
use crate::holds::{Manner, Reopened, Round};
use crate::house::{Project, Provider};
use crate::upstream::Holder;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, AgentId, KeyId, SessionId};
use counterfoil_core::record::Idempotency;
use counterfoil_core::statement::{Mode, Origin};
use counterfoil_core::verdict::ActionRequest;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Whose key came with the call.
#[derive(Clone)]
pub struct Caller {
    pub project: Arc<Project>,
    pub key: KeyId,
    pub agent: AgentId,
    /// For whom the agent acts: opaque, the operator's own name for somebody.
    pub principal: Option<String>,
    /// The session of a legacy host, once it has one.
    pub session: Option<Digest>,
}

impl Caller {
    /// Whose connections to providers this caller uses.
    pub fn holder(&self) -> Holder {
        Holder { key: self.key, session: self.session }
    }
}

/// One call, from an authenticated caller by a named listener.
pub struct Received {
    pub caller: Caller,
    pub origin: Origin,
    /// None when the caller asked for a provider that its project does not have.
    pub provider: Option<Arc<Provider>>,
    pub asked: Asked,
    pub wants: Wants,
    /// How the caller waits where a person has to be asked.
    pub manner: Manner,
    /// The round before, where the caller was asked to come again.
    pub round: Option<Round>,
    /// The held call that this is, once its hold has ended.
    pub reopened: Option<Box<Reopened>>,
    /// Cancelled when the caller has gone or has given the call up.
    pub given_up: CancellationToken,
}

/// What was asked for.
pub enum Asked {
    Tool {
        /// The provider's own name of it; at the address of all providers the caller wrote a longer one.
        name: String,
        params: Params,
    },
    /// A verdict on a call that the vendor makes itself. It ends with the answer, and is executed by nobody here.
    Verdict(Box<Proposed>),
    /// A method that only an operator may ask for, and not here.
    ControlVerb,
    /// The message had no reading that names a call; the front says why to the caller.
    Unreadable,
}

/// A call that a vendor asks about.
pub struct Proposed {
    pub request: ActionRequest,
    /// The session that the key declared under the name in the request.
    pub session: SessionId,
    pub idempotency: Idempotency,
    /// The stored decision that lets nothing go any more, and its action, which this is again.
    pub again: Option<(ActionId, Digest)>,
}

impl Received {
    /// What is asked about, where a vendor asks.
    pub fn proposed(&self) -> Option<&Proposed> {
        match &self.asked {
            Asked::Verdict(proposed) => Some(proposed),
            Asked::Tool { .. } | Asked::ControlVerb | Asked::Unreadable => None,
        }
    }

    pub fn mode(&self) -> Mode {
        match self.proposed() {
            Some(_) => Mode::Hook,
            None => Mode::Gateway,
        }
    }
}

/// How much of the receipt the caller wants in the answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wants {
    Reference,
    Full,
}
