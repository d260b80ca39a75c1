//! `key/v1`: introducing, retiring and revoking keys, through the same append as everything else.
//!
//! What may be done to a key is decided under the head's lock, by what stands there then: whoever races, the one whose
//! entry comes first has it.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::{Envelope, SignatureBytes, Signed};
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, PublicKey, Purpose, SigningKey, Thumbprint};
use counterfoil_core::statement::{
    KeyEvent, KeySource, KeyStatement, KeyType, PublicJwk, Statement, possession_message,
};
use counterfoil_core::time::Timestamp;

use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::store::unreadable;

/// One change of one key.
#[derive(Clone, Debug)]
pub(crate) struct KeyChange {
    pub(crate) event: KeyEvent,
    pub(crate) purpose: Purpose,
    pub(crate) provider: Option<ProviderId>,
    pub(crate) key: PublicKey,
    pub(crate) replaces: Option<Thumbprint>,
    pub(crate) compromised_since: Option<Timestamp>,
    pub(crate) possession: Option<[u8; 64]>,
    pub(crate) source: Option<KeySource>,
}

/// Changes that go into one commit, in order.
pub(crate) struct KeyChanges<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) changes: Vec<KeyChange>,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

/// What became of one change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    /// It has an entry.
    Made,
    /// The provider's key was there already, and nothing changes.
    Known,
}

/// Live execution keys of one project. A statement under a key id that we do not know is tried against all of them,
/// under the head's lock: 64 signatures are 4 ms.
const MOST_PROVIDER_KEYS: usize = 64;

impl Job for KeyChanges<'_> {
    type Outcome = Vec<Fate>;

    fn questions(&self) -> Questions {
        let kids = self.changes.iter().map(|change| change.key.thumbprint().to_string()).collect();
        let live_executions = self.changes.iter().any(|change| change.purpose == Purpose::Execution);
        Questions { kids, live_executions, ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Vec<Fate>>, AppendError> {
        let mut head = head.clone();
        let mut accepted = Vec::with_capacity(self.changes.len());
        let mut fates = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            let fate = change.fate(head.project, facts)?;
            fates.push(fate);
            if fate == Fate::Known {
                continue;
            }
            head.count_control(change.width());
            let statement = self.statement(change, &head, at);
            accepted.push(Accepted::own(Kind::Key, &Signed::sign(statement, self.signer)));
        }
        let coming = self.changes.iter().zip(&fates);
        let coming = coming.filter(|(change, fate)| change.comes_from_a_provider() && **fate == Fate::Made);
        let live = facts.executions.len() + coming.count();
        if live > MOST_PROVIDER_KEYS {
            let why = format!("a project has at most {MOST_PROVIDER_KEYS} live execution keys");
            return Err(AppendError::Refused(why));
        }
        Ok(Plan::saying(head, accepted, fates))
    }

    /// Read back out of what is being stored, so that the table says what the entry says.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        for placed in &sealed.placed[sealed.before..] {
            let envelope = Envelope::parse(&placed.accepted.body).map_err(unreadable)?;
            let Statement::Key(said) = envelope.statement().map_err(unreadable)? else { continue };
            let (seq, at) = (placed.entry.seq, placed.entry.at);
            match said.event {
                KeyEvent::Introduced => store::insert(tx, &said, seq, at).await?,
                KeyEvent::Retired | KeyEvent::Revoked => store::end(tx, &said, seq, at).await?,
            }
        }
        Ok(())
    }
}

impl KeyChanges<'_> {
    fn statement(&self, change: &KeyChange, head: &Head, at: Timestamp) -> KeyStatement {
        KeyStatement {
            typ: KeyType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            event: change.event,
            purpose: change.purpose,
            provider: change.provider.clone(),
            key: PublicJwk::new(&change.key),
            thumbprint: change.key.thumbprint(),
            replaces: change.replaces.clone(),
            compromised_since: change.compromised_since,
            possession: change.possession.map(SignatureBytes),
            source: change.source.clone(),
        }
    }
}

impl KeyChange {
    /// A key of ours that comes, with its own signature that its secret half is there.
    pub(crate) fn introduction(purpose: Purpose, key: PublicKey, possession: [u8; 64]) -> Self {
        Self {
            event: KeyEvent::Introduced,
            purpose,
            provider: None,
            key,
            replaces: None,
            compromised_since: None,
            possession: Some(possession),
            source: None,
        }
    }

    /// A provider's key that comes. Its owner shows possession by its first statement.
    pub(crate) fn import(provider: ProviderId, key: PublicKey, source: Option<KeySource>) -> Self {
        Self {
            event: KeyEvent::Introduced,
            purpose: Purpose::Execution,
            provider: Some(provider),
            key,
            replaces: None,
            compromised_since: None,
            possession: None,
            source,
        }
    }

    fn comes_from_a_provider(&self) -> bool {
        self.purpose == Purpose::Execution && self.event == KeyEvent::Introduced
    }

    fn width(&self) -> Width {
        match self.event {
            KeyEvent::Introduced => Width::Wider,
            KeyEvent::Retired | KeyEvent::Revoked => Width::Narrower,
        }
    }

    fn fate(&self, project: ProjectId, facts: &Facts) -> Result<Fate, AppendError> {
        let kid = self.key.thumbprint();
        let no = |why: String| Err(AppendError::Refused(format!("key `{kid}` {why}")));
        match (self.event, facts.keys.get(&kid)) {
            (KeyEvent::Introduced, None) => {
                let shown = self.comes_from_a_provider()
                    || self.possession.as_ref().is_some_and(|signature| {
                        self.key.verify(&possession_message(project, &kid), signature).is_ok()
                    });
                if shown { Ok(Fate::Made) } else { no("does not show possession of its secret half".into()) }
            }
            (KeyEvent::Introduced, Some(known)) => match (known.purpose, &known.provider) {
                (Purpose::Execution, Some(owner)) if self.comes_from_a_provider() => {
                    if Some(owner) != self.provider.as_ref() {
                        no(format!("belongs to provider `{owner}`, and a key has one owner"))
                    } else if known.ended {
                        no("was deleted or revoked; a key has one life".into())
                    } else {
                        Ok(Fate::Known)
                    }
                }
                (purpose, _) if self.comes_from_a_provider() => {
                    no(format!("is a {purpose} key of this project itself"))
                }
                _ => no("was introduced before; a key has one life".into()),
            },
            (KeyEvent::Retired | KeyEvent::Revoked, None) => no("is not known to this project".into()),
            (KeyEvent::Retired | KeyEvent::Revoked, Some(known)) if known.ended => {
                no("has ended already".into())
            }
            (KeyEvent::Retired, Some(known)) if known.purpose == Purpose::Execution && known.used => {
                no("has signed a statement, so it can only be revoked".into())
            }
            (KeyEvent::Retired | KeyEvent::Revoked, Some(_)) => Ok(Fate::Made),
        }
    }
}
