//! What an operator does at once: kills, resumptions, windows. The command line and the console both come here.

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::{PublicText, Scope};
use counterfoil_core::time::Timestamp;

use super::kill::Killing;
use super::public_text;
use super::resume::Resuming;
use super::windows::{Turn, Turning, Window};
use crate::ledger::append::{Done, Job};
use crate::ledger::{AppendError, Ledger};

/// Under whose pseudonym, and why. Both are public.
#[derive(Clone, Copy, Debug)]
pub struct Attested<'a> {
    pub behalf: &'a str,
    pub reason: Option<&'a str>,
}

/// Where a project stands after an act, and which entry says so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InForce {
    pub seq: u64,
    pub control: u64,
    pub floor: u64,
    pub generation: u64,
}

/// `kill/v1`: from its commit on nothing in that scope, or in the whole project, is allowed on any replica.
pub(crate) async fn kill(
    ledger: &Ledger,
    project: ProjectId,
    scope: Option<Scope>,
    by: Attested<'_>,
) -> Result<InForce, AppendError> {
    let job = Killing {
        issuer: ledger.project(project).await?.issuer.clone(),
        behalf: public_text(by.behalf)?,
        reason: by.reason.map(public_text).transpose()?,
        scope,
        signer: &ledger.keys().ledger,
    };
    Ok(apply(ledger, project, &job).await?.0)
}

/// `resume/v1`: what that kill stopped is judged again. Refused, in words, where nothing of that scope is killed.
pub(crate) async fn resume(
    ledger: &Ledger,
    project: ProjectId,
    scope: Option<Scope>,
    by: Attested<'_>,
) -> Result<InForce, AppendError> {
    let job = Resuming {
        issuer: ledger.project(project).await?.issuer.clone(),
        behalf: public_text(by.behalf)?,
        reason: by.reason.map(stated).transpose()?,
        scope,
        signer: &ledger.keys().ledger,
    };
    Ok(apply(ledger, project, &job).await?.0)
}

/// `breakglass/v1` or `shadow/v1`. Returns until when the window stands, or when it was closed.
pub(crate) async fn turn(
    ledger: &Ledger,
    project: ProjectId,
    (window, turn): (Window, Turn),
    by: Attested<'_>,
) -> Result<(InForce, Timestamp), AppendError> {
    let reason = by.reason.ok_or_else(|| AppendError::Refused("a window has a reason".to_owned()))?;
    let job = Turning {
        window,
        turn,
        issuer: ledger.project(project).await?.issuer.clone(),
        behalf: public_text(by.behalf)?,
        reason: stated(reason)?,
        signer: &ledger.keys().ledger,
    };
    apply(ledger, project, &job).await
}

fn stated(reason: &str) -> Result<PublicText, AppendError> {
    public_text(reason)?.parse().map_err(|error| AppendError::Refused(format!("the reason: {error}")))
}

async fn apply<J: Job>(
    ledger: &Ledger,
    project: ProjectId,
    job: &J,
) -> Result<(InForce, J::Outcome), AppendError> {
    let Done { sealed, outcome } = ledger.append(project, job).await?;
    let head = sealed.ok_or(AppendError::Unknown)?.head;
    let seq = head.size() - 1;
    let in_force = InForce { seq, control: head.control, floor: head.floor, generation: head.generation };
    Ok((in_force, outcome))
}
