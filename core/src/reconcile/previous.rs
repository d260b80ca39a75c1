//! What a vendor's action names as the one before it. A claim, compared with what its session was told: never a reason to refuse,
//! and never for order, because calls at the same time name the same one.

use super::{Decided, Found};
use crate::digest::Digest;
use crate::id::SessionId;
use crate::statement::{Decision, FindingCode, Mode, Session, SessionEvent};
use std::collections::{HashMap, HashSet};

/// The session, and the hash that the decision names as the one before: none where that text is no hash. `None` for a decision
/// that names nothing.
pub fn previous_of(decision: &Decision) -> Option<(SessionId, Option<Digest>)> {
    let session = decision.session.filter(|_| decision.mode == Mode::Hook)?;
    let named = decision.ask.as_ref()?.prev.as_ref()?;
    Some((session, named.parse().ok()))
}

pub fn unknown_previous(decided: &Decided) -> Found {
    Found {
        code: FindingCode::UnknownPrevious,
        action: Some(decided.action),
        statement: decided.digest,
        seq: decided.seq,
        since: decided.entered_at,
    }
}

/// Hashes that sessions were told, by whoever reads their entries in order from where they were opened.
#[derive(Debug, Default)]
pub struct Issued(HashMap<SessionId, HashSet<Digest>>);

impl Issued {
    /// A session that opens here, with the hash of that entry; one that closes is told nothing more.
    pub fn follow(&mut self, said: &Session, hash: Digest) {
        match said.event {
            SessionEvent::Opened => drop(self.0.entry(said.session).or_default().insert(hash)),
            SessionEvent::Closed => drop(self.0.remove(&said.session)),
        }
    }

    /// Whether the decision names what was never told to its session before; then its own hash is told. False where the session
    /// was opened before what is read here.
    pub fn is_unknown(&mut self, decision: &Decision, hash: Digest) -> bool {
        let named = previous_of(decision);
        let session = decision.session.filter(|_| decision.mode == Mode::Hook);
        let Some(told) = session.and_then(|session| self.0.get_mut(&session)) else { return false };
        let unknown = named.is_some_and(|(_, named)| named.is_none_or(|named| !told.contains(&named)));
        told.insert(hash);
        unknown
    }
}
