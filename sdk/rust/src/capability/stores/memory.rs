//! Used capabilities in the memory of one process.

use super::{Store, StoreError};
use crate::clock;
use crate::fetch::Later;
use std::collections::HashMap;
use std::sync::Mutex;

/// How often what no clock accepts any more is forgotten, in seconds.
const BETWEEN_SWEEPS: i64 = 60;

/// For one process, and until it ends. Replicas do not see each other's, so it says so, once, on standard error.
pub struct MemoryStore {
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    /// Audience and jti, and when to forget them.
    until: HashMap<(String, String), i64>,
    swept_at: i64,
}

impl MemoryStore {
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a store that forgets on restart is not made unsaid")]
    pub fn new() -> Self {
        Self::with_warning(|text| eprintln!("{text}"))
    }

    /// The warning goes elsewhere.
    pub fn with_warning(warn: impl FnOnce(&str)) -> Self {
        warn("counterfoil: used capabilities are kept in memory; with a second replica use a shared store");
        Self { used: Mutex::default() }
    }

    fn take(&self, audience: &str, jti: &str, forget_at: i64) -> Result<bool, StoreError> {
        let now = clock::now().millis() / 1000;
        let mut used =
            self.used.lock().map_err(|_| StoreError("a call broke off inside the store".into()))?;
        if now - used.swept_at > BETWEEN_SWEEPS {
            used.until.retain(|_, end| *end >= now);
            used.swept_at = now;
        }
        let name = (audience.to_owned(), jti.to_owned());
        let is_new = !used.until.contains_key(&name);
        if is_new {
            used.until.insert(name, forget_at);
        }
        Ok(is_new)
    }
}

impl Store for MemoryStore {
    fn consume<'s>(
        &'s self,
        audience: &'s str,
        jti: &'s str,
        forget_at: i64,
    ) -> Later<'s, Result<bool, StoreError>> {
        Box::pin(async move { self.take(audience, jti, forget_at) })
    }
}
