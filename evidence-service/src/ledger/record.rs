//! `POST /internal/v1/record`: statements of gateways, one transaction a project.
//!
//! Signatures are checked before the lock is taken, because a key's bytes never change; whether the key still counts
//! is read under the lock. Openings of decisions are kept beside them, unread: we cannot open them. They travel in
//! the commit of the statements that they came with, so that no decision waits for a second one.

use std::collections::HashMap;
use std::sync::Arc;

use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::{InstanceId, ProjectId};
use counterfoil_core::key::Thumbprint;
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::{ItemAnswer, OpeningItem, Recorded, RefusedReason, StatementItem};
use counterfoil_core::session::key_of;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;

use super::append::{AppendError, Done, Job, Plan};
use super::facts::{Facts, Questions, Stored};
use super::head::Head;
use super::judge::{Candidate, Fate, IdempotencyKey, SignatureCheck, judge};
use super::seal::{Placed, Sealed};
use super::{Ledger, store};
use crate::database::{DatabaseError, ProjectTx};
use crate::declared;
use crate::declared::judge::Place;
use crate::declared::store::Taken;
use crate::holds::store::Decided;
use crate::holds::{self, park};
use crate::reconciliation;

/// A statement as it came, parsed; nothing about its signature is known yet.
pub(crate) struct Arrived {
    envelope: Envelope,
    statement: Statement,
    item: StatementItem,
}

impl Arrived {
    /// Refuses what is not a decision or an observation of the project that the item names.
    pub(crate) fn read(item: StatementItem) -> Result<Self, RefusedReason> {
        let text = item.statement.get().as_bytes();
        if text.len() > MAX_STATEMENT {
            return Err(RefusedReason::TooLarge);
        }
        let envelope = Envelope::parse(text).map_err(|_| RefusedReason::Malformed)?;
        let statement = envelope.statement().map_err(|_| RefusedReason::Malformed)?;
        let of_a_gateway = matches!(statement, Statement::Decision(_) | Statement::Observation(_));
        let keyed_well = item.idempotency.as_ref().is_none_or(|asked| is_key(&asked.key));
        if !of_a_gateway || statement.project() != item.project || !keyed_well {
            return Err(RefusedReason::Malformed);
        }
        match (&item.parked, &statement) {
            (None, _) => {}
            (Some(parked), Statement::Decision(decision)) => park::check(parked, decision)?,
            (Some(_), _) => return Err(RefusedReason::Malformed),
        }
        Ok(Self { envelope, statement, item })
    }

    pub(crate) fn kid(&self) -> &Thumbprint {
        self.envelope.kid()
    }
}

// A payload ends at 64 KiB; whitespace and the signature get as much again.
const MAX_STATEMENT: usize = 128 * 1024;
/// Largest sealed opening: values and facts of one call, encrypted and in base64url.
pub(crate) const MAX_OPENING: usize = 256 * 1024;

struct Batch {
    /// The gateway process that sent it.
    instance: InstanceId,
    candidates: Vec<Candidate>,
    openings: Vec<(Digest, String)>,
}

struct Outcome {
    fates: Vec<Fate>,
    stored: Vec<(u64, Stored)>,
}

impl Job for Batch {
    type Outcome = Outcome;

