//! Which signature counts where: the state of a provider's key at the statement's place.

use crate::execution::Submitted;
use crate::id::ProviderId;
use crate::key::PublicKey;

/// An execution key as the chain has it: one key, one provider.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProviderKey {
    pub key: PublicKey,
    pub provider: ProviderId,
    /// Number of the `key/v1` that introduced it.
    pub introduced: u64,
    /// Number of the first `key/v1` that retired or revoked it.
    pub ended: Option<u64>,
}

/// What a statement's signature is worth at the statement's place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Standing {
    /// It holds under a key of this provider that an entry before introduced and none ended.
    Holds(ProviderId),
    /// It holds under a key that an entry before retired or revoked.
    Ended,
    /// It holds under no key of this project.
    Fails,
}

impl Standing {
    /// `key` is the one that the statement names, by alias or thumbprint; `seq` is the statement's own place.
    pub fn of(submitted: &Submitted, key: Option<&ProviderKey>, seq: u64) -> Self {
        Self::when(|key| submitted.verify(key).is_ok(), key, seq)
    }

    /// The same for whatever verifies under a key.
    pub fn when(verifies: impl Fn(&PublicKey) -> bool, key: Option<&ProviderKey>, seq: u64) -> Self {
        let known = key.filter(|key| key.introduced < seq);
        match known {
            Some(known) if verifies(&known.key) => match known.ended {
                Some(ended) if ended < seq => Self::Ended,
                Some(_) | None => Self::Holds(known.provider.clone()),
            },
            Some(_) | None => Self::Fails,
        }
    }

    /// What `received/v1` says of it in `holds`.
    pub fn holds(&self) -> bool {
        matches!(self, Self::Holds(_))
    }
}

impl ProviderKey {
    /// Whether the provider could sign at that place: half of what makes it owe a statement.
    pub fn counts_at(&self, seq: u64) -> bool {
        self.introduced < seq && self.ended.is_none_or(|ended| ended >= seq)
    }
}
