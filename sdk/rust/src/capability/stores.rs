//! Where used capabilities are remembered. A capability is consumed once, before the call runs.
//!
//! Promised by every store here: of any number of racing presentations of one `jti`, one gets true. A store that fails is
//! a store that is away, and then nothing runs. Insert before execute means at most once: a crash in between leaves a
//! call that did not run, never one that ran twice.

mod file;
mod memory;
mod shared;

pub use file::FileStore;
pub use memory::MemoryStore;
pub use shared::{POSTGRES_TABLE, PostgresStore, PostgresValues, RedisStore};

use crate::fetch::Later;

/// The store could not say whether the capability had been used. The call is refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Remembers what was used.
pub trait Store: Send + Sync {
    /// True if this `jti` had not been used. Remember it until `forget_at`, in seconds since 1970.
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>>;
}

/// So that several guards can share one.
impl<S: Store + ?Sized> Store for std::sync::Arc<S> {
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>> {
        (**self).consume(audience, jti, forget_at)
    }
}