    fn questions(&self) -> Questions {
        let mut asked = Questions::default();
        for candidate in &self.candidates {
            asked.kids.push(candidate.kid.to_string());
            asked.credentials.extend(candidate.credential.map(|key| key.uuid()));
            asked.idempotency.extend(candidate.idempotency.clone());
            asked.digests.push(candidate.digest.bytes().to_vec());
            match &candidate.statement {
                Statement::Decision(decision) => {
                    asked.actions.push(decision.action.uuid());
                    asked.credentials.extend(key_of(decision).map(|key| key.uuid()));
                    if let Some(Ok(place)) = Place::of_candidate(candidate) {
                        asked.sessions.push(place.session.uuid());
                        asked
                            .places
                            .extend(i64::try_from(place.place).map(|seq| (place.session.uuid(), seq)));
                    }
                    let lifted = decision.answers.as_ref().filter(|_| decision.is_cleared());
                    asked.holds.extend(lifted.map(|answers| answers.hold.uuid()));
                    asked.holds.extend(candidate.parking.as_ref().map(|parking| parking.hold.uuid()));
                }
                Statement::Observation(seen) => asked.actions.push(seen.action.uuid()),
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
                | Statement::Session(_) => {}
            }
        }
        asked.kids.sort_unstable();
        asked.kids.dedup();
        asked.credentials.sort_unstable();
        asked.credentials.dedup();
        asked
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Outcome>, AppendError> {
        let judged = judge(&self.candidates, head, facts, at);
        let stored = facts.stored.iter().map(|(seq, stored)| (*seq, stored.clone())).collect();
        Ok(Plan {
            head: head.clone(),
            accepted: judged.accepted,
            keyed: judged.keyed,
            sessions: judged.sessions,
            outcome: Outcome { fates: judged.fates, stored },
        })
    }

    /// What was cleared waits for its outcome from this commit on, what was observed waits no longer; a call that is held
    /// is parked, and one that a person let go is parked no longer.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let mut spoken: HashMap<Digest, &Candidate> = HashMap::new();
        for candidate in &self.candidates {
            // Of two alike the first was accepted.
            spoken.entry(candidate.digest).or_insert(candidate);
        }
        let placed = sealed.placed.iter().filter_map(|placed| {
            let candidate = spoken.get(&placed.accepted.digest)?;
            Some((placed.entry.seq, placed.accepted.digest, *candidate))
        });
        let placed: Vec<_> = placed.collect();
        let statements: Vec<_> =
            placed.iter().map(|(seq, digest, candidate)| (*seq, *digest, &candidate.statement)).collect();
        let decided: Vec<Decided<'_>> = placed.iter().filter_map(decided).collect();
        let calls = reconciliation::open_and_close(tx, self.instance, sealed.head.last_at, &statements);
        let holds = holds::store::open_and_dispatch(tx, &sealed.head, &decided);
        let taken: Vec<(Taken, Digest)> = sealed
            .placed
            .iter()
            .filter_map(|placed| {
                let place = Place::of_candidate(spoken.get(&placed.accepted.digest)?)?.ok()?;
                Some((place.taken_at(placed.entry.seq), placed.hash))
            })
            .collect();
        let places = declared::store::take(tx, &taken);
        tokio::try_join!(calls, holds, places, keep(tx, &self.openings)).map(drop)
    }
}

/// Decisions that say something about a hold.
fn decided<'a>((seq, digest, candidate): &(u64, Digest, &'a Candidate)) -> Option<Decided<'a>> {
    let Statement::Decision(decision) = &candidate.statement else { return None };
    let parking = candidate.parking.as_ref();
    let speaks = parking.is_some() || decision.answers.is_some();
    speaks.then_some(Decided { seq: *seq, digest: *digest, decision, parking })
}

async fn keep(tx: &ProjectTx<'_>, openings: &[(Digest, String)]) -> Result<(), DatabaseError> {
    match openings {
        [] => Ok(()),
        openings => store::insert_openings(tx, openings).await,
    }
}

/// What became of the openings that came with statements.
pub(crate) struct Answered {
    /// Of the statements, in their order.
    pub(crate) statements: Vec<ItemAnswer>,
    /// False if they are not kept yet: no commit took them along.
    pub(crate) openings_kept: bool,
}

impl Ledger {
    /// Records statements of one project and answers each, in order; keeps the openings that came with them.
    pub(crate) async fn record(
        self: &Arc<Self>,
        project: ProjectId,
        instance: InstanceId,
        arrived: Vec<Arrived>,
        openings: Vec<OpeningItem>,
    ) -> Result<Answered, AppendError> {
        let digests: Vec<Digest> = arrived.iter().map(|arrived| arrived.envelope.digest()).collect();
        let ledger = Arc::clone(self);
        // In a task of its own: a gateway that hangs up must not stop a commit half way.
        let task = tokio::spawn(async move {
            let candidates = ledger.check(project, arrived).await?;
            let batch = Batch { instance, candidates, openings: rows(openings) };
            ledger.append(project, &batch).await
        });
        let all = |answer: fn(Digest) -> ItemAnswer| digests.iter().map(|digest| answer(*digest)).collect();
        let nothing = |statements| Answered { statements, openings_kept: false };
        match task.await.map_err(|_| AppendError::Unknown)? {
            Ok(done) => {
                Ok(Answered { statements: answers(&digests, &done), openings_kept: done.sealed.is_some() })
            }
            Err(AppendError::Unknown) => Ok(nothing(all(|digest| ItemAnswer::Unknown { digest }))),
            Err(AppendError::ReadOnly(_)) => {
                Ok(nothing(all(|digest| refused(digest, RefusedReason::ReadOnly))))
            }
            Err(other) => Err(other),
        }
    }

