//! What a client is told once.

use crate::capability::Environment;
use crate::clock::{self, Clock};
use crate::execution::Signer;
use crate::verify::KeySet;
use counterfoil_core::id::ProjectId;

/// Where the gateway is, who asks, and whom to believe.
pub struct VerdictOptions {
    pub(super) gateway: String,
    pub(super) api_key: String,
    pub(super) project: ProjectId,
    pub(super) env: Environment,
    pub(super) pinned: KeySet,
    pub(super) signer: Option<Box<dyn Signer>>,
    pub(super) clock: Clock,
}

impl VerdictOptions {
    /// `api_key` is `cfk_…`; decision and log keys are among the pinned ones.
    #[must_use]
    pub fn new(gateway: &str, api_key: &str, project: ProjectId, env: Environment, pinned: KeySet) -> Self {
        let (gateway, api_key) = (gateway.trim_end_matches('/').to_owned(), api_key.to_owned());
        Self { gateway, api_key, project, env, pinned, signer: None, clock: clock::system() }
    }

    /// The vendor's execution key. Without one nothing is reported.
    #[must_use]
    pub fn signer(mut self, signer: impl Signer + 'static) -> Self {
        self.signer = Some(Box::new(signer));
        self
    }

    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }
}
