//! The append transaction: the only writer of entries.
//!
//! 1. Lock the project's head row, as a statement of its own.
//! 2. Prove that the head continues what this process saw; read under the lock everything that can refuse.
//! 3. Let the job judge its items by that, each alone.
//! 4. Number, hash, extend the tree, sign one checkpoint, insert, update the head, commit. Only then answer.
//!
//! Promised: an answer that says "recorded" is given after the commit is known to stand. A commit whose answer got
//! lost is looked up again under the head's lock; if that lock is not to be had in five seconds the answer is
//! "unknown", never a guess.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use counterfoil_core::id::{KeyId, ProjectId};
use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::session::Running;
use counterfoil_core::time::Timestamp;

use super::facts::{Facts, KeyState, Questions};
use super::head::Head;
use super::judge::IdempotencyKey;
use super::project::Project;
use super::seal::{Accepted, Sealed, seal};
use super::seen::{Known, Proof, ReadOnly};
use super::{Ledger, store};
use crate::clock;
use crate::database::{Client, DatabaseError, Line, ProjectTx};

/// As whom an append enters the database.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hand {
    /// May add and never take away.
    App,
    /// May empty bodies under the tombstone that it appends.
    Sweeper,
}

/// What wants to be appended. The same job may be planned several times: only the last plan counts.
pub(crate) trait Job: Sync {
    type Outcome: Send;

    fn hand(&self) -> Hand {
        Hand::App
    }

    /// What to read under the lock.
    fn questions(&self) -> Questions;

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Self::Outcome>, AppendError>;

    /// Rows that belong to the same commit, besides entries.
    fn beside(
        &self,
        tx: &ProjectTx<'_>,
        sealed: &Sealed,
    ) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// What reads or changes the rows that were written, and belongs to the same commit too.
    fn after(&self, _: &ProjectTx<'_>, _: &Sealed) -> impl Future<Output = Result<(), DatabaseError>> + Send {
        async { Ok(()) }
    }
}

/// What a job decided, under one head.
pub(crate) struct Plan<O> {
    /// The head with what the job changes about it, not yet extended.
    pub(crate) head: Head,
    pub(crate) accepted: Vec<Accepted>,
    pub(crate) keyed: Vec<(IdempotencyKey, usize)>,
    /// What API keys have done, the accepted statements included.
    pub(crate) sessions: HashMap<KeyId, Running>,
    pub(crate) outcome: O,
}

impl<O> Plan<O> {
    /// What takes no idempotency key and is nobody's call: everything but a gateway's record request.
    pub(crate) fn saying(head: Head, accepted: Vec<Accepted>, outcome: O) -> Self {
        Self { head, accepted, keyed: Vec::new(), sessions: HashMap::new(), outcome }
    }
}

/// A job that is done. `sealed` is none if it had nothing to append.
#[derive(Debug)]
pub(crate) struct Done<O> {
    pub(crate) sealed: Option<Sealed>,
    pub(crate) outcome: O,
}

impl<O> Done<O> {
    /// The number of the newest entry of this commit.
    pub(crate) fn last_seq(&self) -> Option<u64> {
        self.sealed.as_ref()?.placed.last().map(|placed| placed.entry.seq)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error("no such project")]
    NoSuchProject,
    /// Nothing was recorded.
    #[error("nothing was recorded: {0}")]
    Unavailable(String),
    #[error(transparent)]
    ReadOnly(#[from] ReadOnly),
    /// The commit may or may not stand, and it could not be found out in time.
    #[error("whether it was recorded could not be found out")]
    Unknown,
    /// The job itself may not be done.
    #[error("{0}")]
    Refused(String),
}

/// How long a project's lock is waited for, all tries together.
const LOCK_WITHIN: Duration = Duration::from_secs(5);
const CLOCKS_APART_MILLIS: i64 = 2_000;

enum Attempt<O> {
    Done(Done<O>),
    /// The commit's answer did not come.
    InDoubt(Sealed, O),
}

impl Ledger {
    /// Runs a job to its end. Callers that can be cancelled spawn it.
    pub(crate) async fn append<J: Job>(
        &self,
        project: ProjectId,
        job: &J,
    ) -> Result<Done<J::Outcome>, AppendError> {
        let known = self.project(project).await?;
        let began = Instant::now();
        // Writers of one project wait here instead of each holding a connection while they wait for the row.
        let turn = self.turns.of(project);
        let _turn = tokio::time::timeout(LOCK_WITHIN, turn.lock())
            .await
            .map_err(|_| AppendError::Unavailable("the project is busy".to_owned()))?;
        loop {
            match self.attempt(&known, job).await {
                Ok(Attempt::Done(done)) => return Ok(done),
                Ok(Attempt::InDoubt(sealed, outcome)) => match self.look_again(project, &sealed).await? {
                    Standing::Committed => return Ok(Done { sealed: Some(sealed), outcome }),
                    Standing::Gone if began.elapsed() < LOCK_WITHIN => {}
                    Standing::Gone => {
                        return Err(AppendError::Unavailable("the commit did not stand".to_owned()));
                    }
                },
                Err(Stumble::TryAgain(_)) if began.elapsed() < LOCK_WITHIN => {}
                Err(stumble) => return Err(stumble.into()),
            }
        }
    }

