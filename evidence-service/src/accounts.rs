//! Who asks: API keys of agents, service tokens of gateways, tokens of operators.
//!
//! Promised: all are 256 random bits, shown once and kept as digests; an unknown one is answered like no one. A
//! principal is opaque: what looks like an address is refused, not scrubbed.

mod gateways;
pub(crate) mod operators;
pub(crate) mod secret;
pub(crate) mod store;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, Principal, ProjectId};
use counterfoil_core::key::Thumbprint;
use subtle::ConstantTimeEq as _;

use crate::database::{Database, DatabaseError};

pub(crate) use gateways::Gateways;
pub(crate) use operators::{Operator, Role, operator};
pub use secret::BearerSecret;

/// What a gateway's token lets it do: record for these projects, under these decision keys.
#[derive(Clone, Debug)]
pub(crate) struct ServiceToken {
    pub(crate) projects: Vec<ProjectId>,
    pub(crate) kids: Vec<Thumbprint>,
}

impl ServiceToken {
    pub(crate) fn names_project(&self, project: ProjectId) -> bool {
        self.projects.contains(&project)
    }

    pub(crate) fn names_kid(&self, kid: &Thumbprint) -> bool {
        self.kids.contains(kid)
    }
}

/// The gateway behind a token, if there is one.
async fn gateway(database: &Database, token: &str) -> Result<Option<ServiceToken>, DatabaseError> {
    let asked = Digest::of(token.as_bytes());
    let client = database.app().await?;
    let found = store::service_token(&client.directory(), asked).await?;
    Ok(found.filter(|(digest, _)| equal(digest, &asked)).map(|(_, token)| token))
}

/// The project and key behind an API key, if it is known and not revoked.
pub(crate) async fn api_key(
    database: &Database,
    key: &str,
) -> Result<Option<(ProjectId, KeyId)>, DatabaseError> {
    let asked = Digest::of(key.as_bytes());
    let mut client = database.app().await?;
    let found = store::api_key(&client.directory(), asked).await?;
    let Some((_, project, key)) = found.filter(|(digest, ..)| equal(digest, &asked)) else { return Ok(None) };
    let tx = client.begin(project).await?;
    let live = store::is_live(&tx, key).await?;
    Ok(live.then_some((project, key)))
}

/// Opaque, public nowhere, and still no address.
pub(crate) fn opaque(principal: &str) -> bool {
    principal.parse::<Principal>().is_ok()
}

fn equal(one: &Digest, other: &Digest) -> bool {
    one.bytes().ct_eq(other.bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::opaque;

    /// T4: an address is refused, not scrubbed.
    #[test]
    fn a_principal_that_looks_like_an_address_is_refused() {
        assert!(opaque("u-7f3a91"));
        for address in ["ann@example.com", "ann@localhost", "+41791234567", "", "two words"] {
            assert!(!opaque(address), "{address}");
        }
    }
}
