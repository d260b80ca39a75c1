//! `resume/v1`: what a kill stopped is judged again.
//!
//! Promised: it ends exactly the kill of the same scope, and nothing that was not killed is resumed. Grants and holds that
//! a kill took stay gone, and windows that it closed stay closed.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{PublicText, Resume, ResumeType, Scope};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};

pub(crate) struct Resuming<'k> {
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) reason: Option<PublicText>,
    /// As in the kill that it ends: none for the whole project.
    pub(crate) scope: Option<Scope>,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Resuming<'_> {
    fn change(&self, head: &mut Head) -> Result<(), AppendError> {
        let was_killed = match &self.scope {
            Some(scope) => head.stopped.remove(scope),
            None => std::mem::replace(&mut head.killed, false),
        };
        if !was_killed {
            return Err(AppendError::Refused(self.not_killed(head)));
        }
        head.count_control(Width::Wider);
        Ok(())
    }

    fn not_killed(&self, head: &Head) -> String {
        let what =
            self.scope.as_ref().map_or_else(|| "this project".to_owned(), |scope| format!("`{scope}`"));
        let mut killed: Vec<String> = head.stopped.iter().map(|scope| format!("`{scope}`")).collect();
        if head.killed {
            killed.insert(0, "the project".to_owned());
        }
        match killed.is_empty() {
            true => format!("{what} is not killed, and nothing else in it is"),
            false => format!("{what} is not killed; what is: {}", killed.join(", ")),
        }
    }
}

impl Job for Resuming<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let mut head = head.clone();
        self.change(&mut head)?;
        let statement = Resume {
            typ: ResumeType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            scope: self.scope.clone(),
            reason: self.reason.clone(),
        };
        let accepted = vec![Accepted::own(Kind::Resume, &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head, accepted, ()))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }
}
