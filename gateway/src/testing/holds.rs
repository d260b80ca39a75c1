//! Holds of the ledger in memory: kept, answered as a test says, dispatched once.

use super::ledger::Ledger;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Answered, Card, HoldIs, HoldState, Parked};
use counterfoil_core::id::{AgentId, HoldId};
use counterfoil_core::statement::{Decision, Say};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone)]
pub struct FakeHold {
    pub state: HoldState,
    pub card: Card,
    pub call: String,
    pub agent: AgentId,
    pub decision: Decision,
    /// What was parked, also after the hold has ended.
    pub sealed: String,
}

#[derive(Default)]
pub struct FakeHolds(pub Vec<FakeHold>);

impl FakeHolds {
    pub fn open(&mut self, decision: &Decision, digest: Digest, parked: Parked) {
        assert_eq!(decision.hold, Some(parked.hold), "a decision opens the hold that it names");
        assert_eq!(parked.card.hold, parked.hold);
        let state = HoldState {
            v: 1,
            project: decision.project,
            hold: parked.hold,
            action: decision.action,
            decision: digest,
            expires_at: parked.card.expires_at,
            is: HoldIs::Open,
            sealed: Some(parked.sealed.clone()),
            answered: None,
        };
        let Parked { card, call, sealed, .. } = parked;
        let (agent, decision) = (decision.agent, decision.clone());
        self.0.push(FakeHold { state, card, call, agent, decision, sealed });
    }

    /// As the record transaction: an approved hold is used once, by the call that it was given for.
    pub fn use_up(&mut self, decision: &Decision) -> bool {
        let Some(answers) = &decision.answers else {
            return true;
        };
        let held = self.0.iter_mut().find(|held| held.state.hold == answers.hold);
        let Some(held) = held else {
            return false;
        };
        let (state, was) = (&mut held.state, &held.decision);
        let same = (decision.action, &decision.args, &decision.principal, &decision.class)
            == (was.action, &was.args, &was.principal, &was.class)
            && (decision.agent, &decision.provider, &decision.tool) == (was.agent, &was.provider, &was.tool);
        let answer = state.answered.as_ref().map(|answered| answered.answer);
        let holds = state.is == HoldIs::Approved
            && same
            && answer == Some(answers.answer)
            && decision.supersedes == Some(state.decision)
            && answers.decision == state.decision;
        if holds {
            state.is = HoldIs::Dispatched;
            state.sealed = None;
        }
        holds
    }
}

impl Ledger {
    pub fn holds(&self) -> Vec<FakeHold> {
        self.lock().holds.0.clone()
    }

    /// Waits until this many holds were opened.
    pub async fn held(&self, count: usize) -> Vec<FakeHold> {
        for _ in 0..500 {
            let holds = self.holds();
            if holds.len() >= count {
                return holds;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{count} holds were not opened");
    }

    pub fn answer(&self, hold: HoldId, say: Say) {
        let is = if say == Say::Deny { HoldIs::Denied } else { HoldIs::Approved };
        let answered = Answered { answer: Digest::of(hold.to_string().as_bytes()), say, until: None };
        self.change_hold(hold, |held| {
            held.state.is = is;
            held.state.answered = Some(answered);
            if is != HoldIs::Approved {
                held.state.sealed = None;
            }
        });
    }

    /// Ends a hold that nobody answered.
    pub fn end(&self, hold: HoldId, is: HoldIs) {
        self.change_hold(hold, |held| {
            held.state.is = is;
            held.state.sealed = None;
        });
    }

    pub fn change_hold(&self, hold: HoldId, change: impl FnOnce(&mut FakeHold)) {
        let mut state = self.lock();
        change(state.holds.0.iter_mut().find(|held| held.state.hold == hold).expect("a hold"));
    }
}

pub async fn one(
    State(ledger): State<Arc<Ledger>>,
    Path(hold): Path<HoldId>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let wait = query.get("wait_ms").and_then(|text| text.parse().ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_millis(wait);
    loop {
        let found = ledger.holds().into_iter().find(|held| held.state.hold == hold);
        match found {
            None => return StatusCode::NOT_FOUND.into_response(),
            Some(held) if held.state.is != HoldIs::Open || Instant::now() >= until => {
                return Json(held.state).into_response();
            }
            Some(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

pub async fn newest(
    State(ledger): State<Arc<Ledger>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let is = |name: &str, value: String| query.get(name) == Some(&value);
    let found = ledger.holds().into_iter().rev().find(|held| {
        is("agent", held.agent.to_string())
            && is("call", held.call.clone())
            && matches!(held.state.is, HoldIs::Open | HoldIs::Approved)
    });
    match found {
        None => StatusCode::NOT_FOUND.into_response(),
        Some(held) => Json(held.state).into_response(),
    }
}
