//! Executions that were sent and not accepted yet.

use super::files::{Folder, PENDING};
use crate::execution::Envelope;
use counterfoil_core::digest::Digest;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::io;

/// An execution without an acceptance after this long is overdue, in milliseconds.
const ACCEPTED_WITHIN: i64 = 10 * 60_000;

#[derive(Deserialize, Serialize)]
struct Pending {
    /// Milliseconds since 1970.
    at: i64,
    statement: Box<RawValue>,
}

fn name(digest: &Digest) -> String {
    format!("{PENDING}/{}.json", digest.hex())
}

pub(super) fn expect(folder: &Folder, statement: &Envelope, now: Timestamp) -> io::Result<()> {
    let text = String::from_utf8_lossy(statement.bytes()).into_owned();
    let pending = Pending { at: now.millis(), statement: RawValue::from_string(text)? };
    folder.write(&name(&statement.digest()), &serde_json::to_vec(&pending)?)
}

/// Ends the waiting for what the ledger wrapped.
pub(super) fn settle(folder: &Folder, statement: &Statement) -> io::Result<()> {
    let Statement::Received(received) = statement else { return Ok(()) };
    match Envelope::parse(&received.bytes.0) {
        Ok(envelope) => folder.remove(&name(&envelope.digest())),
        // The six-field form has no envelope, and nobody waits for one here.
        Err(_) => Ok(()),
    }
}

pub(super) fn overdue(folder: &Folder, now: Timestamp) -> io::Result<Vec<Envelope>> {
    let mut overdue = Vec::new();
    for text in folder.pending()? {
        let pending: Pending = serde_json::from_slice(&text)?;
        if now.millis() - pending.at > ACCEPTED_WITHIN {
            overdue.push(Envelope::parse(pending.statement.get().as_bytes()).map_err(io::Error::other)?);
        }
    }
    Ok(overdue)
}
