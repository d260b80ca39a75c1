//! Whose signature counts where: the execution keys of a project, as its `key/v1` entries introduced and ended them.

use std::collections::BTreeMap;

use counterfoil_core::execution::{Said, Submitted};
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::reconcile::{ProviderKey, Standing};
use counterfoil_core::statement::Received;

pub(super) struct Keys(BTreeMap<Thumbprint, ProviderKey>);

impl Keys {
    pub(super) fn of(keys: Vec<ProviderKey>) -> Self {
        Self(keys.into_iter().map(|key| (key.key.thumbprint(), key)).collect())
    }

    /// Whether a key of the provider counts at that place.
    pub(super) fn can_sign(&self, provider: &ProviderId, seq: u64) -> bool {
        self.0.values().any(|key| key.provider == *provider && key.counts_at(seq))
    }

    /// What the signature is worth, and the key that it is counted under, as every verifier of a package finds it: a
    /// native statement names its key; for the other form the wrapper says which key the alias stood for, and one that
    /// it resolves to none is tried against every key.
    pub(super) fn standing(
        &self,
        submitted: &Submitted,
        received: &Received,
        seq: u64,
    ) -> (Standing, Option<Thumbprint>) {
        let named = match submitted.said() {
            Said::Native(_) => submitted.kid().parse().ok(),
            Said::Vendor(_) => received.signer.thumbprint.clone(),
        };
        if let Some(kid) = named {
            let key = self.0.get(&kid);
            return (Standing::of(submitted, key, seq), key.is_some().then_some(kid));
        }
        let holds = |(kid, key): (&Thumbprint, &ProviderKey)| {
            let standing = Standing::of(submitted, Some(key), seq);
            standing.holds().then(|| (standing, Some(kid.clone())))
        };
        self.0.iter().find_map(holds).unwrap_or((Standing::Fails, None))
    }
}
