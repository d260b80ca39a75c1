//! The gateway's capability keys, as this provider was told to find them.
//!
//! Where they are fetched is configuration; a token never says it. An unknown key id causes one
//! fetch, and no more than one in ten seconds, so that a stranger's tokens cannot make us busy.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Jwk, JwkSet, Purpose, Thumbprint};

const BETWEEN_FETCHES: Duration = Duration::from_secs(10);

/// A key set is a few kilobytes.
const LARGEST_SET: usize = 256 << 10;

#[derive(Clone, Debug)]
pub enum KeySource {
    File(PathBuf),
    Url(String),
}

impl KeySource {
    /// What looks like an address is one; anything else is a file.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.starts_with("http://") || text.starts_with("https://") {
            Self::Url(text.to_owned())
        } else {
            Self::File(PathBuf::from(text))
        }
    }

    async fn read(&self) -> Option<Vec<u8>> {
        match self {
            Self::File(path) => tokio::fs::read(path).await.ok(),
            Self::Url(url) => fetch(url).await,
        }
    }
}

pub struct KeyCache {
    source: KeySource,
    issuer: Issuer,
    set: Option<JwkSet>,
    fetched: Option<Instant>,
}

impl KeyCache {
    pub fn new(source: KeySource, issuer: Issuer) -> Self {
        Self { source, issuer, set: None, fetched: None }
    }

    /// The capability key of this id; None also when the set cannot be read, which is a no.
    pub async fn find(&mut self, kid: &Thumbprint) -> Option<Jwk> {
        if let Some(key) = self.cached(kid) {
            return Some(key);
        }
        if self.fetched.is_some_and(|last| last.elapsed() < BETWEEN_FETCHES) && self.set.is_some() {
            return None;
        }
        self.fetched = Some(Instant::now());
        let set = JwkSet::parse(&self.source.read().await?).ok()?;
        if set.iss != self.issuer {
            return None;
        }
        self.set = Some(set);
        self.cached(kid)
    }

    fn cached(&self, kid: &Thumbprint) -> Option<Jwk> {
        self.set.as_ref()?.find(kid, Purpose::Capability).cloned()
    }
}

async fn fetch(url: &str) -> Option<Vec<u8>> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(Duration::from_secs(5))
        .build()
        .ok()?;
    let mut answer = client.get(url).send().await.ok()?.error_for_status().ok()?;
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGEST_SET {
            return None;
        }
    }
    Some(bytes)
}
