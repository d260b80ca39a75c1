//! Which statements of a batch get in. Pure: the head, what was read under its lock, and the time are arguments.
//!
//! Items are taken in order and each is accepted or refused alone. Only what would let a call go out (ALLOW, or any
//! advisory verdict) is held against kills, windows, gen, floor, credentials and the answer it names; a DENY meets only signature and skew, and an
//! observation only its signature, so that nothing stops a refusal from being recorded.

use std::collections::HashMap;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{HoldId, KeyId};
use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::record::RefusedReason;
use counterfoil_core::session::{Running, Summary, key_of};
use counterfoil_core::statement::{Decision, Environment, Reason, Statement, Windows};
use counterfoil_core::time::Timestamp;

use super::facts::{Facts, Stored};
use super::head::Head;
use super::seal::Accepted;
use crate::declared::{self, judge::Place};
use crate::holds::park::{Parking, lifts};
use counterfoil_core::projection::Projection;

/// A statement that a gateway sent, parsed, its signature checked against the key that it names.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) statement: Statement,
    pub(crate) digest: Digest,
    pub(crate) body: Vec<u8>,
    pub(crate) kid: Thumbprint,
    /// Whether `verify_strict` held. The key's state is judged here, under the lock.
    pub(crate) signature: SignatureCheck,
    pub(crate) credential: Option<KeyId>,
    pub(crate) idempotency: Option<IdempotencyKey>,
    /// What a held decision parks.
    pub(crate) parking: Option<Parking>,
    /// The newest decision of its session that a decision was judged on.
    pub(crate) judged_on: Option<u64>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SignatureCheck {
    Holds,
    Fails,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct IdempotencyKey {
    pub(crate) env: Environment,
    pub(crate) credential: KeyId,
    pub(crate) key: String,
    pub(crate) fingerprint: Digest,
}

/// What becomes of one candidate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    /// Accepted as the n-th of the batch.
    Recorded(usize),
    /// The entry that was stored before is the answer.
    Stored(u64),
    /// The same statement stands earlier in this batch, accepted as the n-th.
    Twin(usize),
    Refused(RefusedReason),
}

/// The outcome of a batch.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) accepted: Vec<Accepted>,
    pub(crate) fates: Vec<Fate>,
    /// Idempotency keys that the accepted statements occupy from now on.
    pub(crate) keyed: Vec<(IdempotencyKey, usize)>,
    /// What API keys have done, the accepted statements included.
    pub(crate) sessions: HashMap<KeyId, Running>,
    /// Holds that the accepted statements open or dispatch: the first of a batch has it.
    holds: Vec<HoldId>,
    /// Places in declared sessions that the accepted statements take.
    places: Vec<(Place, usize)>,
}

// Both ends follow ledger time; the two seconds are for the offset between two monotonic clocks. Fifteen is the life
// of a decision: what arrives later was held up somewhere, and the call it belongs to has been given up.
const AHEAD_MILLIS: i64 = 2_000;
const BEHIND_MILLIS: i64 = 15_000;
/// A stored answer that lets a call go out is replayed no longer than its capability could live.
const REPLAY_MILLIS: i64 = 60_000;

pub(crate) fn judge(candidates: &[Candidate], head: &Head, facts: &Facts, at: Timestamp) -> Judged {
    let mut judged = Judged::default();
    let mut batch: HashMap<Digest, usize> = HashMap::new();
    for candidate in candidates {
        let fate = match batch.get(&candidate.digest) {
            Some(place) => Fate::Twin(*place),
            None => fate(candidate, head, facts, at, &judged),
        };
        if let Fate::Recorded(place) = fate {
            batch.insert(candidate.digest, place);
            judged.keyed.extend(candidate.idempotency.clone().map(|key| (key, place)));
            judged.holds.extend(moved(candidate));
            judged.sessions.extend(done(candidate, head, facts, at, (&judged, place)));
            judged
                .places
                .extend(Place::of_candidate(candidate).and_then(Result::ok).map(|taken| (taken, place)));
            judged.accepted.push(Accepted {
                kind: candidate.statement.kind(),
                projection: Projection::of(&candidate.statement),
                digest: candidate.digest,
                body: candidate.body.clone(),
            });
        }
        judged.fates.push(fate);
    }
    judged
}

