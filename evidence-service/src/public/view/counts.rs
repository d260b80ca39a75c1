//! Counts that add up, and how.
//!
//! Entries by kind come from signed days and the head's counters. Decisions by verdict, and where each stands, come from
//! the comparison's tallies. What the comparison has not reached is a number of its own, so that a sum that does
//! not come out is seen and said.

use counterfoil_core::entry::Kind;
use counterfoil_core::statement::Counts as ByKind;
use serde::Serialize;

use super::super::gather::Gathered;
use super::super::store::{CallTallyRow, TallyRow};
use super::words;

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Counts {
    /// Entries of every kind, and the size of the record.
    pub(in crate::public) entries: Sum,
    /// Decisions by verdict, and how many were signed.
    pub(in crate::public) verdicts: Sum,
    /// Decisions by where their comparison stands, and how many were signed.
    pub(in crate::public) statuses: Sum,
    /// Every sum comes out.
    pub(in crate::public) add_up: bool,
    #[serde(skip)]
    kinds: ByKind,
}

/// Parts, and the whole that they must come to.
#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Sum {
    pub(in crate::public) parts: Vec<Counted>,
    pub(in crate::public) whole: u64,
    /// Where the whole comes from, in words.
    pub(in crate::public) from: String,
    pub(in crate::public) adds_up: bool,
}

#[derive(Clone, Debug, Serialize)]
pub(in crate::public) struct Counted {
    pub(in crate::public) code: String,
    pub(in crate::public) words: String,
    pub(in crate::public) count: u64,
    /// A disagreement.
    pub(in crate::public) bad: bool,
}

impl Counts {
    pub(super) fn of(found: &Gathered) -> Self {
        let mut kinds = found.closed.counts.clone();
        for (kind, count) in &found.head.today {
            *kinds.entry(*kind).or_insert(0) += count;
        }
        let part = |kind: &Kind, count: &u64| Counted::new(kind.as_str(), kind.as_str(), *count);
        let days = found.closed.days;
        let entries = Sum::new(
            kinds.iter().map(|(kind, count)| part(kind, count)).collect(),
            found.head.size,
            format!("entries of the record; the parts are what {days} signed days say, and today's counters"),
        );
        let decided = kinds.get(&Kind::Decision).copied().unwrap_or(0);
        let from = || format!("decisions, as {days} signed days and today's counters say");
        let verdicts = Sum::new(by_verdict(&found.call_tallies, decided), decided, from());
        let statuses = Sum::new(by_status(&found.tallies, decided), decided, from());
        let add_up = entries.adds_up && verdicts.adds_up && statuses.adds_up;
        Self { entries, verdicts, statuses, add_up, kinds }
    }

    pub(in crate::public) fn of_kind(&self, kind: Kind) -> u64 {
        self.kinds.get(&kind).copied().unwrap_or(0)
    }
}

impl Sum {
    fn new(parts: Vec<Counted>, whole: u64, from: String) -> Self {
        let adds_up = parts.iter().map(|part| part.count).sum::<u64>() == whole;
        Self { parts, whole, from, adds_up }
    }

    /// The sum written out: `3 ALLOW + 1 DENY = 4`.
    pub(in crate::public) fn written_out(&self) -> String {
        let parts: Vec<String> =
            self.parts.iter().map(|part| format!("{} {}", part.count, part.words)).collect();
        let sum = if parts.is_empty() { "nothing".to_owned() } else { parts.join(" + ") };
        let sign = if self.adds_up { "=" } else { "≠" };
        format!("{sum} {sign} {} {}", self.whole, self.from)
    }
}

impl Counted {
    fn new(code: &str, words: &str, count: u64) -> Self {
        Self { code: code.to_owned(), words: words.to_owned(), count, bad: words::is_bad(code) }
    }
}

/// More compared than decided never hides behind a zero: then the sum does not come out.
fn and_the_rest(mut parts: Vec<Counted>, decided: u64) -> Vec<Counted> {
    let compared: u64 = parts.iter().map(|part| part.count).sum();
    if let Some(rest) = decided.checked_sub(compared).filter(|rest| *rest > 0) {
        parts.push(Counted::new("not_compared", "not compared yet", rest));
    }
    parts
}

fn by_verdict(tallies: &[CallTallyRow], decided: u64) -> Vec<Counted> {
    let mut parts: Vec<Counted> = Vec::new();
    for tally in tallies {
        match parts.iter_mut().find(|part| part.code == tally.verdict) {
            Some(part) => part.count += tally.calls,
            None => parts.push(Counted::new(&tally.verdict, &tally.verdict, tally.calls)),
        }
    }
    parts.sort_by(|a, b| a.code.cmp(&b.code));
    and_the_rest(parts, decided)
}

fn by_status(tallies: &[TallyRow], decided: u64) -> Vec<Counted> {
    let part = |tally: &TallyRow| {
        let status = words::status(Some(&tally.status));
        let said = match tally.account.as_str() {
            "governed" => status.to_owned(),
            other => format!("{status} ({})", words::account(other)),
        };
        Counted::new(&tally.status, &said, tally.calls)
    };
    and_the_rest(tallies.iter().map(part).collect(), decided)
}
