//! What providers list, in words: the pinned definition of a tool beside the one that took its place.
//!
//! Promised: a definition is kept under the digest of what was told, at most [`MOST_A_TOOL`] a tool, without lines that
//! look like an address. Not promised: that it is all a provider ever listed. Gateways tell what they meet.

mod change;
pub(crate) mod routes;
pub(crate) mod store;
mod text;

pub(crate) use change::{Change, Sign};
pub(crate) use store::changes;

use counterfoil_core::definition::{Definition, MAX_DEFINITION};
use counterfoil_core::id::ProjectId;

use crate::clock;
use crate::database::DatabaseError;
use crate::ledger::Ledger;

/// A provider that lists something else each time fills no more than this.
const MOST_A_TOOL: i64 = 32;
/// And a gateway that names tools without end no more than this.
const MOST_A_PROJECT: i64 = 20_000;

/// Keeps what reads; the rest is left out, because a text that cannot be shown helps nobody.
pub(crate) async fn keep(
    ledger: &Ledger,
    project: ProjectId,
    told: &[Definition],
) -> Result<(), DatabaseError> {
    let at = clock::now();
    let mut client = ledger.database().app().await?;
    let tx = client.begin(project).await?;
    for definition in told.iter().filter(|told| told.text.len() <= MAX_DEFINITION) {
        if let Some((digest, lines)) = text::read(&definition.text) {
            store::keep(&tx, definition, digest, &lines, at).await?;
        }
    }
    tx.commit().await.map_err(DatabaseError::from)
}
