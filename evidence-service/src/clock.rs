//! The only place that reads the clock or draws chance. Everything else takes them as arguments.

use aws_lc_rs::rand;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

/// The operating system gave no random bytes. Nothing can be named or kept secret without them.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub struct NoChance;

/// Now, in milliseconds.
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let millis = since.ok().and_then(|since| i64::try_from(since.as_millis()).ok());
    // A clock before 1970 or beyond year 9999 reads as 1970, which every skew check refuses.
    let read = millis.and_then(|millis| Timestamp::from_millis(millis).ok());
    read.unwrap_or_else(|| Timestamp::from_millis(0).expect("1970 is a time"))
}

/// A fresh UUIDv7 for an id that we hand out.
#[expect(clippy::disallowed_methods, reason = "this is where ids come from")]
pub fn fresh_uuid() -> Uuid {
    Uuid::now_v7()
}

/// 128 random bits.
pub fn fresh_nonce() -> Result<Nonce16, NoChance> {
    fresh_bytes().map(Nonce16::from_bytes)
}

/// Random bytes for secrets.
pub fn fresh_bytes<const N: usize>() -> Result<[u8; N], NoChance> {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).map_err(|_| NoChance)?;
    Ok(bytes)
}
