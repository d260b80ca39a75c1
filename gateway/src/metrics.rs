//! Counts for an operator, in the text form of Prometheus.
//!
//! Promised: counts and sizes alone; no label has a word that a caller, a provider or an operator wrote.
//! Not promised: that they outlive the process, or agree to the unit while calls are under way.
//!
//!     counterfoil_gateway_decisions_total{verdict="ALLOW"} 41

mod histogram;

pub use histogram::Histogram;

use crate::house::House;
use counterfoil_core::statement::{ObservationStatus, Verdict};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one gateway counts. What a project's recorder counts is in its [`Tally`].
pub struct Metrics {
    decisions: Vec<AtomicU64>,
    observations: Vec<AtomicU64>,
    unrecorded: AtomicU64,
    /// By status from 100 to 599.
    answers: Vec<AtomicU64>,
}

/// What one recorder counts.
#[derive(Default)]
pub struct Tally {
    /// Items of each record request.
    pub items: Histogram,
    /// New entries of each request that was answered: one request of one project is one commit.
    pub entries: Histogram,
    pub failures: AtomicU64,
    pub dropped: AtomicU64,
    /// What the courier holds beside what is in its queues.
    pub held_decisions: AtomicU64,
    pub held_trailing: AtomicU64,
}

/// What waits in a recorder.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Depth {
    pub decisions: u64,
    pub trailing: u64,
}

const FIRST_STATUS: u16 = 100;
const STATUSES: usize = 500;

impl Metrics {
    pub fn at_zero() -> Self {
        let zeros = |count: usize| (0..count).map(|_| AtomicU64::new(0)).collect();
        Self {
            decisions: zeros(Verdict::ALL.len()),
            observations: zeros(ObservationStatus::ALL.len()),
            unrecorded: AtomicU64::new(0),
            answers: zeros(STATUSES),
        }
    }

    pub fn recorded(&self, verdict: Verdict) {
        if let Some(place) = Verdict::ALL.iter().position(|known| *known == verdict) {
            one_more(&self.decisions[place]);
        }
    }

    pub fn observed(&self, status: ObservationStatus) {
        if let Some(place) = ObservationStatus::ALL.iter().position(|known| *known == status) {
            one_more(&self.observations[place]);
        }
    }

    pub fn unrecorded(&self) {
        one_more(&self.unrecorded);
    }

    pub fn answered(&self, status: u16) {
        let place = status.checked_sub(FIRST_STATUS);
        if let Some(count) = place.and_then(|place| self.answers.get(usize::from(place))) {
            one_more(count);
        }
    }
}

fn one_more(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Everything, as a scraper reads it.
pub fn text(house: &House) -> String {
    let metrics = &house.metrics;
    let mut text = String::new();
    let verdicts = Verdict::ALL.iter().map(|v| v.as_str()).zip(&metrics.decisions);
    labelled(&mut text, "decisions_total", "decisions recorded", "verdict", verdicts);
    let statuses = ObservationStatus::ALL.iter().map(|s| s.as_str()).zip(&metrics.observations);
    labelled(&mut text, "observations_total", "ends of allowed calls", "status", statuses);
    let answers = (FIRST_STATUS..).zip(&metrics.answers).filter(|(_, count)| read(count) > 0);
    let answers: Vec<(String, &AtomicU64)> = answers.map(|(s, count)| (s.to_string(), count)).collect();
    let answers = answers.iter().map(|(status, count)| (status.as_str(), *count));
    labelled(&mut text, "answers_total", "HTTP answers to hosts", "status", answers);
    plain(
        &mut text,
        "unrecorded_total",
        "counter",
        "calls refused for want of a record",
        read(&metrics.unrecorded),
    );
    let tallies = || house.projects.iter().map(|project| project.recorder.tally());
    let sum = |of: fn(&Tally) -> &AtomicU64| tallies().map(|tally| read(of(tally))).sum();
    plain(
        &mut text,
        "record_failures_total",
        "counter",
        "record requests without an answer",
        sum(|t| &t.failures),
    );
    plain(&mut text, "dropped_total", "counter", "observations and openings given up", sum(|t| &t.dropped));
    let given_up = house.projects.iter().map(|project| project.executions.dropped()).sum();
    plain(&mut text, "statements_dropped_total", "counter", "statements of providers given up", given_up);
    Histogram::render(tallies().map(|t| &t.items), "record_items", "items of a record request", &mut text);
    Histogram::render(tallies().map(|t| &t.entries), "commit_entries", "new entries of a commit", &mut text);
    let depths: Vec<Depth> = house.projects.iter().map(|project| project.recorder.depth()).collect();
    let decisions = depths.iter().map(|depth| depth.decisions).sum();
    plain(&mut text, "waiting_decisions", "gauge", "decisions that wait for their commit", decisions);
    let trailing = depths.iter().map(|depth| depth.trailing).sum();
    plain(&mut text, "waiting_trailing", "gauge", "observations and openings that wait", trailing);
    text
}

const PREFIX: &str = "counterfoil_gateway";

fn heading(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {PREFIX}_{name} {help}\n# TYPE {PREFIX}_{name} {kind}");
}

fn plain(text: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    heading(text, name, kind, help);
    let _ = writeln!(text, "{PREFIX}_{name} {value}");
}

fn labelled<'a>(
    text: &mut String,
    name: &str,
    help: &str,
    label: &str,
    counts: impl Iterator<Item = (&'a str, &'a AtomicU64)>,
) {
    heading(text, name, "counter", help);
    for (word, count) in counts {
        let _ = writeln!(text, "{PREFIX}_{name}{{{label}=\"{word}\"}} {}", read(count));
    }
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}
