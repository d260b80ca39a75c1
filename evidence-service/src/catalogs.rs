//! Catalogues: what a vendor says its tools do, signed with its execution key.
//!
//! Promised: whatever reads is kept, once for what it states; a signature that does not hold is answered, recorded and a finding,
//! never a reason to refuse. Not promised: that a catalogue changes anything by itself. An operator publishes a registry.

mod accept;
pub(crate) mod routes;
pub(crate) mod store;

pub(crate) use store::{Asked, Known, known};