    async fn attempt<J: Job>(&self, project: &Project, job: &J) -> Result<Attempt<J::Outcome>, Stumble> {
        let mut client = match job.hand() {
            Hand::App => self.database.app().await?,
            Hand::Sweeper => self.database.sweeper().await?,
        };
        let prepared = tokio::time::timeout(LOCK_WITHIN, self.prepare(&mut client, project, job)).await;
        let prepared =
            prepared.map_err(|_| AppendError::Unavailable("the database does not answer".to_owned()))?;
        let (tx, line, sealed, outcome) = match prepared? {
            Prepared::ToCommit { tx, line, sealed, outcome } => (tx, line, sealed, outcome),
            Prepared::Nothing(outcome) => return Ok(Attempt::Done(Done { sealed: None, outcome })),
        };
        // From here on an error, or silence, leaves the commit in doubt.
        match tokio::time::timeout(LOCK_WITHIN, tx.commit()).await {
            Ok(Ok(())) => {
                self.seen.remember(&sealed.head, &line);
                Ok(Attempt::Done(Done { sealed: Some(sealed), outcome }))
            }
            Ok(Err(_)) | Err(_) => Ok(Attempt::InDoubt(sealed, outcome)),
        }
    }

    async fn prepare<'c, J: Job>(
        &self,
        client: &'c mut Client,
        project: &Project,
        job: &J,
    ) -> Result<Prepared<'c, J::Outcome>, Stumble> {
        let line = self.line()?;
        let known = self.seen.known(project.id);
        let mut asked = job.questions();
        asked.kids.extend([self.keys.ledger.kid().to_string(), self.keys.log.kid().to_string()]);
        let locked = store::lock_and_read(client, project.id, &asked).await?;
        let (tx, head, facts) = locked.ok_or(AppendError::NoSuchProject)?;
        self.prove(&tx, &head, known, &line).await?;
        self.keys_in_force(&head, &facts.keys)?;
        let now = clock::now();
        agree(now, &facts, &head)?;
        let at = head.next_at(now);

