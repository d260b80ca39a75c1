//! The one place that draws random values.

use counterfoil_core::nonce::Nonce16;

/// 128 random bits.
pub(crate) fn nonce() -> Result<Nonce16, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(Nonce16::from_bytes(bytes))
}
