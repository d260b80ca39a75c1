//! Coverage: what an operator declared, what was measured, what was probed, and which of them each is (P10).

use std::collections::BTreeMap;

use counterfoil_core::statement::Share;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::gather::Gathered;
use super::super::projection;
use super::words;

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct CoverageLine {
    pub(in crate::public) provider: String,
    /// An operator's word on how much of what goes to this provider comes by the gateway.
    pub(in crate::public) declared: Option<Declared>,
    /// What the published registry says, which is the operator's word too.
    pub(in crate::public) registry: Option<Terms>,
    pub(in crate::public) measured: Measured,
    /// What a probe from outside found. Nothing probes yet.
    pub(in crate::public) probed: Option<Probed>,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Declared {
    pub(in crate::public) share: Share,
    pub(in crate::public) basis: &'static str,
    pub(in crate::public) seq: u64,
    pub(in crate::public) at: Timestamp,
    pub(in crate::public) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub(in crate::public) struct Terms {
    /// It refuses what comes without a capability.
    pub(in crate::public) capability: bool,
    /// It owes a signed statement for each call.
    pub(in crate::public) signs: bool,
}

/// Compared calls that were allowed, and what became of them: what came by the gateway, nothing else.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::public) struct Measured {
    pub(in crate::public) allowed: u64,
    pub(in crate::public) matched: u64,
    pub(in crate::public) unsigned: u64,
    pub(in crate::public) waiting: u64,
    pub(in crate::public) disagreeing: u64,
    /// Decided otherwise than ALLOW.
    pub(in crate::public) not_allowed: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(in crate::public) enum Probed {}

pub(super) fn lines(found: &Gathered) -> Vec<CoverageLine> {
    let mut lines: BTreeMap<String, CoverageLine> = BTreeMap::new();
    let line = |provider: &str| CoverageLine {
        provider: provider.to_owned(),
        declared: None,
        registry: None,
        measured: Measured::default(),
        probed: None,
    };
    for (provider, terms) in found.in_force.said.iter().flat_map(|said| &said.terms) {
        lines.entry(provider.clone()).or_insert_with(|| line(provider)).registry = Some(*terms);
    }
    if let Some((row, (providers, reason))) =
        found.coverage.as_ref().and_then(|row| Some((row, projection::coverage(row)?)))
    {
        for said in providers {
            let provider = said.provider.to_string();
            let line = lines.entry(provider.clone()).or_insert_with(|| line(&provider));
            line.declared = Some(Declared {
                share: said.share,
                basis: said.basis.as_str(),
                seq: row.entry.seq,
                at: row.entry.at,
                reason: reason.clone(),
            });
        }
    }
    for tally in found.call_tallies.iter().filter(|tally| !tally.provider.is_empty()) {
        let line = lines.entry(tally.provider.clone()).or_insert_with(|| line(&tally.provider));
        line.measured.add(&tally.verdict, &tally.status, tally.calls);
    }
    lines.into_values().collect()
}

impl Measured {
    fn add(&mut self, verdict: &str, status: &str, calls: u64) {
        if verdict != "ALLOW" {
            self.not_allowed += calls;
            return;
        }
        self.allowed += calls;
        match status {
            "matched" | "late" => self.matched += calls,
            "unsigned" => self.unsigned += calls,
            "waiting" => self.waiting += calls,
            bad if words::is_bad(bad) => self.disagreeing += calls,
            _ => {}
        }
    }
}
