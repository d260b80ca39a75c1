//! One package: what was asked for, and how far it is.
//!
//!     {"id":"pkg_…","audience":"own","state":"running","first":0,"size":4711,"done":1200,"of":4711,"failure":null}

use counterfoil_core::id::PackageId;
use counterfoil_core::time::Timestamp;
use serde::Serialize;

/// For whom it is made, and so what is in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Audience {
    /// Wrapped bodies of others are withheld.
    Public,
    /// Every body.
    Own,
    /// Every body, and what a replay needs: published texts and sealed openings.
    Rules,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Waiting,
    Running,
    Done,
    Failed,
}

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) id: PackageId,
    pub(super) audience: Audience,
    /// Number of the first entry.
    pub(super) first: u64,
    pub(super) state: State,
    pub(super) asked_at: Timestamp,
    /// Of the tree that it ends with, once it was begun.
    pub(super) size: Option<u64>,
    /// Entries written so far.
    pub(super) done: u64,
    pub(super) attempts: u32,
    pub(super) failure: Option<String>,
}

/// What is told of a job.
#[derive(Debug, Serialize)]
pub(super) struct Progress<'j> {
    id: PackageId,
    audience: Audience,
    state: State,
    first: u64,
    size: Option<u64>,
    done: u64,
    of: u64,
    failure: Option<&'j str>,
}

impl Audience {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Own => "own",
            Self::Rules => "rules",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        [Self::Public, Self::Own, Self::Rules].into_iter().find(|audience| audience.as_str() == text)
    }
}

impl State {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "waiting" => Some(Self::Waiting),
            "running" => Some(Self::Running),
            "done" => Some(Self::Done),
            "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

impl Job {
    pub(super) fn new(id: PackageId, audience: Audience, first: u64, asked_at: Timestamp) -> Self {
        let state = State::Waiting;
        Self { id, audience, first, state, asked_at, size: None, done: 0, attempts: 0, failure: None }
    }

    /// `head` is how many entries there are now: what it will be about, until it is begun.
    pub(super) fn progress(&self, head: u64) -> Progress<'_> {
        let of = self.size.unwrap_or(head).saturating_sub(self.first);
        let done = if self.state == State::Done { of } else { self.done.min(of) };
        let failure = self.failure.as_deref();
        let Self { id, audience, state, first, size, .. } = *self;
        Progress { id, audience, state, first, size, done, of, failure }
    }
}
