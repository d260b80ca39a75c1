//! Tools that are not listed as they were pinned, and the lines that differ.

use counterfoil_core::digest::Digest;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use crate::definitions::{Change, Sign};

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct ToolChange {
    pub(in crate::public) provider: String,
    pub(in crate::public) tool: String,
    pub(in crate::public) pinned: Digest,
    pub(in crate::public) listed: Digest,
    /// When a gateway last met the changed definition.
    pub(in crate::public) at: Timestamp,
    /// Empty where the pinned text was never met.
    pub(in crate::public) lines: Vec<Difference>,
    /// How many lines differ beside those.
    pub(in crate::public) more: usize,
}

/// A line of the definition, as the provider wrote it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Difference {
    /// `-` pinned, `+` listed now.
    pub(in crate::public) sign: &'static str,
    pub(in crate::public) text: String,
}

impl From<Change> for ToolChange {
    fn from(change: Change) -> Self {
        let Change { provider, tool, pinned, listed, at, lines, more } = change;
        let sign = |sign| match sign {
            Sign::Gone => "-",
            Sign::New => "+",
        };
        let lines =
            lines.into_iter().map(|line| Difference { sign: sign(line.sign), text: line.text }).collect();
        Self { provider, tool, pinned, listed, at, lines, more }
    }
}
