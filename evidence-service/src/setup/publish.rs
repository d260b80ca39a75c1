//! Publishing what decides.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::PublishedType;
use counterfoil_policy::Bundle;

use super::{Setup, SetupError};
use crate::clock;
use crate::control::{public_text, publish, store};
use crate::ledger::AppendError;
use crate::ledger::append::{Done, Job};
use crate::ledger::store::read_head;

pub use crate::control::acts::Attested;

/// What was published, and where the project stands now.
#[derive(Clone, Copy, Debug)]
pub struct Publication {
    pub seq: u64,
    pub control: u64,
    pub floor: u64,
    /// The bundle in force; null while registry or rules are missing.
    pub policy: Option<Digest>,
}

impl Setup {
    /// `registry/v1`: TOML, refused with every lint it breaks.
    pub async fn publish_registry(
        &self,
        project: ProjectId,
        text: &str,
        by: Attested<'_>,
    ) -> Result<Publication, SetupError> {
        self.publish(project, PublishedType::Registry, text, by).await
    }

    /// `rules/v1`: Cedar, refused with every lint it breaks.
    pub async fn publish_rules(
        &self,
        project: ProjectId,
        text: &str,
        by: Attested<'_>,
    ) -> Result<Publication, SetupError> {
        self.publish(project, PublishedType::Rules, text, by).await
    }

    async fn publish(
        &self,
        project: ProjectId,
        typ: PublishedType,
        text: &str,
        by: Attested<'_>,
    ) -> Result<Publication, SetupError> {
        let (other, other_text) = self.other_document(project, typ).await?;
        let bundle = match typ {
            PublishedType::Registry => Bundle::compile(text, &other_text),
            PublishedType::Rules => Bundle::compile(&other_text, text),
        };
        let lints = |found: Vec<counterfoil_policy::LintError>| {
            SetupError::Lint(found.iter().map(ToString::to_string).collect())
        };
        let bundle = bundle.map_err(lints)?;
        bundle.publishable(clock::now()).map_err(lints)?;
        let expires_at = match typ {
            PublishedType::Registry => None,
            PublishedType::Rules => bundle.expires_at(),
        };
        let job = publish::Publication {
            typ,
            issuer: self.ledger.project(project).await?.issuer.clone(),
            behalf: public_text(by.behalf)?,
            reason: by.reason.map(public_text).transpose()?,
            text: text.to_owned(),
            policy: bundle.digest(),
            other,
            expires_at,
            signer: &self.ledger.keys().ledger,
        };
        self.apply(project, &job).await
    }

    /// The document that stays, and its text; an empty one before it was ever published.
    async fn other_document(
        &self,
        project: ProjectId,
        typ: PublishedType,
    ) -> Result<(Option<Digest>, String), SetupError> {
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(project).await?;
        let head = read_head(&tx).await?.ok_or(AppendError::NoSuchProject)?;
        let (other, digest, empty) = match typ {
            PublishedType::Registry => (PublishedType::Rules, head.documents.rules, ""),
            PublishedType::Rules => (PublishedType::Registry, head.documents.registry, "v = 1\n"),
        };
        match digest {
            Some(digest) => Ok((Some(digest), store::document(&tx, other, digest).await?)),
            None => Ok((None, empty.to_owned())),
        }
    }

    async fn apply<J: Job>(&self, project: ProjectId, job: &J) -> Result<Publication, SetupError> {
        let Done { sealed, .. } = self.ledger.append(project, job).await?;
        self.saved()?;
        let sealed = sealed.ok_or(AppendError::Unknown)?;
        let seq = sealed.head.size() - 1;
        let head = sealed.head;
        Ok(Publication { seq, control: head.control, floor: head.floor, policy: head.documents.policy })
    }
}
