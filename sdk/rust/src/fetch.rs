//! Fetching, bounded: no redirect, no proxy, a deadline over the whole answer, and not more than so many bytes.
//!
//! With feature `fetch` (on by default) there is [`Http`]. Without it, bring a client of your own as a [`Fetch`].

#[cfg(feature = "fetch")]
mod http;

#[cfg(feature = "fetch")]
pub use http::Http;
#[cfg(feature = "verdict")]
pub(crate) use http::{bounded, client};

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What an asynchronous method of a trait returns.
pub type Later<'l, T> = Pin<Box<dyn Future<Output = T> + Send + 'l>>;

/// Nobody answered, or not as asked.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(pub String);

/// How much, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// In bytes; an answer with more is an error.
    pub most: usize,
    /// For the whole answer.
    pub within: Duration,
}

/// Something that fetches what an address names.
pub trait Fetch: Send + Sync {
    /// The body of a GET that was answered 200. Must keep the bounds, and follow no redirect.
    fn get<'f>(&'f self, address: &'f str, bounds: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>>;
}

/// Fetches nothing: every answer is an error. For keys that are pinned.
pub struct Nothing;

impl Fetch for Nothing {
    fn get<'f>(&'f self, address: &'f str, _bounds: Bounds) -> Later<'f, Result<Vec<u8>, FetchError>> {
        Box::pin(async move { Err(FetchError(format!("`{address}`: nothing here can fetch it"))) })
    }
}