        let plan = job.plan(&head, &facts, at)?;
        if plan.accepted.is_empty() {
            return Ok(Prepared::Nothing(plan.outcome));
        }
        let sealed = seal(plan.accepted, plan.head, at, &project.issuer, &self.keys);
        let place = |index: usize| sealed.placed[sealed.before + index].entry.seq;
        let keyed: Vec<_> = plan.keyed.into_iter().map(|(key, index)| (key, place(index))).collect();
        // Neither reads what the other writes in this commit, so they travel together.
        tokio::try_join!(store::write(&tx, &sealed, &keyed, &plan.sessions), job.beside(&tx, &sealed))?;
        job.after(&tx, &sealed).await?;
        Ok(Prepared::ToCommit { tx, line, sealed, outcome: plan.outcome })
    }

    /// Under the head's lock, so that whoever held it before has come to its end.
    async fn look_again(&self, project: ProjectId, sealed: &Sealed) -> Result<Standing, AppendError> {
        tracing::warn!(%project, size = sealed.head.size(), "commit in doubt, looking again");
        let began = Instant::now();
        while let Some(left) = LOCK_WITHIN.checked_sub(began.elapsed()) {
            match tokio::time::timeout(left, self.look(project, sealed)).await {
                Ok(Ok(standing)) => return Ok(standing),
                Ok(Err(Stumble::Final(AppendError::ReadOnly(stop)))) => return Err(stop.into()),
                Ok(Err(_)) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(_) => {}
            }
        }
        Err(AppendError::Unknown)
    }

    async fn look(&self, project: ProjectId, sealed: &Sealed) -> Result<Standing, Stumble> {
        let mut client = self.database.app().await?;
        let line = self.line()?;
        let known = self.seen.known(project);
        let locked = store::lock(&mut client, project).await?;
        let (tx, head) = locked.ok_or(AppendError::NoSuchProject)?;
        self.prove(&tx, &head, known, &line).await?;
        let last = sealed.placed.last().ok_or(Stumble::Final(AppendError::Unknown))?;
        let stands = store::hash_at(&tx, last.entry.seq).await? == Some(last.hash);
        if stands {
            self.seen.remember(&sealed.head, &line);
        }
        Ok(if stands { Standing::Committed } else { Standing::Gone })
    }

    /// The restore guard: see [`super::seen`].
    pub(super) async fn prove(
        &self,
        tx: &ProjectTx<'_>,
        head: &Head,
        known: Option<Known>,
        line: &Line,
    ) -> Result<(), Stumble> {
        if let Proof::RootAt(size, root) = self.seen.compare(head, known, line).map_err(AppendError::from)? {
            let found = store::checkpoint_root(tx, size).await?;
            self.seen.prove(head, size, root, found).map_err(AppendError::from)?;
            self.seen.remember(head, line);
        }
        Ok(())
    }

    /// Our own keys count only once the project's log introduced them, and no longer than until it ended them.
    pub(super) fn keys_in_force(
        &self,
        head: &Head,
        keys: &HashMap<Thumbprint, KeyState>,
    ) -> Result<(), AppendError> {
        let counts =
            |kid, purpose| keys.get(kid).is_some_and(|key: &KeyState| key.purpose == purpose && !key.ended);
        let born = head.size() > 0;
        let both =
            counts(self.keys.ledger.kid(), Purpose::Ledger) && counts(self.keys.log.kid(), Purpose::Log);
        if born && !both {
            let why = "the service's ledger and log keys are not in force in this project";
            return Err(AppendError::Unavailable(why.to_owned()));
        }
        Ok(())
    }

    pub(super) fn line(&self) -> Result<Line, Stumble> {
        let away = || AppendError::Unavailable("no database session yet".to_owned());
        self.database.sessions().line().ok_or_else(|| away().into())
    }
}

#[expect(clippy::large_enum_variant, reason = "lives for one match, on the stack of the append")]
enum Prepared<'c, O> {
    ToCommit { tx: ProjectTx<'c>, line: Line, sealed: Sealed, outcome: O },
    Nothing(O),
}

enum Standing {
    Committed,
    Gone,
}

/// Why one try ended before its commit.
pub(super) enum Stumble {
    TryAgain(String),
    Final(AppendError),
}

impl From<AppendError> for Stumble {
    fn from(error: AppendError) -> Self {
        Self::Final(error)
    }
}

impl From<DatabaseError> for Stumble {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::TryAgain(why) => Self::TryAgain(why),
            other => Self::Final(AppendError::Unavailable(other.to_string())),
        }
    }
}

impl From<Stumble> for AppendError {
    fn from(stumble: Stumble) -> Self {
        match stumble {
            Stumble::TryAgain(why) => Self::Unavailable(why),
            Stumble::Final(error) => error,
        }
    }
}

/// Without agreeing clocks nothing is numbered: an entry's time is what epochs and deadlines rest on.
fn agree(now: Timestamp, facts: &Facts, head: &Head) -> Result<(), AppendError> {
    let apart = (now.millis() - facts.clock.millis()).abs();
    if apart > CLOCKS_APART_MILLIS {
        return Err(AppendError::Unavailable(format!("service and database clocks are {apart} ms apart")));
    }
    if head.last_at.millis() > now.millis() + CLOCKS_APART_MILLIS {
        return Err(AppendError::Unavailable(format!("the head ran ahead to {}", head.last_at)));
    }
    Ok(())
}
