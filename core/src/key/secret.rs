//! Signing keys, typed by purpose.

use super::{PublicKey, Purpose, Thumbprint};
use ed25519_dalek::Signer as _;
use std::fmt;
use std::marker::PhantomData;
use zeroize::Zeroizing;

/// A purpose as a type, so that the compiler keeps a log key from signing decisions.
pub trait KeyPurpose: Send + Sync + 'static {
    const PURPOSE: Purpose;
}

macro_rules! purposes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl KeyPurpose for $name {
            const PURPOSE: Purpose = Purpose::$name;
        }
    )*};
}

purposes! {
    /// Signs decisions and observations, at the gateway.
    Decision;
    /// Signs capabilities and the generation feed, at the gateway.
    Capability;
    /// Signs what the evidence service states.
    Ledger;
    /// Signs checkpoints of a project's log.
    Log;
    /// Signs executions, at a provider.
    Execution;
}

/// A secret Ed25519 key of one purpose. It is wiped when dropped and prints as its public id only.
pub struct SigningKey<P: KeyPurpose> {
    key: ed25519_dalek::SigningKey,
    public: PublicKey,
    kid: Thumbprint,
    purpose: PhantomData<P>,
}

impl<P: KeyPurpose> SigningKey<P> {
    /// From the 32-byte seed of RFC 8032, section 5.1.5.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = ed25519_dalek::SigningKey::from_bytes(seed);
        let public = PublicKey::from_bytes(key.verifying_key().to_bytes())
            .expect("a clamped scalar times the base point is a canonical point of large order");
        let kid = public.thumbprint();
        Self { key, public, kid, purpose: PhantomData }
    }

    pub fn purpose(&self) -> Purpose {
        P::PURPOSE
    }

    pub fn kid(&self) -> &Thumbprint {
        &self.kid
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Ed25519 signature of the message. Deterministic.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.key.sign(message).to_bytes()
    }

    /// The seed itself, to be sealed at once. Nothing else may call this.
    pub fn dangerous_seed(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.key.to_bytes())
    }

    /// Whether the seed is one byte repeated, as in published test vectors.
    pub fn is_sample(&self) -> bool {
        let seed = self.dangerous_seed();
        seed.iter().all(|b| *b == seed[0])
    }
}

impl<P: KeyPurpose> fmt::Debug for SigningKey<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({} {})", P::PURPOSE, self.kid)
    }
}
