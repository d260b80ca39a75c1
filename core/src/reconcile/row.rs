//! Steps 4 and 5: the table.

use super::compare::about;
use super::series::Series;
use super::{Cleared, Duty, Found, Matter, Stated, Status, Terms, Watch};
use crate::statement::{FindingCode, Mode, ObservationStatus, Outcome};
use crate::time::Timestamp;

pub(super) struct Row {
    pub(super) status: Status,
    pub(super) findings: Vec<Found>,
    pub(super) clears: Vec<Cleared>,
    pub(super) again_after: Option<Timestamp>,
}

impl Row {
    fn of(status: Status) -> Self {
        Self { status, findings: Vec::new(), clears: Vec::new(), again_after: None }
    }

    fn finding(mut self, found: Found) -> Self {
        self.findings.push(found);
        self
    }
}

/// The left column of the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Saw {
    Success,
    /// A result that is an error, no answer in time, an agent that went away.
    Unclear,
    /// The provider would not take it, or nothing was sent.
    NothingRan,
    /// A protocol error, or a question back: the round ended without a result.
    NoResult,
    NothingYet,
    /// Hook mode: nobody observes.
    Nobody,
}

impl Saw {
    fn of(matter: &Matter) -> Self {
        match (matter.decided.mode, &matter.observed) {
            (Mode::Hook, _) => Self::Nobody,
            (Mode::Gateway, None) => Self::NothingYet,
            (Mode::Gateway, Some(seen)) => match seen.status {
                ObservationStatus::Returned if seen.is_error => Self::Unclear,
                ObservationStatus::Returned => Self::Success,
                ObservationStatus::Timeout | ObservationStatus::Cancelled => Self::Unclear,
                ObservationStatus::Refused | ObservationStatus::NotSent => Self::NothingRan,
                ObservationStatus::Error | ObservationStatus::Asked => Self::NoResult,
            },
        }
    }
}

/// Step 4: what ran all the same is named, whether the provider says so or the gateway saw it being sent.
pub(super) fn not_cleared(matter: &Matter, series: &Series<'_>) -> Row {
    let code = FindingCode::ExecutedAgainstVerdict;
    let decided = &matter.decided;
    let ran = series.distinct().filter(|stated| stated.outcome.ran());
    let mut findings: Vec<Found> = ran.map(|stated| about(decided, stated, code)).collect();
    let sent = matter.observed.as_ref().filter(|seen| seen.status != ObservationStatus::NotSent);
    findings.extend(sent.map(|seen| Found {
        code,
        action: Some(decided.action),
        statement: seen.digest,
        seq: seen.seq,
        since: seen.entered_at,
    }));
    let status = if findings.is_empty() { Status::Matched } else { Status::AgainstVerdict };
    Row { findings, ..Row::of(status) }
}

/// Step 5.
pub(super) fn cleared(
    matter: &Matter,
    series: &Series<'_>,
    terms: Terms,
    watch: Watch,
    now: Timestamp,
) -> Row {
    let deadline = deadline(matter, terms);
    let is_past = deadline.is_some_and(|deadline| now > deadline);
    let saw = Saw::of(matter);
    let mut row = match (saw, series.word()) {
        (Saw::Success, Some(word)) => success(matter, series, word, deadline, is_past),
        (Saw::NothingRan, Some(word)) if word.outcome == Outcome::Executed => contradicted(matter, word),
        (Saw::NothingRan | Saw::NoResult, _) => Row::of(Status::Matched),
        (Saw::Unclear | Saw::NothingYet | Saw::Nobody, Some(_)) => Row::of(Status::Matched),
        (Saw::NothingYet, None) if watch == Watch::Closed => {
            Row::of(Status::OutcomeUnknown).finding(due(matter, FindingCode::OutcomeUnknown, now))
        }
        (Saw::Success | Saw::Unclear | Saw::NothingYet | Saw::Nobody, None) => match terms.duty {
            Duty::OwesNothing => Row::of(Status::Unsigned),
            Duty::Owes if is_past => {
                let since = deadline.unwrap_or(now);
                Row::of(Status::Missing).finding(due(matter, FindingCode::MissingExecution, since))
            }
            Duty::Owes => Row { again_after: deadline, ..Row::of(Status::Waiting) },
        },
    };
    if matches!(saw, Saw::Success | Saw::Unclear | Saw::Nobody) && terms.duty == Duty::Owes {
        late(matter, series, deadline, &mut row);
    }
    row.clears.extend(outcome_is_known(matter, series));
    row
}

/// The provider's word against a result that came back.
fn success(
    matter: &Matter,
    series: &Series<'_>,
    word: &Stated,
    deadline: Option<Timestamp>,
    is_past: bool,
) -> Row {
    match (word.outcome, series.given_up()) {
        // What was given up and done after the deadline had been contradicted until then.
        (Outcome::Executed, Some(given_up)) if deadline.is_some_and(|by| word.entered_at > by) => {
            contradicted(matter, given_up)
        }
        (Outcome::Executed, _) => Row::of(Status::Matched),
        // ABANDONED then EXECUTED is honest, so the second half may still come.
        (Outcome::Abandoned, _) if !is_past => Row { again_after: deadline, ..Row::of(Status::Waiting) },
        _ => contradicted(matter, word),
    }
}

fn contradicted(matter: &Matter, word: &Stated) -> Row {
    let mut found = about(&matter.decided, word, FindingCode::StatementContradictsObservation);
    found.since = matter.observed.as_ref().map_or(found.since, |seen| seen.entered_at.max(found.since));
    Row::of(Status::Contradicted).finding(found)
}

/// A first statement after the deadline closes MISSING_EXECUTION and is named for being late.
fn late(matter: &Matter, series: &Series<'_>, deadline: Option<Timestamp>, row: &mut Row) {
    let Some((first, by)) = series.first().zip(deadline) else { return };
    if first.entered_at <= by {
        return;
    }
    row.findings.push(about(&matter.decided, first, FindingCode::LateExecution));
    row.clears.push(Cleared {
        code: FindingCode::MissingExecution,
        about: matter.decided.digest,
        by: first.digest,
        seq: first.seq,
    });
    if row.status == Status::Matched {
        row.status = Status::Late;
    }
}

/// The first that says what became of the call closes OUTCOME_UNKNOWN.
fn outcome_is_known(matter: &Matter, series: &Series<'_>) -> Option<Cleared> {
    let seen = matter.observed.as_ref().map(|seen| (seen.seq, seen.digest));
    let said = series.first().map(|stated| (stated.seq, stated.digest));
    let (seq, by) = seen.into_iter().chain(said).min_by_key(|(seq, _)| *seq)?;
    Some(Cleared { code: FindingCode::OutcomeUnknown, about: matter.decided.digest, by, seq })
}

fn deadline(matter: &Matter, terms: Terms) -> Option<Timestamp> {
    let from = match matter.decided.mode {
        Mode::Hook => Some(matter.decided.entered_at),
        Mode::Gateway => matter.observed.as_ref().map(|seen| seen.entered_at),
    };
    from.map(|from| from.plus_millis(terms.sign_within))
}

/// A finding about what is not there: it names the decision.
fn due(matter: &Matter, code: FindingCode, since: Timestamp) -> Found {
    let decided = &matter.decided;
    Found { code, action: Some(decided.action), statement: decided.digest, seq: decided.seq, since }
}