fn fate(candidate: &Candidate, head: &Head, facts: &Facts, at: Timestamp, so_far: &Judged) -> Fate {
    if candidate.signature != SignatureCheck::Holds || !signs_decisions(&candidate.kid, facts) {
        return Fate::Refused(RefusedReason::BadSignature);
    }
    if let Some(seq) = facts.twins.get(&candidate.digest) {
        return stored(*seq, head, facts, at);
    }
    let decision = match &candidate.statement {
        Statement::Observation(_) => return Fate::Recorded(so_far.accepted.len()),
        Statement::Decision(decision) => decision,
        Statement::Received(_)
        | Statement::Key(_)
        | Statement::Published(_)
        | Statement::Epoch(_)
        | Statement::Finding(_)
        | Statement::Clearance(_)
        | Statement::Resolution(_)
        | Statement::Coverage(_)
        | Statement::Settings(_)
        | Statement::Tombstone(_)
        | Statement::Probe(_)
        | Statement::Kill(_)
        | Statement::Incident(_)
        | Statement::Hold(_)
        | Statement::Answer(_)
        | Statement::Grant(_)
        | Statement::Resume(_)
        | Statement::Breakglass(_)
        | Statement::Shadow(_)
        | Statement::Session(_) => return Fate::Refused(RefusedReason::Malformed),
    };
    if let Some(fate) = keyed(candidate, head, facts, at, so_far) {
        return fate;
    }
    let replay = |seq| stored(seq, head, facts, at);
    if let Some(fate) = declared::judge::fate(candidate, decision, facts, &so_far.places, replay) {
        return fate;
    }
    let obstacle = skewed(decision, at)
        .or_else(|| gate(decision, candidate.credential, head, facts, at))
        .or_else(|| overtaken(candidate, decision, facts, at, so_far))
        .or_else(|| held(candidate, decision, facts, at, so_far));
    obstacle.map_or(Fate::Recorded(so_far.accepted.len()), Fate::Refused)
}

fn signs_decisions(kid: &Thumbprint, facts: &Facts) -> bool {
    facts.keys.get(kid).is_some_and(|key| key.purpose == Purpose::Decision && !key.ended)
}

/// Same key and fingerprint: the stored answer while it may be replayed, else judged again. Another fingerprint under
/// a key that is taken: no.
fn keyed(candidate: &Candidate, head: &Head, facts: &Facts, at: Timestamp, so_far: &Judged) -> Option<Fate> {
    let asked = candidate.idempotency.as_ref()?;
    let same = |taken: &IdempotencyKey| {
        taken.env == asked.env && taken.credential == asked.credential && taken.key == asked.key
    };
    if let Some((taken, place)) = so_far.keyed.iter().find(|(taken, _)| same(taken)) {
        let agrees = taken.fingerprint == asked.fingerprint;
        return Some(if agrees { Fate::Twin(*place) } else { Fate::Refused(RefusedReason::Conflict) });
    }
    let taken = facts.keyed.iter().find(|taken| same(&taken.key))?;
    if taken.key.fingerprint != asked.fingerprint {
        return Some(Fate::Refused(RefusedReason::Conflict));
    }
    match stored(taken.seq, head, facts, at) {
        Fate::Stored(seq) => Some(Fate::Stored(seq)),
        Fate::Recorded(_) | Fate::Twin(_) | Fate::Refused(_) => None,
    }
}

/// The stored answer, unless it would let a call go out that may no longer.
fn stored(seq: u64, head: &Head, facts: &Facts, at: Timestamp) -> Fate {
    let told = facts.stored.get(&seq).ok_or(RefusedReason::Stale);
    let told = told.and_then(|found| may_be_told_again(found, head, at));
    told.map_or_else(Fate::Refused, |()| Fate::Stored(seq))
}

/// Whether what was answered is the answer still.
pub(crate) fn may_be_told_again(found: &Stored, head: &Head, at: Timestamp) -> Result<(), RefusedReason> {
    let Stored { entry, statement, .. } = found;
    let Statement::Decision(decision) = statement else { return Ok(()) };
    if !decision.is_cleared() {
        return Ok(());
    }
    if is_killed(decision, head) {
        return Err(RefusedReason::Killed);
    }
    let expired = at.millis() - entry.at.millis() > REPLAY_MILLIS || !window_stands(decision, head, at);
    if expired || decision.control < head.floor {
        return Err(RefusedReason::Stale);
    }
    Ok(())
}

fn skewed(decision: &Decision, at: Timestamp) -> Option<RefusedReason> {
    let ahead = decision.at.millis() - at.millis();
    (ahead > AHEAD_MILLIS || -ahead > BEHIND_MILLIS).then_some(RefusedReason::Skew)
}

