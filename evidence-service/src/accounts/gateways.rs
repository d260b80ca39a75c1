//! Gateways behind their service tokens, remembered for a moment.
//!
//! A gateway asks many times a second, and each question would cost a connection and a journey to the database before
//! the one that matters. What is remembered is old by at most [`REMEMBERED`]; only tokens that are known are kept, so
//! guessing fills nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use counterfoil_core::digest::Digest;

use super::{ServiceToken, gateway};
use crate::database::Database;
use crate::http::{ApiError, bearer};

/// As long as a gateway may go on after its token was taken from it.
const REMEMBERED: Duration = Duration::from_secs(2);

#[derive(Clone, Default)]
pub(crate) struct Gateways(Arc<Mutex<HashMap<Digest, (Instant, ServiceToken)>>>);

impl Gateways {
    /// Who sends these headers; `Unauthorized` for anybody that we do not know.
    pub(crate) async fn who(
        &self,
        database: &Database,
        headers: &HeaderMap,
    ) -> Result<ServiceToken, ApiError> {
        let sent = bearer(headers)?;
        let digest = Digest::of(sent.as_bytes());
        if let Some(token) = self.remembered(&digest) {
            return Ok(token);
        }
        let token = gateway(database, sent).await?.ok_or(ApiError::Unauthorized)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < REMEMBERED);
        known.insert(digest, (Instant::now(), token.clone()));
        Ok(token)
    }

    fn remembered(&self, digest: &Digest) -> Option<ServiceToken> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, token) = known.get(digest)?;
        (since.elapsed() < REMEMBERED).then(|| token.clone())
    }
}
