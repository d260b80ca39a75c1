//! `registry/v1` and `rules/v1`: this text decides from now on.

use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Published, PublishedType};
use counterfoil_core::time::Timestamp;

use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Documents, Head, Width};
use crate::ledger::seal::{Accepted, Sealed};

/// One text, compiled together with the other document that was in force when it was compiled.
pub(crate) struct Publication<'k> {
    pub(crate) typ: PublishedType,
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) reason: Option<String>,
    pub(crate) text: String,
    /// Digest of the whole bundle with this text in it.
    pub(crate) policy: Digest,
    /// The other document that `policy` was computed with; if it changed meanwhile, compile again.
    pub(crate) other: Option<Digest>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Publication<'_> {
    pub(crate) fn document(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    fn in_force(&self, before: Documents) -> Documents {
        let document = Some(self.document());
        let (registry, rules) = match self.typ {
            PublishedType::Registry => (document, before.rules),
            PublishedType::Rules => (before.registry, document),
        };
        let policy = registry.and(rules).map(|_| self.policy);
        Documents { policy, registry, rules }
    }
}

impl Job for Publication<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let mut head = head.clone();
        let other = match self.typ {
            PublishedType::Registry => head.documents.rules,
            PublishedType::Rules => head.documents.registry,
        };
        if other != self.other {
            return Err(AppendError::Refused(
                "the other document changed meanwhile; publish again".to_owned(),
            ));
        }
        // A new text may take away as well as give. Telling the two apart saves nothing: publications are rare, and
        // what was judged by the old text is judged again in a millisecond.
        head.count_control(Width::Narrower);
        head.documents = self.in_force(head.documents);
        let statement = Published {
            typ: self.typ,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            document: self.document(),
            policy: self.policy,
            reason: self.reason.clone(),
            expires_at: self.expires_at,
        };
        let accepted = vec![Accepted::own(self.typ.kind(), &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head, accepted, ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let seq = sealed.placed[sealed.before].entry.seq;
        store::insert_document(tx, seq, self.typ, self.document(), &self.text).await
    }
}
