//! Reconciliation: decision, observation and execution of one call, matched three ways.
//!
//! Promised: [`reconcile`] is total and pure. Every combination has one status, every disagreement is a finding, and
//! what honest parties do in any order raises none. Two readers of one record come to the same answer: times are
//! those of entries, and the order in which statements are handed in does not count, only their place does.
//! Not promised: that parties who agree say the truth. Steps and table: docs/formats/reconciliation.md; each row and
//! each step is a case in docs/vectors/reconciliation.

mod cap;
mod compare;
mod matter;
mod previous;
mod row;
mod series;
mod standing;

pub use cap::{Cap, FINDINGS_PER_KEY_AND_HOUR};
pub use matter::{Account, Decided, Matter, Observed, Stated};
pub use previous::{Issued, previous_of, unknown_previous};
pub use standing::{ProviderKey, Standing};

use crate::digest::Digest;
use crate::id::ActionId;
use crate::statement::FindingCode;
use crate::time::Timestamp;
use series::Series;
use std::fmt;

/// How long a provider has to sign where its entry in the registry names no other time, in milliseconds.
pub const DEFAULT_SIGN_WITHIN: i64 = 10 * 60 * 1000;

/// Whether statements are expected of this provider for this call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Duty {
    /// Its entry says `signs = true`, and a key of it counted at the place of the decision.
    Owes,
    /// Everything else: such a call is `unsigned`, and that is no finding.
    OwesNothing,
}

/// What the registry that was in force for the decision says of its provider.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Terms {
    pub duty: Duty,
    /// Milliseconds from the entry of the observation (hook mode: of the decision).
    pub sign_within: i64,
}

impl Terms {
    pub fn owes_nothing() -> Self {
        Self { duty: Duty::OwesNothing, sign_within: DEFAULT_SIGN_WITHIN }
    }

    pub fn owes() -> Self {
        Self { duty: Duty::Owes, sign_within: DEFAULT_SIGN_WITHIN }
    }
}

/// Whether the gateway that decided may still observe.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watch {
    Open,
    /// Its lease lapsed, or the tool's ceiling passed.
    Closed,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Status {
    /// All halves that are due are there and agree.
    Matched,
    /// As matched, and the statement came after its deadline.
    Late,
    /// The provider owes nothing and said nothing.
    Unsigned,
    /// The provider owes a statement, and it is not yet due.
    Waiting,
    Missing,
    OutcomeUnknown,
    /// The statement says otherwise than the gateway saw.
    Contradicted,
    /// It ran although the verdict said no.
    AgainstVerdict,
}

impl Status {
    pub const ALL: &'static [Self] = &[
        Self::Matched,
        Self::Late,
        Self::Unsigned,
        Self::Waiting,
        Self::Missing,
        Self::OutcomeUnknown,
        Self::Contradicted,
        Self::AgainstVerdict,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Late => "late",
            Self::Unsigned => "unsigned",
            Self::Waiting => "waiting",
            Self::Missing => "missing",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::Contradicted => "contradicted",
            Self::AgainstVerdict => "against_verdict",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A disagreement: what a `finding/v1` has to say. One stands once per action, code and statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    pub code: FindingCode,
    /// Null only where the statement names no id of ours.
    pub action: Option<ActionId>,
    /// Digest of the body that it is about.
    pub statement: Digest,
    pub seq: u64,
    /// The entry time, or the deadline, from which on it is one.
    pub since: Timestamp,
}

/// A finding that, if it stands, is closed by what came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cleared {
    pub code: FindingCode,
    /// Digest of the body that the finding is about.
    pub about: Digest,
    /// Digest of the body that came.
    pub by: Digest,
    pub seq: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reconciled {
    pub status: Status,
    pub account: Account,
    /// In the order of the statements' places.
    pub findings: Vec<Found>,
    pub clears: Vec<Cleared>,
    /// Where time alone can change the answer: when to ask again.
    pub again_after: Option<Timestamp>,
}

/// Step 1 for a statement that names no action of this project, or no decision on that action.
pub fn stray(stated: &Stated) -> Found {
    Found {
        code: FindingCode::ExecutionWithoutDecision,
        action: stated.action,
        statement: stated.digest,
        seq: stated.seq,
        since: stated.entered_at,
    }
}

/// Of the statements so far, those that the answer to a later one depends on: the provider's first, its word if that
/// is another, and the first that ran although the verdict said no. With them, and without repeats, what follows from
/// a later statement is the same as with all. An observation that comes later meets each of them: with these few, its
/// result would not be compared with the others.
pub fn remembered(matter: &Matter) -> Vec<&Stated> {
    let mut statements: Vec<&Stated> = matter.stated.iter().collect();
    statements.sort_by_key(|stated| stated.seq);
    let (good, _) = compare::signed_by_the_provider(&matter.decided, statements);
    let series = Series::of(&matter.decided, good, &mut Vec::new());
    let ran = series.distinct().find(|stated| stated.outcome.ran() && !matter.decided.is_cleared());
    let mut few: Vec<&Stated> = series.first().into_iter().chain(series.word()).chain(ran).collect();
    few.sort_by_key(|stated| stated.seq);
    few.dedup_by_key(|stated| stated.seq);
    few
}

/// Steps 2 to 5 for one decision and everything that names it, `now` by entry time.
pub fn reconcile(matter: &Matter, terms: Terms, watch: Watch, now: Timestamp) -> Reconciled {
    let mut statements: Vec<&Stated> = matter.stated.iter().collect();
    statements.sort_by_key(|stated| stated.seq);

    let decided = &matter.decided;
    let (good, mut findings) = compare::signed_by_the_provider(decided, statements);
    let series = Series::of(decided, good, &mut findings);
    for stated in series.distinct() {
        findings.extend(compare::differences(matter, stated));
    }
    let row = match decided.is_cleared() {
        false => row::not_cleared(matter, &series),
        true => row::cleared(matter, &series, terms, watch, now),
    };
    findings.extend(row.findings);
    findings.sort_by_key(|found| (found.seq, found.code));
    Reconciled {
        status: row.status,
        account: decided.account,
        findings,
        clears: row.clears,
        again_after: row.again_after,
    }
}

#[cfg(test)]
mod tests;
