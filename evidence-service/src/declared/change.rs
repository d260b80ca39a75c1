//! Opening and closing: one entry each, whoever asks how often.

use counterfoil_core::commitment::OpeningSeed;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{AgentId, KeyId, ProjectId, SessionId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Session, SessionEvent, SessionType, Statement};
use counterfoil_core::time::Timestamp;
use counterfoil_jwks::opening::{DisclosureKey, Opening};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::store::{self, Declared};
use super::wire::Declaration;
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::Ledger;
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Placed, Sealed};
use crate::ledger::store::insert_openings;

/// What is known of the session that a request names: its place in the directory, and who asks.
struct Named {
    issuer: Issuer,
    key: KeyId,
    external: [u8; 32],
}

struct Open<'k> {
    named: Named,
    parent: Option<[u8; 32]>,
    session: SessionId,
    declared: Declaration,
    seed: OpeningSeed,
    /// What opens the commitments, sealed to the project's disclosure key.
    sealed: String,
    signer: &'k SigningKey<LedgerPurpose>,
}

struct Close<'k> {
    named: Named,
    signer: &'k SigningKey<LedgerPurpose>,
}

impl Named {
    fn questions(&self, parent: Option<[u8; 32]>) -> Questions {
        Questions {
            credentials: vec![self.key.uuid()],
            externals: Some((self.key, [self.external].into_iter().chain(parent).collect())),
            ..Questions::default()
        }
    }

    fn find<'f>(&self, facts: &'f Facts) -> Option<&'f Declared> {
        facts.declared.iter().find(|declared| declared.external == self.external)
    }
}

/// Commitments by name, as the statement has them.
fn values(declared: &Declaration) -> BTreeMap<String, String> {
    let document = Digest::of(&canonical(&declared.document)).to_string();
    let mut values: BTreeMap<String, String> = [
        ("external", declared.external.clone()),
        ("declared", document),
        ("principal", declared.principal.clone()),
        ("request", declared.request.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    values.extend(declared.task.clone().map(|task| ("task".to_owned(), task)));
    values.extend(declared.grant.map(|grant| ("grant".to_owned(), grant.to_string())));
    values
}

impl Open<'_> {
    fn statement(&self, facts: &Facts, head: &Head, at: Timestamp) -> Option<Session> {
        let agent = facts.credentials.get(&self.named.key).filter(|state| !state.revoked)?.agent;
        let values = values(&self.declared);
        let commit = |name: &str| values.get(name).map(|value| self.seed.commit(name, value).commitment());
        let parent = self.parent.and_then(|parent| {
            let found = facts.declared.iter().find(|declared| declared.external == parent);
            found.map(|declared| declared.session)
        });
        Some(Session {
            typ: SessionType::V1,
            iss: self.named.issuer.clone(),
            project: head.project,
            at,
            session: self.session,
            event: SessionEvent::Opened,
            via: self.named.key,
            agent,
            external: commit("external"),
            declared: commit("declared"),
            principal: commit("principal"),
            request: commit("request"),
            task: commit("task"),
            grant: commit("grant"),
            parent,
            started_at: self.declared.started_at,
        })
    }
}

/// What a request found or made.
#[derive(Clone, Debug)]
enum Found {
    Stands(Declared),
    /// The last entry of this commit is it.
    Made,
    /// Nothing of that name, or nobody who may ask any more.
    Nothing,
}

fn planned(head: &Head, made: Option<Signed<Session>>, found: Found) -> Plan<Found> {
    let accepted = made.map(|signed| Accepted::said(&signed, |said| Statement::Session(Box::new(said))));
    Plan::saying(head.clone(), accepted.into_iter().collect(), found)
}

fn made(sealed: &Sealed) -> Result<&Placed, DatabaseError> {
    sealed.placed.last().ok_or_else(|| DatabaseError::Refused("a session of no entry".to_owned()))
}

impl Job for Open<'_> {
    type Outcome = Found;

    fn questions(&self) -> Questions {
        self.named.questions(self.parent)
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Found>, AppendError> {
        if let Some(stands) = self.named.find(facts) {
            return Ok(planned(head, None, Found::Stands(stands.clone())));
        }
        let Some(statement) = self.statement(facts, head, at) else {
            return Ok(planned(head, None, Found::Nothing));
        };
        Ok(planned(head, Some(Signed::sign(statement, self.signer)), Found::Made))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let placed = made(sealed)?;
        let agent = placed.accepted.projection.agent.unwrap_or_default();
        let row = Declared {
            key: self.named.key,
            external: self.named.external,
            session: self.session,
            agent: AgentId::from_uuid(agent),
            head_hash: placed.hash,
            closed: false,
        };
        store::declare(tx, &row, placed.entry.seq).await?;
        insert_openings(tx, &[(placed.accepted.digest, self.sealed.clone())]).await
    }
}

impl Job for Close<'_> {
    type Outcome = Found;

    fn questions(&self) -> Questions {
        self.named.questions(None)
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Found>, AppendError> {
        let stands = match self.named.find(facts) {
            None => return Ok(planned(head, None, Found::Nothing)),
            Some(stands) if stands.closed => return Ok(planned(head, None, Found::Stands(stands.clone()))),
            Some(stands) => stands,
        };
        let statement = Session {
            typ: SessionType::V1,
            iss: self.named.issuer.clone(),
            project: head.project,
            at,
            session: stands.session,
            event: SessionEvent::Closed,
            via: self.named.key,
            agent: stands.agent,
            external: None,
            declared: None,
            principal: None,
            request: None,
            task: None,
            grant: None,
            parent: None,
            started_at: None,
        };
        Ok(planned(head, Some(Signed::sign(statement, self.signer)), Found::Made))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        store::close(tx, &self.named.external, self.named.key, made(sealed)?.entry.seq).await
    }
}

/// What a vendor is told of a session that it declared.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) session: SessionId,
    pub(super) head_hash: Digest,
}

