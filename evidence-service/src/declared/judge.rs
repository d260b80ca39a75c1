//! Whether a decision about a vendor's action takes its place in a session. Pure.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::SessionId;
use counterfoil_core::record::RefusedReason;
use counterfoil_core::statement::{Decision, Mode, Statement};

use super::store::Taken;
use crate::ledger::facts::Facts;
use crate::ledger::judge::{Candidate, Fate};

/// The place that a decision takes: its session, the vendor's own seq, and what it says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) session: SessionId,
    pub(crate) place: u64,
    pub(crate) fingerprint: Digest,
}

impl Place {
    /// None for a decision that takes none: the gateway's own, and one that names no session.
    pub(crate) fn of(
        decision: &Decision,
        fingerprint: Option<Digest>,
    ) -> Option<Result<Self, RefusedReason>> {
        let session = decision.session.filter(|_| decision.mode == Mode::Hook)?;
        let ask = decision.ask.as_ref().filter(|ask| i64::try_from(ask.seq).is_ok());
        let place =
            ask.zip(fingerprint).map(|(ask, fingerprint)| Self { session, place: ask.seq, fingerprint });
        Some(place.ok_or(RefusedReason::Malformed))
    }

    pub(crate) fn of_candidate(candidate: &Candidate) -> Option<Result<Self, RefusedReason>> {
        let Statement::Decision(decision) = &candidate.statement else { return None };
        Self::of(decision, candidate.idempotency.as_ref().map(|key| key.fingerprint))
    }

    pub(crate) fn taken_at(&self, seq: u64) -> Taken {
        Taken { session: self.session, place: self.place, fingerprint: self.fingerprint, seq }
    }
}

/// What becomes of the decision by its session alone; none if nothing there stands against it. `earlier` are the places that
/// this batch took before, `replay` says whether a stored decision may be told again.
pub(crate) fn fate(
    candidate: &Candidate,
    decision: &Decision,
    facts: &Facts,
    earlier: &[(Place, usize)],
    replay: impl Fn(u64) -> Fate,
) -> Option<Fate> {
    let place = match Place::of_candidate(candidate)? {
        Ok(place) => place,
        Err(reason) => return Some(Fate::Refused(reason)),
    };
    let at_place =
        |(taken, _): &&(Place, usize)| taken.session == place.session && taken.place == place.place;
    if let Some((taken, index)) = earlier.iter().find(at_place) {
        let agrees = taken.fingerprint == place.fingerprint;
        return Some(if agrees { Fate::Twin(*index) } else { Fate::Refused(RefusedReason::Conflict) });
    }
    let known = facts.declared.iter().find(|declared| declared.session == place.session);
    let own = known.filter(|known| Some(known.key) == candidate.credential && known.agent == decision.agent);
    let Some(session) = own else { return Some(Fate::Refused(RefusedReason::SessionUnknown)) };
    let taken = facts.places.iter().find(|t| t.session == place.session && t.place == place.place);
    if let Some(taken) = taken {
        if taken.fingerprint != place.fingerprint {
            return Some(Fate::Refused(RefusedReason::Conflict));
        }
        if let stored @ Fate::Stored(_) = replay(taken.seq) {
            return Some(stored);
        }
        if session.closed {
            return Some(Fate::Refused(RefusedReason::SessionClosed));
        }
        return (!takes_the_place_of(decision, facts, taken.seq))
            .then_some(Fate::Refused(RefusedReason::Stale));
    }
    session.closed.then_some(Fate::Refused(RefusedReason::SessionClosed))
}

/// The same action, judged again, names the decision whose place it takes.
fn takes_the_place_of(decision: &Decision, facts: &Facts, seq: u64) -> bool {
    let Some(stored) = facts.stored.get(&seq) else { return false };
    let Statement::Decision(before) = &stored.statement else { return false };
    before.action == decision.action && decision.supersedes == Some(stored.entry.body)
}
