//! One turn: a stretch of one project's entries, and of what became due, read, compared and kept.
//!
//! Promised: bounded work, exactly once. Whatever a turn writes goes with the cursor's own step in one transaction, and
//! of two turns that began from the same place one is given up whole. Nothing is judged by a clock that the record may
//! still contradict: past the last entry read, time counts only under the head's lock and with nothing after it.

mod read;
mod say;

use std::collections::HashMap;

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::Entry;
use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::{Finding, Statement};
use counterfoil_core::time::Timestamp;

use super::comparison::{Comparison, Judged};
use super::store::entries::Entered;
use super::store::findings::{self, Name, NewRow, Standing};
use super::store::position::{self, Position};
use super::store::{counts, matters};
use super::terms::Registries;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::{AppendError, Ledger};

/// Until a project is looked at again in which something seemed due and was not.
const PATIENCE: i64 = 1_000;

/// What was read of one moment of a project, and compared.
pub(super) struct Turn {
    project: ProjectId,
    from: Position,
    upto: u64,
    noted: u64,
    /// When it was read, and the time of the last entry that was read: nothing that comes later is older.
    now: Timestamp,
    last_at: Timestamp,
    notes: Notes,
    comparison: Comparison,
    standing: HashMap<Name, Standing>,
    /// Whether it read as much as one turn takes, so that more may be waiting.
    is_full: bool,
}

/// Findings, clearances and resolutions that the index may not have yet.
#[derive(Debug, Default)]
struct Notes {
    findings: Vec<NewRow>,
    cleared: Vec<(Digest, u64)>,
    resolved: Vec<(Digest, u64)>,
}

/// What a turn left.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    /// More can be compared at once.
    More,
    /// All that stood when it was read is compared. What came meanwhile can wait for others to come: a turn for every
    /// call would cost more than the call.
    Little,
    /// All below is compared; when time alone may change something.
    Nothing { upto: u64, due: Option<Timestamp> },
}

/// Takes one turn. Fails with `Refused` or `Unavailable` where another service was faster.
pub(super) async fn take(
    ledger: &Ledger,
    project: ProjectId,
    registries: &mut Registries,
    now: Timestamp,
) -> Result<Left, AppendError> {
    let turn = match Turn::read(ledger, project, registries, now).await? {
        Ok(turn) => turn,
        Err(nothing) => return Ok(nothing),
    };
    if turn.is_idle() {
        return Ok(Left::Nothing { upto: turn.upto, due: Some(now.plus_millis(PATIENCE)) });
    }
    if turn.has_to_say() {
        turn.say(ledger).await?;
        return Ok(Left::More);
    }
    turn.keep(ledger).await?;
    Ok(if turn.is_full { Left::More } else { Left::Little })
}

impl Turn {
    fn judged(&self, now: Timestamp) -> Judged {
        self.comparison.judge(now, &self.standing)
    }

    /// Whether something may have to be said: then only under the head's lock.
    pub(super) fn has_to_say(&self) -> bool {
        !self.judged(self.now).says_nothing()
    }

    /// Nothing was read and nothing would be written: time counts for less than it seemed.
    fn is_idle(&self) -> bool {
        let stays = (self.upto, self.noted) == (self.from.upto, self.from.noted);
        stays && !self.has_to_say() && self.judged(self.last_at).kept.is_empty()
    }

    /// Keeps what was compared, where nothing is to be said. The head is not locked, so no append waits.
    pub(super) async fn keep(&self, ledger: &Ledger) -> Result<(), AppendError> {
        let mut client = ledger.database().app().await?;
        let tx = client.begin(self.project).await?;
        let judged = self.judged(self.last_at);
        if !judged.says_nothing() {
            return Err(AppendError::Refused("something is to be said".to_owned()));
        }
        self.write(&tx, &judged).await?;
        tx.commit().await.map_err(DatabaseError::from)?;
        Ok(())
    }

    /// All rows but those of what is said.
    async fn write(&self, tx: &ProjectTx<'_>, judged: &Judged) -> Result<(), DatabaseError> {
        // First, because it decides between two turns and makes the second one wait.
        position::advance(tx, &self.from, self.upto, self.noted).await?;
        findings::note(tx, &self.notes.findings).await?;
        findings::note_ends(tx, &self.notes.cleared, &self.notes.resolved).await?;
        let tallies: Vec<(&str, &str, i64)> = judged
            .tallies
            .iter()
            .map(|((account, status), more)| (account.as_str(), status.as_str(), *more))
            .collect();
        let heaps = self.comparison.heaps();
        tokio::try_join!(
            matters::keep(tx, &judged.kept),
            matters::tally(tx, &tallies),
            matters::keep_said(tx, self.comparison.newly_said()),
            counts::add_apart(tx, &heaps),
            counts::add_changed(tx, self.comparison.newly_changed()),
        )?;
        Ok(())
    }
}

impl Notes {
    fn of(entered: &[Entered]) -> Self {
        let mut notes = Self::default();
        for Entered { entry, statement, .. } in entered {
            match statement {
                Some(Statement::Finding(said)) => notes.findings.push(row(entry, said)),
                Some(Statement::Clearance(said)) => notes.cleared.push((said.finding, entry.seq)),
                Some(Statement::Resolution(said)) => notes.resolved.push((said.finding, entry.seq)),
                Some(_) | None => {}
            }
        }
        notes
    }
}

impl NewRow {
    /// As a finding that stands; none where it is about no statement.
    fn stands(&self, cleared: &[(Digest, u64)]) -> Option<Standing> {
        Some(Standing {
            name: Name { action: self.action, code: self.code, statement: self.statement? },
            seq: self.seq,
            digest: self.digest,
            cleared: cleared.iter().any(|(finding, _)| *finding == self.digest),
        })
    }
}

fn row(entry: &Entry, said: &Finding) -> NewRow {
    NewRow {
        seq: entry.seq,
        digest: entry.body,
        code: said.code,
        action: said.action,
        statement: said.statement,
        about: said.seq,
    }
}
