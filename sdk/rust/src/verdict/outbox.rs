//! Statements that wait to be sent: commit first, send later.
//!
//!     <folder>/<decision id>-<outcome>.json
//!
//! Promised: a statement leaves the folder only after the gateway took it. Not promised: an order.

use super::client::Verdicts;
use crate::execution::SignedSixFields;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What one flush came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Report {
    pub sent: usize,
    pub waiting: usize,
}

pub struct Outbox(PathBuf);

impl Outbox {
    /// Makes the folder where it is not there.
    pub fn open(folder: impl AsRef<Path>) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self(folder.as_ref().to_owned()))
    }

    pub fn put(&self, statement: &SignedSixFields) -> io::Result<()> {
        let name = format!("{}-{}.json", statement.fields.decision_id, statement.fields.outcome);
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, serde_json::to_vec(statement)?)?;
        fs::rename(new, self.0.join(name))
    }

    /// An error is one of the folder; what nobody took waits.
    pub async fn flush(&self, verdicts: &Verdicts) -> io::Result<Report> {
        let mut report = Report { sent: 0, waiting: 0 };
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            let statement = serde_json::from_slice(&fs::read(&path)?)?;
            if verdicts.send_text(&statement).await.is_err() {
                report.waiting += 1;
            } else {
                fs::remove_file(&path)?;
                report.sent += 1;
            }
        }
        Ok(report)
    }
}
