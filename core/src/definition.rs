//! How a gateway tells the evidence service what providers list: `POST /internal/v1/definitions`.
//!
//! A pin is a digest, and a digest that changed says nothing to a reader. The texts are told so that a page can show
//! what changed. They prove nothing: the decision that was held names both digests.
//!
//!     {"v":1,"project":"prj_…","definitions":[{"provider":"notes","tool":"note_read","pin":"sha256:…","text":"{…}"}]}

use crate::digest::Digest;
use crate::id::{ProjectId, ProviderId, ToolName};
use serde::{Deserialize, Serialize};

/// Most definitions in one request.
pub const MAX_DEFINITIONS: usize = 128;
/// Largest definition that is told, in bytes. A longer one is judged all the same; only its text is not shown.
pub const MAX_DEFINITION: usize = 32 * 1024;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    pub v: u8,
    pub project: ProjectId,
    pub definitions: Vec<Definition>,
}

/// One tool as its provider lists it now.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub provider: ProviderId,
    pub tool: ToolName,
    /// What the registry in force pins: the same digest as the text's own, or another if the tool changed.
    pub pin: Digest,
    /// The listed tool as it came, JSON.
    pub text: String,
}
