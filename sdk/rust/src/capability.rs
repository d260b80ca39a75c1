//! For providers: no fresh capability, no execution.
//!
//! Promised: a call passes only with a token of the pinned issuer, for this provider, environment, tool and exactly these
//! arguments as they came on the wire, inside its life, of the current kill generation, and once. Whatever cannot be
//! checked is refused before the handler runs, with a code of its own. Not promised: that a tool called around its guard
//! is covered, or that a handler that crashed half way did nothing.
//! Format and cases: docs/formats/capability.md, docs/vectors/capability.

mod admitted;
mod builder;
mod gate;
mod generation;
mod guard;
mod keys;
mod params;
mod refusal;
mod stores;
mod token;

pub use admitted::{Admitted, EXECUTION};
pub use builder::{GuardBuilder, Place, PlaceError};
pub use counterfoil_core::capability::{Call, Claims};
pub use counterfoil_core::statement::Environment;
pub use generation::Following;
pub use guard::{Advisory, CAPABILITY, Guard, RECEIPT};
pub use keys::KeySource;
pub use params::Params;
pub use refusal::{REFUSED, Refusal, RefusalCode};
pub use stores::{
    FileStore, MemoryStore, POSTGRES_TABLE, PostgresStore, PostgresValues, RedisStore, Store, StoreError,
};
