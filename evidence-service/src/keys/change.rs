//! `key/v1`: introducing, retiring and revoking keys, through the same append as everything else.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::{SignatureBytes, Signed};
use counterfoil_core::id::ProviderId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, PublicKey, Purpose, SigningKey, Thumbprint};
use counterfoil_core::statement::{KeyEvent, KeyStatement, KeyType, PublicJwk, possession_message};
use counterfoil_core::time::Timestamp;

use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};

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
}

/// Changes that go into one commit, in order.
pub(crate) struct KeyChanges<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) changes: Vec<KeyChange>,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Job for KeyChanges<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        let kids = self.changes.iter().map(|change| change.key.thumbprint().to_string()).collect();
        Questions { kids, ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let mut head = head.clone();
        let mut accepted = Vec::with_capacity(self.changes.len());
        for change in &self.changes {
            change.refuse_wrong_move(head.project, facts)?;
            head.count_control(change.width());
            let statement = self.statement(change, &head, at);
            accepted.push(Accepted::own(Kind::Key, &Signed::sign(statement, self.signer)));
        }
        Ok(Plan { head, accepted, keyed: Vec::new(), outcome: () })
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        for (change, placed) in self.changes.iter().zip(&sealed.placed[sealed.before..]) {
            let (seq, at) = (placed.entry.seq, placed.entry.at);
            match change.event {
                KeyEvent::Introduced => store::insert(tx, change, seq, at).await?,
                KeyEvent::Retired | KeyEvent::Revoked => store::end(tx, change, seq, at).await?,
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
        }
    }
}

impl KeyChange {
    /// A key that comes, with its own signature that its secret half is there.
    pub(crate) fn introduction(purpose: Purpose, key: PublicKey, possession: [u8; 64]) -> Self {
        Self {
            event: KeyEvent::Introduced,
            purpose,
            provider: None,
            key,
            replaces: None,
            compromised_since: None,
            possession: Some(possession),
        }
    }

    fn width(&self) -> Width {
        match self.event {
            KeyEvent::Introduced => Width::Wider,
            KeyEvent::Retired | KeyEvent::Revoked => Width::Narrower,
        }
    }

    fn refuse_wrong_move(
        &self,
        project: counterfoil_core::id::ProjectId,
        facts: &Facts,
    ) -> Result<(), AppendError> {
        let kid = self.key.thumbprint();
        let no = |why: &str| Err(AppendError::Refused(format!("key `{kid}` {why}")));
        match (self.event, facts.keys.get(&kid)) {
            (KeyEvent::Introduced, Some(_)) => no("was introduced before; a key has one life"),
            (KeyEvent::Introduced, None) => {
                let shown = self.possession.as_ref().is_some_and(|signature| {
                    self.key.verify(&possession_message(project, &kid), signature).is_ok()
                });
                if shown { Ok(()) } else { no("does not show possession of its secret half") }
            }
            (KeyEvent::Retired | KeyEvent::Revoked, None) => no("is not known to this project"),
            (KeyEvent::Retired | KeyEvent::Revoked, Some(state)) if state.ended => no("has ended already"),
            (KeyEvent::Retired | KeyEvent::Revoked, Some(_)) => Ok(()),
        }
    }
}
