//! What vendors asked before, in the ledger in memory: one session, and the decisions by their keys.

use super::ledger::{Behaviour, Ledger};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use counterfoil_core::declared::{Asked, Asking, Before, DeclaredSession};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, SessionId};
use counterfoil_core::record::{Idempotency, Recorded};
use std::collections::HashMap;
use std::sync::Arc;

/// The one session that was declared, by its name.
pub const SESSION: &str = "run-7";

#[derive(Default)]
pub struct FakeAnswers {
    keys: HashMap<String, (Digest, ActionId, Digest)>,
    pub is_closed: bool,
    /// What let a call go may no longer.
    pub is_stale: bool,
}

pub fn session() -> SessionId {
    "ses_019355a0c0007000800000000000f001".parse().expect("an id")
}

impl FakeAnswers {
    pub fn occupy(&mut self, idempotency: &Idempotency, action: ActionId, decision: Digest) {
        self.keys.insert(idempotency.key.clone(), (idempotency.fingerprint, action, decision));
    }
}

pub async fn asked(State(ledger): State<Arc<Ledger>>, Json(asking): Json<Asking>) -> Response {
    let state = ledger.lock();
    if state.behaviour == Behaviour::Unavailable {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let is_declared = asking.external == SESSION;
    let idempotency = asking.action.idempotency(session(), asking.idempotency.as_deref());
    let before = match state.asked.keys.get(&idempotency.key) {
        None => Before::Nothing,
        Some((fingerprint, _, _)) if *fingerprint != idempotency.fingerprint => Before::Conflict,
        Some((_, action, decision)) if state.asked.is_stale => {
            Before::Again { action: *action, decision: *decision }
        }
        Some((_, _, decision)) => {
            let receipt = state.known.get(decision).expect("it was recorded").clone();
            Before::Answered(Recorded { digest: *decision, receipt })
        }
    };
    let declared = DeclaredSession {
        session: session(),
        head_hash: Digest::of(b"opened"),
        closed: state.asked.is_closed,
    };
    let answer = Asked {
        v: 1,
        ledger_time: ledger.now(),
        session: is_declared.then_some(declared),
        before: if is_declared { before } else { Before::Nothing },
    };
    Json(answer).into_response()
}
