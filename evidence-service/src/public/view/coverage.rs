//! Coverage: what an operator declared, what was measured, what was probed, and which of them each is (P10).

use std::collections::BTreeMap;

use counterfoil_core::statement::{Probe, ProbeOutcome, Share};
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use super::super::gather::Gathered;
use super::super::projection::{self, Seen};
use super::words;

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct CoverageLine {
    pub(in crate::public) provider: String,
    /// An operator's word on how much of what goes to this provider comes by the gateway.
    pub(in crate::public) declared: Option<Declared>,
    /// What the published registry says, which is the operator's word too.
    pub(in crate::public) registry: Option<Terms>,
    pub(in crate::public) measured: Measured,
    /// What the newest probe found.
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

/// What the newest `probe/v1` of a provider says: a gateway's word.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Probed {
    pub(in crate::public) tool: String,
    pub(in crate::public) refused: usize,
    pub(in crate::public) tried: usize,
    /// Cases that were answered with a result, by name.
    pub(in crate::public) passed: Vec<&'static str>,
    /// Cases of which nobody can say.
    pub(in crate::public) unclear: Vec<&'static str>,
    pub(in crate::public) seq: u64,
    pub(in crate::public) at: Timestamp,
}

impl Probed {
    fn of(row: &Seen, probe: &Probe) -> Self {
        let named = |outcome| {
            let cases = probe.cases.iter().filter(|tried| tried.outcome == outcome);
            cases.map(|tried| tried.case.as_str()).collect()
        };
        Self {
            tool: probe.tool.to_string(),
            refused: probe.count(ProbeOutcome::Refused),
            tried: probe.cases.len(),
            passed: named(ProbeOutcome::Passed),
            unclear: named(ProbeOutcome::Unclear),
            seq: row.entry.seq,
            at: row.entry.at,
        }
    }
}

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
    for (row, probe) in found.probes.iter().filter_map(|row| Some((row, projection::probe(row)?))) {
        let provider = probe.provider.to_string();
        let line = lines.entry(provider.clone()).or_insert_with(|| line(&provider));
        // The newest comes first.
        line.probed.get_or_insert_with(|| Probed::of(row, probe));
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
