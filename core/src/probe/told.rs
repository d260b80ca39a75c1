//! How a gateway tells the evidence service what came of a probe: `POST /internal/v1/probes`.
//!
//!     {"v":1,"project":"prj_…","provider":"notes","tool":"note_list","began_at":"…","cases":[{"case":"missing","outcome":"refused"}]}

use crate::id::{ProjectId, ProviderId, ToolName};
use crate::statement::{ProbeCase, Tried};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ToldProbe {
    pub v: u8,
    pub project: ProjectId,
    pub provider: ProviderId,
    pub tool: ToolName,
    /// On ledger time.
    pub began_at: Timestamp,
    pub cases: Vec<Tried>,
}

impl ToldProbe {
    /// Version 1, some cases, each once.
    pub fn adds_up(&self) -> bool {
        let times = |case: &ProbeCase| self.cases.iter().filter(|tried| tried.case == *case).count();
        self.v == 1 && !self.cases.is_empty() && ProbeCase::ALL.iter().all(|case| times(case) <= 1)
    }
}
