//! Making a project: its slot, its head, its first two entries.

use std::sync::Arc;

use counterfoil_core::id::ProjectId;
use counterfoil_core::issuer::{Issuer, PublicId};
use counterfoil_core::key::Purpose;
use counterfoil_core::statement::{Environment, Verdict};
use counterfoil_jwks::possession;
use serde::{Deserialize, Serialize};

use super::{Setup, SetupError};
use crate::clock;
use crate::control::public_text;
use crate::database::DatabaseError;
use crate::keys::change::{KeyChange, KeyChanges};
use crate::ledger::head::Head;
use crate::ledger::{Project, store};

/// What is chosen when a project is made, and never changes.
#[derive(Clone, Debug)]
pub struct NewProject {
    /// Shown on its page: no personal name.
    pub name: String,
    pub env: Environment,
    /// What nothing allows gets this: `StepUp` or `Deny`. Anything else becomes `Deny`.
    pub base_verdict: Verdict,
    /// The public half; the private half belongs to the vendor and is never seen here.
    pub disclosure_key: DisclosureJwk,
    /// Pseudonym of whoever makes it. Public.
    pub behalf: String,
}

/// A P-256 public key as a JWK.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct DisclosureJwk {
    pub kty: String,
    pub crv: String,
    pub x: String,
    pub y: String,
}

impl DisclosureJwk {
    fn text(&self) -> Result<String, SetupError> {
        let coordinate = |text: &str| counterfoil_core::nonce::unbase64url_exact::<32>(text).is_some();
        let good = self.kty == "EC" && self.crv == "P-256" && coordinate(&self.x) && coordinate(&self.y);
        let text = counterfoil_core::json::canonical_text(self);
        if good { Ok(text) } else { Err(SetupError::NotADisclosureKey(text)) }
    }
}

impl Setup {
    /// A project with a slot, a public id, and the key/v1 entries of our ledger and log keys.
    pub async fn create_project(&self, new: &NewProject) -> Result<Arc<Project>, SetupError> {
        let id = ProjectId::from_uuid(clock::fresh_uuid());
        let now = clock::now();
        let name = public_text(&new.name)?;
        let behalf = public_text(&new.behalf)?;
        let disclosure_key = new.disclosure_key.text()?;
        let public_id = PublicId::from_random(clock::fresh_bytes()?);
        let slot = self.directory.take_slot(id, &public_id, now).await?;
        let project = Project {
            id,
            issuer: Issuer::new(self.host.clone(), slot, public_id),
            name,
            env: new.env,
            base_verdict: if new.base_verdict == Verdict::StepUp { Verdict::StepUp } else { Verdict::Deny },
            disclosure_key,
            grants_nonce: clock::fresh_nonce()?.to_string(),
        };
        let mut client = self.ledger.database().app().await?;
        let tx = client.begin(id).await?;
        store::insert_project(&tx, &project, now.millis()).await?;
        store::insert_head(&tx, &Head::of_new_project(id, now)).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        drop(client);
        self.introduce_our_keys(&project, behalf).await?;
        self.saved()?;
        Ok(self.ledger.project(id).await?)
    }

    /// One commit, so that the checkpoint over it already stands under a log key that the log introduced.
    async fn introduce_our_keys(&self, project: &Project, behalf: String) -> Result<(), SetupError> {
        let keys = self.ledger.keys();
        let ledger = possession::prove(&keys.ledger, project.id);
        let log = possession::prove(&keys.log, project.id);
        let job = KeyChanges {
            issuer: project.issuer.clone(),
            behalf,
            changes: vec![
                KeyChange::introduction(Purpose::Ledger, keys.ledger.public().clone(), ledger),
                KeyChange::introduction(Purpose::Log, keys.log.public().clone(), log),
            ],
            signer: &keys.ledger,
        };
        self.ledger.append(project.id, &job).await?;
        Ok(())
    }
}