    /// Checks signatures against the keys that the project ever introduced.
    async fn check(&self, project: ProjectId, arrived: Vec<Arrived>) -> Result<Vec<Candidate>, AppendError> {
        let issuer = self.project(project).await?.issuer.clone();
        let kids: Vec<Thumbprint> = arrived.iter().map(|arrived| arrived.kid().clone()).collect();
        let keys = self.public_keys(project, &kids).await?;
        let cards = &self.keys.cards;
        let candidates = arrived.into_iter().map(|Arrived { envelope, statement, item }| {
            let verified = keys.get(envelope.kid()).is_some_and(|key| envelope.verify(key).is_ok());
            let ours = statement.issuer() == Some(&issuer);
            let signature = if verified && ours { SignatureCheck::Holds } else { SignatureCheck::Fails };
            let idempotency = idempotency(&statement, &item);
            let parking = item.parked.map(|parked| park::seal(parked, project, cards)).transpose()?;
            let body = envelope.bytes().to_vec();
            let digest = Digest::of(&body);
            let kid = envelope.kid().clone();
            let (credential, judged_on) = (item.credential, item.judged_on);
            Ok(Candidate {
                statement,
                digest,
                body,
                kid,
                signature,
                credential,
                idempotency,
                parking,
                judged_on,
            })
        });
        let candidates: Result<Vec<Candidate>, counterfoil_jwks::NoChance> = candidates.collect();
        candidates.map_err(|error| AppendError::Unavailable(error.to_string()))
    }

    /// Keeps sealed openings that no commit took along. They follow their decisions in a later batch, so they get no
    /// place in the chain.
    pub(crate) async fn keep(
        &self,
        project: ProjectId,
        openings: Vec<OpeningItem>,
    ) -> Result<(), AppendError> {
        let mut client = self.database.app().await?;
        let tx = client.begin(project).await?;
        keep(&tx, &rows(openings)).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        Ok(())
    }
}

fn rows(openings: Vec<OpeningItem>) -> Vec<(Digest, String)> {
    openings.into_iter().map(|item| (item.decision, item.jwe)).collect()
}

/// What the database can hold as a key. Checked here, because there it would fail the whole batch.
fn is_key(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

fn idempotency(statement: &Statement, item: &StatementItem) -> Option<IdempotencyKey> {
    let Statement::Decision(decision) = statement else { return None };
    let asked = item.idempotency.as_ref()?;
    Some(IdempotencyKey {
        env: decision.env,
        credential: item.credential?,
        key: asked.key.clone(),
        fingerprint: asked.fingerprint,
    })
}

fn answers(digests: &[Digest], done: &Done<Outcome>) -> Vec<ItemAnswer> {
    let pairs = digests.iter().zip(&done.outcome.fates);
    pairs.map(|(digest, fate)| answer(*digest, *fate, done)).collect()
}

fn answer(digest: Digest, fate: Fate, done: &Done<Outcome>) -> ItemAnswer {
    let placed = |index: usize| {
        done.sealed.as_ref().and_then(|sealed| Some((sealed.placed.get(sealed.before + index)?, sealed)))
    };
    let stored = |seq: u64| done.outcome.stored.iter().find(|(found, _)| *found == seq);
    let answered = match fate {
        Fate::Recorded(index) => placed(index)
            .and_then(|(placed, sealed)| recorded(placed, &sealed.note))
            .map(ItemAnswer::Recorded),
        Fate::Twin(index) => placed(index)
            .and_then(|(placed, sealed)| recorded(placed, &sealed.note))
            .map(ItemAnswer::Duplicate),
        Fate::Stored(seq) => stored(seq).and_then(|(_, stored)| repeated(stored)).map(ItemAnswer::Duplicate),
        Fate::Refused(reason) => Some(refused(digest, reason)),
    };
    answered.unwrap_or(ItemAnswer::Unknown { digest })
}

fn recorded(placed: &Placed, note: &str) -> Option<Recorded> {
    let receipt = Receipt::new(&placed.accepted.body, placed.entry.clone(), &placed.path, note)?;
    Some(Recorded { digest: placed.accepted.digest, receipt })
}

fn repeated(stored: &Stored) -> Option<Recorded> {
    let receipt = Receipt::new(&stored.body, stored.entry.clone(), &stored.path, &stored.note)?;
    Some(Recorded { digest: stored.entry.body, receipt })
}

pub(crate) fn refused(digest: Digest, reason: RefusedReason) -> ItemAnswer {
    ItemAnswer::Refused { digest: Some(digest), reason }
}
