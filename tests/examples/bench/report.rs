//! The table of docs/benchmarks.md.

use crate::load::Latencies;
use crate::machine::Cost;
use crate::phase::{Load, Phase};
use std::fmt::Write as _;

pub fn table(
    floor_before: &Latencies,
    floor_after: &Latencies,
    direct: &[Phase],
    through: &[(Phase, Cost)],
) -> String {
    let mut text = String::new();
    let floor = (floor_before.percentile(50) + floor_after.percentile(50)) / 2.0;
    let _ = writeln!(
        text,
        "commit floor (one row, one caller): p50 {:.2} ms before, {:.2} ms after; p99 {:.2} and {:.2} ms\n",
        floor_before.percentile(50),
        floor_after.percentile(50),
        floor_before.percentile(99),
        floor_after.percentile(99),
    );
    text.push_str("| load | | p50 ms | p99 ms | calls/s | entries per commit | CPU s per 1,000 calls: gateway, evidence, Postgres | gateway peak MiB |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for (phase, (governed, cost)) in direct.iter().zip(through) {
        let load = match phase.load {
            Load::Closed(callers) => format!("closed, {callers}"),
            Load::Fixed(rate) => format!("fixed, {rate}/s"),
        };
        let _ = writeln!(text, "| {load} | direct {} | | | |", figures(phase));
        let thousands = governed.latencies.count() as f64 / 1000.0;
        let _ = writeln!(
            text,
            "| | governed {} | {:.1} | {:.2} {:.2} {:.2} | {:.0} |",
            figures(governed),
            cost.entries as f64 / cost.commits.max(1) as f64,
            cost.gateway / thousands,
            cost.evidence / thousands,
            cost.postgres / thousands,
            cost.gateway_peak,
        );
    }
    text.push_str(&ratios(floor, direct, through));
    text
}

fn figures(phase: &Phase) -> String {
    let (p50, p99) = (phase.latencies.percentile(50), phase.latencies.percentile(99));
    format!("| {p50:.2} | {p99:.2} | {:.0}", phase.calls_per_second())
}

fn ratios(floor: f64, direct: &[Phase], through: &[(Phase, Cost)]) -> String {
    let mut text = String::from("\n");
    let fixed = |phase: &Phase| matches!(phase.load, Load::Fixed(_));
    let alone = direct.iter().find(|phase| fixed(phase));
    let governed = through.iter().map(|(phase, _)| phase).find(|phase| fixed(phase));
    if let (Some(alone), Some(governed)) = (alone, governed) {
        let overhead = governed.latencies.percentile(50) - alone.latencies.percentile(50);
        let _ = writeln!(
            text,
            "overhead at the fixed rate: p50 {overhead:.2} ms = {:.2} commits; without the commit {:.2} ms",
            overhead / floor,
            overhead - floor
        );
    }
    let closed = |callers| {
        let wanted = move |phase: &&Phase| matches!(phase.load, Load::Closed(n) if n == callers);
        through.iter().map(|(phase, _)| phase).find(wanted)
    };
    if let (Some(sixteen), Some(sixty_four)) = (closed(16), closed(64)) {
        let _ = writeln!(
            text,
            "p99 with 64 callers: {:.1} times the p50 with 16",
            sixty_four.latencies.percentile(99) / sixteen.latencies.percentile(50)
        );
        let commits = 1000.0 / floor;
        let _ = writeln!(
            text,
            "with 64 callers: {:.1} governed calls for each commit that one caller alone could make in that time",
            sixty_four.calls_per_second() / commits
        );
    }
    text
}
