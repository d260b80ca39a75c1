//! Parking: the received call, sealed to our own key, kept by the evidence service until its hold ends.
//!
//! Promised: inside is everything that dispatching takes, byte for byte as it was received, and the seed by which the
//! commitments come out the same; outside is nothing but length. Bound to project, hold and action.
//!
//!     sealed({"v":1,"hold":"hld_…","action":"act_…","agent":"agt_…","key":"key_…","principal":"u-88","origin":"mcp",
//!             "provider":"notes","tool":"note_write","seed":"<22 characters>","params":{…as received…}})

use super::sealing::{Called, Sealer};
use super::{Holds, Question};
use crate::call::{Asked, Received};
use crate::decision::bound_arguments;
use crate::envelope::{self, Params};
use crate::pipeline::Classified;
use counterfoil_core::hold::{MAX_SEALED, Parked};
use counterfoil_core::id::{ActionId, AgentId, HoldId, KeyId, ProjectId, ProviderId};
use counterfoil_core::nonce::{base64url, unbase64url_exact};
use counterfoil_core::statement::{Decision, Origin};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// Longest parameters that are parked. What people are asked about fits many times.
pub const MOST_PARKED: usize = 256 * 1024;

/// What is inside the seal.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ParkedCall {
    v: u8,
    pub hold: HoldId,
    pub action: ActionId,
    pub agent: AgentId,
    pub key: KeyId,
    pub principal: Option<String>,
    pub origin: Origin,
    pub provider: ProviderId,
    /// The provider's own name of it.
    pub tool: String,
    seed: String,
    params: Box<RawValue>,
}

/// What goes with a decision that opens a hold.
pub fn park(
    call: &Classified,
    decision: &Decision,
    (question, seed): (&Question, &[u8; 16]),
    holds: &Holds,
) -> Option<Parked> {
    let Question::Opens(hold, expires_at) = question else {
        return None;
    };
    let received = &call.received;
    let Asked::Tool { name, params } = &received.asked else {
        return None;
    };
    let caller = &received.caller;
    let inside = ParkedCall {
        v: 1,
        hold: *hold,
        action: decision.action,
        agent: caller.agent,
        key: caller.key,
        principal: caller.principal.clone(),
        origin: received.origin,
        provider: received.provider.as_ref()?.id.clone(),
        tool: name.clone(),
        seed: base64url(seed),
        params: RawValue::from_string(params.text().to_owned()).ok()?,
    };
    let text = Zeroizing::new(serde_json::to_vec(&inside).ok()?);
    let sealed = holds.sealer.seal(&context(decision.project, *hold, decision.action), text);
    let card = super::card::card(call, decision, (*hold, *expires_at))?;
    (sealed.len() <= MAX_SEALED).then_some(())?;
    Some(Parked { hold: *hold, sealed, call: call_of(received, &holds.sealer)?, card })
}

fn context(project: ProjectId, hold: HoldId, action: ActionId) -> Value {
    json!(["counterfoil/hold/v1", project, hold, action])
}

/// None for a call that names no provider, or has no single reading.
pub fn call_of(received: &Received, sealer: &Sealer) -> Option<String> {
    let Asked::Tool { params, .. } = &received.asked else {
        return None;
    };
    named(received, params.value().get("inputResponses"), sealer)
}

/// As [`call_of`], of the call without what its user answered in earlier rounds.
pub fn asked_of(received: &Received, sealer: &Sealer) -> Option<String> {
    named(received, None, sealer)
}

fn named(received: &Received, responses: Option<&Value>, sealer: &Sealer) -> Option<String> {
    let Asked::Tool { name, params } = &received.asked else {
        return None;
    };
    let arguments = bound_arguments(params)?;
    Some(sealer.call(&Called {
        project: received.caller.project.id,
        agent: received.caller.agent,
        provider: &received.provider.as_ref()?.id,
        tool: name,
        arguments: &arguments,
        responses,
    }))
}

impl ParkedCall {
    /// What was sealed for this project, hold and action. None for anything else.
    pub fn open(
        sealed: &str,
        (project, hold, action): (ProjectId, HoldId, ActionId),
        sealer: &Sealer,
    ) -> Option<Self> {
        let text = sealer.open(&context(project, hold, action), sealed)?;
        let inside: Self = serde_json::from_slice(&text).ok()?;
        (inside.v == 1 && inside.hold == hold && inside.action == action).then_some(inside)
    }

    pub fn seed(&self) -> Option<Zeroizing<[u8; 16]>> {
        unbase64url_exact(&self.seed).map(Zeroizing::new)
    }

    /// The parameters, read as they were read when they came.
    pub fn params(&self) -> Option<Params> {
        envelope::read_params(self.params.get())
    }
}
