//! The one place of this program that draws random values.

use counterfoil_core::id::AgentId;
use counterfoil_core::nonce::Nonce16;
use zeroize::Zeroizing;

/// A new agent's id: time in front, so that ids sort by age.
#[must_use]
pub fn agent_id() -> AgentId {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the source of chance that the rest takes as an argument"
    )]
    let uuid = uuid::Uuid::now_v7();
    AgentId::from_uuid(uuid)
}

/// 128 random bits.
#[must_use]
pub fn nonce() -> Nonce16 {
    let drawn: [u8; 16] = josekit::util::random_bytes(16).try_into().expect("sixteen were asked for");
    Nonce16::from_bytes(drawn)
}

/// 32 secret bytes.
#[must_use]
pub fn seed() -> Zeroizing<[u8; 32]> {
    let drawn = Zeroizing::new(josekit::util::random_bytes(32));
    let mut seed = Zeroizing::new([0; 32]);
    seed.copy_from_slice(&drawn);
    seed
}
