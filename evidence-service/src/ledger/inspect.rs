//! Looking at a project without appending: at boot, and whenever somebody asks whether we are ready.

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::id::ProjectId;

use super::append::AppendError;
use super::{Ledger, store};

impl Ledger {
    /// Reads the head, holds it against what was seen, and checks that our keys are in force and sign.
    ///
    /// Without the lock: what was seen is taken before the head is read, and a head only grows.
    pub(crate) async fn inspect(&self, project: ProjectId) -> Result<(), AppendError> {
        let mut client = self.database.app().await?;
        let line = self.line()?;
        let known = self.seen.known(project);
        let tx = client.begin(project).await?;
        let head = store::read_head(&tx).await?.ok_or(AppendError::NoSuchProject)?;
        self.prove(&tx, &head, known, &line).await?;
        let kids = vec![self.keys.ledger.kid().to_string(), self.keys.log.kid().to_string()];
        let keys = store::key_states(&tx, &kids).await?;
        self.keys_in_force(&head, &keys).map_err(|error| AppendError::Refused(error.to_string()))?;
        let checkpoint = Checkpoint { origin: "self-test".to_owned(), size: head.size(), root: head.root() };
        let signed = Checkpoint::verify(&checkpoint.sign(&self.keys.log), self.keys.log.public());
        signed.map(drop).map_err(|error| AppendError::Refused(error.to_string()))
    }
}