/// The project, or what this call comes from.
fn is_killed(decision: &Decision, head: &Head) -> bool {
    head.killed
        || decision.generation != head.generation
        || head.stopped.iter().any(|scope| scope.covers(decision))
}

/// Time alone ends a window, so control and floor cannot say whether one stands.
fn window_stands(decision: &Decision, head: &Head, at: Timestamp) -> bool {
    let windows = Windows { breakglass_until: head.breakglass_until, shadow_until: head.shadow_until };
    windows.carry(decision, at)
}

fn gate(
    decision: &Decision,
    credential: Option<KeyId>,
    head: &Head,
    facts: &Facts,
    at: Timestamp,
) -> Option<RefusedReason> {
    if !decision.is_cleared() {
        return None;
    }
    if is_killed(decision, head) {
        return Some(RefusedReason::Killed);
    }
    if !window_stands(decision, head, at) {
        return Some(RefusedReason::Stale);
    }
    // The bundle changes only together with the floor, so whatever is above the floor was judged by this one.
    let judged_by_this = Some(decision.policy) == head.documents.policy;
    if !judged_by_this || !(head.floor..=head.control).contains(&decision.control) {
        return Some(RefusedReason::Stale);
    }
    let known = credential.and_then(|id| facts.credentials.get(&id).map(|state| (id, state)));
    let good = known.is_some_and(|(id, state)| {
        !state.revoked && state.agent == decision.agent && decision.via == id.to_string()
    });
    if good { None } else { Some(RefusedReason::Revoked) }
}

/// What the key did last, earlier items of this batch included.
fn running<'f>(key: KeyId, facts: &'f Facts, so_far: &'f Judged) -> Option<&'f Running> {
    let stored = || facts.credentials.get(&key)?.running.as_ref();
    so_far.sessions.get(&key).or_else(stored)
}

/// A call that goes out by rules that ask what its session did was judged on all that stands before it (G13).
fn overtaken(
    candidate: &Candidate,
    decision: &Decision,
    facts: &Facts,
    at: Timestamp,
    so_far: &Judged,
) -> Option<RefusedReason> {
    let (key, named) = (key_of(decision)?, decision.session?);
    if !decision.is_cleared() {
        return None;
    }
    let stands = Summary::at(running(key, facts, so_far), at, decision.action);
    let judged_on_it = stands.session == named && stands.upto == candidate.judged_on;
    (!judged_on_it).then_some(RefusedReason::Stale)
}

/// The session of the key that decided this, with this decision counted. Only keys of the project count.
fn done(
    candidate: &Candidate,
    head: &Head,
    facts: &Facts,
    at: Timestamp,
    (so_far, place): (&Judged, usize),
) -> Option<(KeyId, Running)> {
    let Statement::Decision(decision) = &candidate.statement else { return None };
    let key = key_of(decision).filter(|key| facts.credentials.contains_key(key))?;
    let seq = head.size() + u64::from(head.opens_a_day(at)) + place as u64;
    Some((key, Running::after(running(key, facts, so_far), decision, (seq, at))))
}

/// The hold that this statement opens or dispatches.
fn moved(candidate: &Candidate) -> Option<HoldId> {
    let Statement::Decision(decision) = &candidate.statement else { return None };
    let lifted = decision.answers.as_ref().filter(|_| decision.is_cleared()).map(|answers| answers.hold);
    lifted.or_else(|| candidate.parking.as_ref().map(|parking| parking.hold))
}

/// A person's yes is used once, for what the person saw; and nothing is cleared by one that is not named (G5).
fn held(
    candidate: &Candidate,
    decision: &Decision,
    facts: &Facts,
    at: Timestamp,
    so_far: &Judged,
) -> Option<RefusedReason> {
    if !decision.is_cleared() {
        let parking = candidate.parking.as_ref()?;
        let taken = facts.holds.contains_key(&parking.hold) || so_far.holds.contains(&parking.hold);
        return taken.then_some(RefusedReason::Conflict);
    }
    let Some(answers) = &decision.answers else {
        return (decision.reason == Reason::Approved).then_some(RefusedReason::HoldGone);
    };
    let row = facts.holds.get(&answers.hold).filter(|row| !so_far.holds.contains(&row.hold));
    let lifted = row.is_some_and(|row| match facts.stored.get(&row.seq).map(|stored| &stored.statement) {
        Some(Statement::Decision(held)) => lifts(row, held, decision, answers, at),
        Some(_) | None => false,
    });
    (!lifted).then_some(RefusedReason::HoldGone)
}
