//! Putting a catalogue into the record, once for what it states.

use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::catalog::Catalog;
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ProjectId, ProviderId, looks_like_an_address};
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Received, ReceivedBytes, ReceivedForm, ReceivedType, Signer};
use counterfoil_core::time::Timestamp;

use super::store::{self, Asked, Known, Row};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::Ledger;
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// Catalogues that nobody signed, for each project and hour. A vendor whose signing is broken sends one when it starts.
const ALLOWANCE: u64 = 50;
const HOUR_MILLIS: i64 = 3_600_000;
/// Longer key ids are nobody's, and would be public.
const LONGEST_KID: usize = 128;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    Recorded {
        signature_valid: bool,
    },
    /// An entry states it already.
    Stands {
        signature_valid: bool,
    },
    Spent {
        seconds: u64,
    },
}

struct Submission<'k> {
    catalog: Catalog,
    bytes: Vec<u8>,
    signer: &'k SigningKey<LedgerPurpose>,
    // INVARIANT: of the newest plan, which is the one that gets stored.
    provider: Mutex<Option<ProviderId>>,
}

impl Submission<'_> {
    /// Told again: whatever a key that counts signed before, and of what nobody signed the very same bytes.
    fn stands(&self, known: &Known, provider: Option<&ProviderId>) -> Option<Fate> {
        let bytes = Digest::of(&self.bytes);
        let same = known.same.iter().find(|same| match provider {
            Some(_) => same.provider.as_ref() == provider,
            None => same.provider.is_none() && same.bytes == bytes,
        })?;
        tracing::debug!(seq = same.seq, "catalogue stands");
        Some(Fate::Stands { signature_valid: provider.is_some() })
    }

    fn wrapped(&self, project: ProjectId, at: Timestamp, signer: Signer, holds: bool) -> Received {
        let (typ, form) = (ReceivedType::V1, ReceivedForm::Catalog);
        Received { typ, form, signer, project, at, holds, bytes: ReceivedBytes(self.bytes.clone()) }
    }

    /// The signer stands in public beside a body that does not.
    fn shown_kid(&self) -> Option<String> {
        let kid = self.catalog.kid();
        let plain = (1..=LONGEST_KID).contains(&kid.len()) && kid.bytes().all(|b| b.is_ascii_graphic());
        (plain && !looks_like_an_address(kid)).then(|| kid.to_owned())
    }
}

impl Job for Submission<'_> {
    type Outcome = Fate;

    fn questions(&self) -> Questions {
        let asked = Asked { kid: self.catalog.kid().to_owned(), digest: self.catalog.digest() };
        Questions { catalog: Some(asked), ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Fate>, AppendError> {
        let planned = |accepted, outcome| Plan::saying(head.clone(), accepted, outcome);
        let known = facts.catalog.as_ref().ok_or(AppendError::Unknown)?;
        let verifies = |key: &_| self.catalog.verify(key).is_ok();
        let (provider, thumbprint) = known.keys.signer(head.size(), verifies);
        if let Some(stands) = self.stands(known, provider.as_ref()) {
            return Ok(planned(Vec::new(), stands));
        }
        if provider.is_none() && known.unsigned >= ALLOWANCE {
            let since = known.unsigned_since.unwrap_or(at);
            let left = (since.millis() + HOUR_MILLIS - at.millis()).max(0).unsigned_abs();
            return Ok(planned(Vec::new(), Fate::Spent { seconds: left / 1000 + 1 }));
        }
        let holds = provider.is_some();
        let signer = Signer { kid: self.shown_kid(), thumbprint };
        let signed = Signed::sign(self.wrapped(head.project, at, signer, holds), self.signer);
        *self.provider.lock().unwrap_or_else(PoisonError::into_inner) = provider;
        let accepted = vec![Accepted::own(Kind::Catalog, &signed)];
        Ok(planned(accepted, Fate::Recorded { signature_valid: holds }))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let placed = sealed.placed.last();
        let placed = placed.ok_or_else(|| DatabaseError::Refused("a catalogue of no entry".to_owned()))?;
        let row = Row {
            seq: placed.entry.seq,
            at: placed.entry.at,
            digest: self.catalog.digest(),
            bytes: Digest::of(&self.bytes),
            provider,
        };
        store::insert(tx, &row).await
    }
}

impl Ledger {
    pub(super) async fn take_catalog(
        self: &Arc<Self>,
        project: ProjectId,
        catalog: Catalog,
        bytes: Vec<u8>,
    ) -> Result<Fate, AppendError> {
        let ledger = Arc::clone(self);
        // In a task of its own: a vendor that hangs up must not stop a commit half way.
        let task = tokio::spawn(async move {
            let signer = &ledger.keys().ledger;
            let job = Submission { catalog, bytes, signer, provider: Mutex::new(None) };
            ledger.append(project, &job).await
        });
        Ok(task.await.map_err(|_| AppendError::Unknown)??.outcome)
    }
}
