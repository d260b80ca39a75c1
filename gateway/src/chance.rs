//! Chance, from the operating system, for everything that must not be guessed or met twice.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use counterfoil_core::id::{ActionId, HoldId};
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

pub fn action(at: Timestamp) -> ActionId {
    ActionId::from_uuid(of_ledger_time(at))
}

pub fn hold(at: Timestamp) -> HoldId {
    HoldId::from_uuid(of_ledger_time(at))
}

/// A UUIDv7 of ledger time: ids sort by when they were made.
fn of_ledger_time(at: Timestamp) -> uuid::Uuid {
    let millis = u64::try_from(at.millis()).expect("times begin in 1970");
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes()).into_uuid()
}
