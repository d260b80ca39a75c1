//! `/healthz`: this process runs. `/readyz`: it could record now.
//!
//! Ready means: the database is reachable and takes writes, its clock agrees with ours, every project's head reads
//! and continues what this process saw, and the newest ledger and log keys are in force and sign.

mod store;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::clock;
use crate::ledger::{AppendError, Ledger};

#[cfg(test)]
pub(crate) use store::ALL;

pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// 200 or 503, and which check said no.
pub(crate) async fn readyz(State(ledger): State<Arc<Ledger>>) -> Response {
    let readiness = Readiness::of(&ledger).await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

#[derive(Debug, Serialize)]
pub(crate) struct Readiness {
    pub(crate) ready: bool,
    database: &'static str,
    clocks: &'static str,
    heads: &'static str,
    keys: &'static str,
    projects: usize,
    read_only: usize,
}

const CLOCKS_APART_MILLIS: i64 = 2_000;

impl Readiness {
    pub(crate) async fn of(ledger: &Ledger) -> Self {
        let mut found = Self {
            ready: false,
            database: "away",
            clocks: "unknown",
            heads: "unknown",
            keys: "unknown",
            projects: 0,
            read_only: 0,
        };
        if let Err(error) = found.look(ledger).await {
            tracing::warn!(%error, "not ready");
        }
        let checks = [found.database, found.clocks, found.heads, found.keys];
        // One project that takes no entries is loud in the log and on its page; it does not take the others down.
        let all_stopped = found.projects > 0 && found.read_only == found.projects;
        found.ready = checks.iter().all(|check| *check == "ok") && !all_stopped;
        found
    }

    async fn look(&mut self, ledger: &Ledger) -> Result<(), AppendError> {
        let client = ledger.database().app().await?;
        let (writable, clock) = store::writable(&client.directory()).await?;
        self.database = if writable { "ok" } else { "read-only" };
        let apart = (clock::now().millis() - clock).abs();
        self.clocks = if apart <= CLOCKS_APART_MILLIS { "ok" } else { "apart" };
        drop(client);
        let projects = ledger.all_projects().await?;
        self.projects = projects.len();
        (self.heads, self.keys) = ("ok", "ok");
        for project in projects {
            match ledger.inspect(project).await {
                Ok(()) => {}
                Err(AppendError::ReadOnly(_)) => self.read_only += 1,
                Err(AppendError::Refused(_)) => self.keys = "not in force",
                Err(error) => {
                    self.heads = "unreadable";
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
