//! The one place of this program that draws random values.

use counterfoil_core::id::AgentId;

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
