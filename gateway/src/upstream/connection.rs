//! The way to one provider for one agent key: a child process, or an address.
//!
//! Promised: an answer is handed on as the bytes that came. A call that was given up before it was sent is never sent,
//! and none is sent twice. Requests of the provider are refused; we declare no capability that would allow one.
//! Not promised: that a call given up after it was sent did not run.

use super::catalogue::{self, Catalogue};
use super::child::Child;
use super::remote::Remote;
use super::{Away, Start};
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long a definition may have changed before a call under it is held.
const LIST_AGE: Duration = Duration::from_secs(60);

/// How a call ended.
#[derive(Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The `result` object as it came.
    Returned(String),
    /// The `error` object as it came.
    Failed(String),
    TimedOut,
    Cancelled,
    /// The provider ended, or broke the protocol, while it had the call.
    Gone,
    Oversized,
    /// Given up before it was written: the provider never saw it.
    Unsent,
}

pub struct Connection {
    provider: String,
    link: Link,
    stale: Arc<AtomicBool>,
    reading: tokio::sync::Mutex<Option<Instant>>,
    latest: ArcSwapOption<Catalogue>,
    instructions: Option<String>,
}

enum Link {
    Child(Child),
    Remote(Remote),
}

impl Connection {
    /// Starts the child, or finds out what the other side speaks, and exchanges introductions.
    pub async fn open(start: &Start) -> Result<Arc<Self>, Away> {
        let stale = Arc::new(AtomicBool::new(true));
        let (link, instructions) = match &start.site {
            Some(site) => {
                let (remote, instructions) = Remote::open(site, &start.provider, stale.clone()).await?;
                (Link::Remote(remote), instructions)
            }
            None => {
                let (child, instructions) = Child::open(start, stale.clone()).await?;
                (Link::Child(child), instructions)
            }
        };
        Ok(Arc::new(Self {
            provider: start.provider.clone(),
            link,
            stale,
            reading: tokio::sync::Mutex::new(None),
            latest: ArcSwapOption::empty(),
            instructions,
        }))
    }

    pub fn is_gone(&self) -> bool {
        match &self.link {
            Link::Child(child) => child.is_gone(),
            Link::Remote(remote) => remote.is_gone(),
        }
    }

    /// What the provider says about itself, as a JSON string.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The tools it lists now: read again after it said that they changed, and every minute, since some do not say.
    pub async fn catalogue(&self) -> Result<Arc<Catalogue>, Away> {
        let mut read_at = self.reading.lock().await;
        // Cleared before reading: a change announced meanwhile makes the next caller read again.
        if !self.stale.swap(false, Ordering::AcqRel)
            && read_at.is_some_and(|at| at.elapsed() < LIST_AGE)
            && let Some(latest) = self.latest.load_full()
        {
            return Ok(latest);
        }
        // What was read before counts no more, whatever becomes of this reading: callers hang up.
        *read_at = None;
        match catalogue::read(self).await {
            Ok(catalogue) => {
                let catalogue = Arc::new(match &self.link {
                    Link::Child(_) => catalogue,
                    Link::Remote(remote) => remote.usable(catalogue),
                });
                *read_at = Some(Instant::now());
                self.latest.store(Some(catalogue.clone()));
                Ok(catalogue)
            }
            Err(away) => Err(away),
        }
    }

    /// Sends one request and waits for its answer, at most `within`, or until `cancel`.
    pub async fn ask(
        &self,
        method: &str,
        params: &str,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Outcome {
        self.ask_by((method, params), Instant::now() + within, within, cancel).await
    }

    /// As [`Self::ask`]; what still waits for its turn at `send_by`, since the provider does not read, is never sent.
    pub async fn ask_by(
        &self,
        (method, params): (&str, &str),
        send_by: Instant,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Outcome {
        match &self.link {
            Link::Child(child) => child.ask((method, params), send_by, within, cancel).await,
            Link::Remote(_) if Instant::now() >= send_by => Outcome::Unsent,
            Link::Remote(remote) => {
                let latest = self.latest.load_full();
                remote.ask((method, params), latest.as_deref(), within, cancel).await
            }
        }
    }

    /// Ends it, and waits until it has.
    pub async fn stop(&self) {
        match &self.link {
            Link::Child(child) => child.stop().await,
            Link::Remote(remote) => remote.stop().await,
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connection({})", self.provider)
    }
}