impl Ledger {
    fn named(&self, issuer: Issuer, key: KeyId, external: &str) -> Named {
        Named { issuer, key, external: self.external(external) }
    }

    /// What stands in the directory for a vendor's own id. Under another key-encryption key it is another.
    pub(super) fn external(&self, text: &str) -> [u8; 32] {
        self.keys().externals.mac(text)
    }

    /// The session of that name, opened now if it was not before. None where the key may not ask any more.
    pub(super) async fn open_session(
        self: &Arc<Self>,
        project: ProjectId,
        key: KeyId,
        declared: Declaration,
    ) -> Result<Option<Opened>, AppendError> {
        let known = self.project(project).await?;
        let seed = OpeningSeed::from_bytes(clock::fresh_bytes().map_err(unavailable)?);
        let jwk = serde_json::from_str(&known.disclosure_key).map_err(unavailable)?;
        let to = DisclosureKey::parse(&jwk).ok_or_else(|| unavailable("no disclosure key"))?;
        let opening = Opening { seed, values: values(&declared), facts: canonical(&declared.document) };
        let sealed = opening.seal(&to).map_err(unavailable)?;
        let named = self.named(known.issuer.clone(), key, &declared.external);
        let parent = declared.parent.as_ref().map(|parent| self.external(parent));
        let session = SessionId::from_uuid(clock::fresh_uuid());
        let ledger = Arc::clone(self);
        // In a task of its own: a vendor that hangs up must not stop a commit half way.
        let task = tokio::spawn(async move {
            let signer = &ledger.keys().ledger;
            let job = Open { named, parent, session, declared, seed: opening.seed, sealed, signer };
            ledger.append(project, &job).await
        });
        let done = task.await.map_err(|_| AppendError::Unknown)??;
        match done.outcome {
            Found::Stands(Declared { session, head_hash, .. }) => Ok(Some(Opened { session, head_hash })),
            Found::Nothing => Ok(None),
            Found::Made => {
                let placed = done.sealed.as_ref().and_then(|sealed| sealed.placed.last());
                let head_hash = placed.ok_or(AppendError::Unknown)?.hash;
                Ok(Some(Opened { session, head_hash }))
            }
        }
    }

    /// Whether that key declared a session of that name; it is closed from now on.
    pub(super) async fn close_session(
        self: &Arc<Self>,
        project: ProjectId,
        key: KeyId,
        external: &str,
    ) -> Result<bool, AppendError> {
        let issuer = self.project(project).await?.issuer.clone();
        let named = self.named(issuer, key, external);
        let ledger = Arc::clone(self);
        let task = tokio::spawn(async move {
            let job = Close { named, signer: &ledger.keys().ledger };
            ledger.append(project, &job).await
        });
        let done = task.await.map_err(|_| AppendError::Unknown)??;
        Ok(!matches!(done.outcome, Found::Nothing))
    }
}

fn unavailable(why: impl std::fmt::Display) -> AppendError {
    AppendError::Unavailable(why.to_string())
}
