//! The one place in this crate that draws random bytes.

use aws_lc_rs::rand;
use zeroize::Zeroizing;

/// The operating system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes")]
pub struct NoChance;

/// A fresh 96-bit nonce for AES-GCM.
pub fn nonce() -> Result<[u8; 12], NoChance> {
    let mut bytes = [0; 12];
    rand::fill(&mut bytes).map_err(|_| NoChance)?;
    Ok(bytes)
}

/// 32 fresh secret bytes, wiped when dropped.
pub fn seed() -> Result<Zeroizing<[u8; 32]>, NoChance> {
    let mut bytes = Zeroizing::new([0; 32]);
    rand::fill(bytes.as_mut_slice()).map_err(|_| NoChance)?;
    Ok(bytes)
}
