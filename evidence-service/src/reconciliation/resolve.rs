//! `resolution/v1`: a person's note on a finding. It closes nothing and hides nothing.

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{PublicText, Resolution, ResolutionType};
use counterfoil_core::time::Timestamp;

use super::store::findings::{self, Listed};
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::{AppendError, Ledger};

/// How a person names a finding: by the number of its entry, or by its digest.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Which {
    Entry(u64),
    Digest(Digest),
}

struct Resolving<'k> {
    issuer: Issuer,
    behalf: String,
    finding: Digest,
    seq: u64,
    note: PublicText,
    signer: &'k SigningKey<LedgerPurpose>,
}

/// The newest findings below a number, newest first.
pub(crate) async fn list(
    ledger: &Ledger,
    project: ProjectId,
    below: u64,
    most: u32,
) -> Result<Vec<Listed>, AppendError> {
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    Ok(findings::list(&tx, below, most.into()).await?)
}

/// Appends the note; returns the number of its entry.
pub(crate) async fn resolve(
    ledger: &Ledger,
    project: ProjectId,
    which: Which,
    note: PublicText,
    behalf: String,
) -> Result<u64, AppendError> {
    let found = {
        let mut client = ledger.database().app().await?;
        let tx = client.begin(project).await?;
        match which {
            Which::Entry(seq) => findings::by_seq(&tx, seq).await?,
            Which::Digest(digest) => findings::by_digest(&tx, digest).await?,
        }
    };
    let (seq, finding) = found.ok_or_else(|| {
        let name = match which {
            Which::Entry(seq) => format!("entry {seq}"),
            Which::Digest(digest) => digest.to_string(),
        };
        AppendError::Refused(format!("`{name}` is no finding of this project"))
    })?;
    let issuer = ledger.project(project).await?.issuer.clone();
    let job = Resolving { issuer, behalf, finding, seq, note, signer: &ledger.keys().ledger };
    ledger.append(project, &job).await?.last_seq().ok_or(AppendError::Unknown)
}

impl Job for Resolving<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let resolution = Resolution {
            typ: ResolutionType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            behalf: self.behalf.clone(),
            authorization: None,
            finding: self.finding,
            note: self.note.clone(),
        };
        let accepted = vec![Accepted::own(Kind::Resolution, &Signed::sign(resolution, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        findings::resolve(tx, self.seq, sealed.placed[sealed.before].entry.seq).await
    }
}
