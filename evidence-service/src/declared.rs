//! Sessions that vendors declare, and the places that their actions take in them.
//!
//! Promised: a session is declared once, whoever asks how often; what the vendor says of it stands as commitments, and only the
//! project's disclosure key opens them. A place in a session is one action's, and what was told in it is known again.
//! Not promised: that a session is what the vendor says it is. Formats: docs/formats/session.md, docs/formats/record.md.

mod asked;
mod change;
pub(crate) mod judge;
pub(crate) mod routes;
pub(crate) mod store;
mod wire;
