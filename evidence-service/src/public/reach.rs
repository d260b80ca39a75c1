//! What was published to decide at a moment, in sentences, remembered by the digests of its texts.
//!
//! Texts name nouns, so the role that serves pages may not read them: the service's own role does, and what leaves this
//! file is sentences.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use counterfoil_core::digest::Digest;
use counterfoil_core::statement::PublishedType;
use counterfoil_core::time::Timestamp;
use counterfoil_policy::{Bundle, Sentence};

use super::projection::{self, PublishedText, Seen};
use super::store;
use super::view::Terms;
use crate::control::store::document;
use crate::database::ProjectTx;
use crate::http::ApiError;
use crate::ledger::Ledger;

/// Bundles that somebody asked for, by the digests of registry and rules.
#[derive(Clone, Default)]
pub(crate) struct Reach(Arc<Mutex<Remembered>>);

type Remembered = HashMap<(Digest, Digest), Arc<Said>>;

/// A bundle in words.
#[derive(Debug)]
pub(super) struct Said {
    /// None if this build cannot read the texts.
    pub(super) sentences: Option<Vec<Sentence>>,
    pub(super) terms: BTreeMap<String, Terms>,
}

/// What was in force at a moment.
#[derive(Clone, Debug)]
pub(super) struct InForce {
    pub(super) registry: Option<PublishedText>,
    pub(super) rules: Option<PublishedText>,
    /// None while one of the two is not published.
    pub(super) said: Option<Arc<Said>>,
}

/// Compiling takes milliseconds and a bundle some kilobytes: enough for every project that is looked at.
const MOST_REMEMBERED: usize = 256;

impl Reach {
    /// The newest registry and rules until then.
    pub(super) async fn at(
        &self,
        ledger: &Ledger,
        tx: &ProjectTx<'_>,
        until: Timestamp,
    ) -> Result<InForce, ApiError> {
        let newest = |rows: Vec<Seen>| rows.iter().find_map(projection::published);
        let registry = newest(store::registries(tx, until, 1).await?);
        let rules = newest(store::rules(tx, until, 1).await?);
        let said = match (&registry, &rules) {
            (Some(registry), Some(rules)) => {
                Some(self.said(ledger, tx, (registry.document, rules.document)).await?)
            }
            _ => None,
        };
        Ok(InForce { registry, rules, said })
    }

    async fn said(
        &self,
        ledger: &Ledger,
        tx: &ProjectTx<'_>,
        digests: (Digest, Digest),
    ) -> Result<Arc<Said>, ApiError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&digests).cloned();
        if let Some(said) = known {
            return Ok(said);
        }
        let (registry, rules) = {
            let mut client = ledger.database().app().await?;
            let own = client.begin(tx.project()).await?;
            let registry = document(&own, PublishedType::Registry, digests.0).await?;
            (registry, document(&own, PublishedType::Rules, digests.1).await?)
        };
        let said = tokio::task::spawn_blocking(move || Said::of(&registry, &rules)).await;
        let said = Arc::new(said.map_err(|_| ApiError::Unavailable)?);
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        remembered.insert(digests, Arc::clone(&said));
        Ok(said)
    }
}

impl Said {
    fn of(registry: &str, rules: &str) -> Self {
        let Ok(bundle) = Bundle::compile(registry, rules) else {
            return Self { sentences: None, terms: BTreeMap::new() };
        };
        let terms = bundle.registry().providers().map(|provider| {
            let terms = Terms { capability: provider.capability(), signs: provider.signs() };
            (provider.id().to_string(), terms)
        });
        Self { terms: terms.collect(), sentences: Some(bundle.sentences()) }
    }
}
