//! Chance, from the operating system, for everything that must not be guessed or met twice.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use counterfoil_core::id::ActionId;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::time::Timestamp;

pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .expect("the operating system gives randomness or nothing here may run");
    bytes
}

pub fn nonce() -> Nonce16 {
    Nonce16::from_bytes(bytes())
}

/// A UUIDv7 of ledger time: ids sort by when they were made.
pub fn action(at: Timestamp) -> ActionId {
    let millis = u64::try_from(at.millis()).expect("times begin in 1970");
    ActionId::from_uuid(uuid::Builder::from_unix_timestamp_millis(millis, &bytes()).into_uuid())
}
