//! Whole receipts, asked for on the host's behalf and kept in a folder of this machine.
//!
//! Promised: the host's own message goes out with one member more, and its answer comes back as if that had not been
//! asked for: a reference where the receipt was. What is kept is for its owner alone, and on the disk before the host
//! has the answer. A receipt that could not be kept is complained about; the answer goes out all the same, since the
//! call was made.
//! Not promised: that a receipt holds; `counterfoil verify` says that, and so the folder is one for its `--held`.
//!
//!     <folder>/prj_…/000000000041.json             {"typ":"receipt/v1",…}
//!     <folder>/prj_…/000000000041.openings.json    [["args","<salt>"],…]

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use counterfoil_core::id::ActionId;
use counterfoil_core::receipt::{Receipt, ReceiptRef};
use counterfoil_core::statement::Verdict;
use counterfoil_gateway::raw::Object;
use counterfoil_jwks::file::{self, FileError};
use serde::Deserialize;
use serde_json::value::RawValue;

const WANT: &str = "dev.counterfoil/want";
const RECEIPT: &str = "dev.counterfoil/receipt";

/// Above this the gateway takes no message, and the member more would be to blame.
const LONGEST: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("`{path}` has mode {mode:04o}: others may look into it, run chmod 700 on it")]
    TooOpen { path: PathBuf, mode: u32 },
    #[error("`{path}`: {cause}")]
    Folder { path: PathBuf, cause: io::Error },
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the gateway sent something else in a receipt's place")]
    NotAReceipt,
}

/// Where receipts are kept.
#[derive(Clone, Debug)]
pub struct Receipts {
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Full<'a> {
    #[serde(borrow)]
    receipt: &'a RawValue,
    #[serde(borrow)]
    openings: &'a RawValue,
}

#[derive(Deserialize)]
struct Statement {
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    action: ActionId,
    verdict: Verdict,
}

impl Receipts {
    /// Makes the folder if it is not there, for its owner alone.
    pub fn in_folder(folder: &Path) -> Result<Self, KeepError> {
        make(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Keeps the receipt in an answer, if there is a whole one, and gives the answer that the host asked for.
    pub fn keep(&self, answer: Vec<u8>, asked: Asked) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&answer) else { return answer };
        let Some(full) = Place::of(text).and_then(|place| place.full(text)) else { return answer };
        let reference = self.store(full).unwrap_or_else(|error| {
            eprintln!("counterfoil: a receipt was not kept: {error}");
            reference(full).map(|(reference, _)| reference)
        });
        match asked {
            Asked::Us => instead(text, reference.as_ref()).unwrap_or(answer),
            Asked::Nobody | Asked::Host => answer,
        }
    }

    fn store(&self, full: &str) -> Result<Option<ReceiptRef>, KeepError> {
        let (reference, receipt) = reference(full).ok_or(KeepError::NotAReceipt)?;
        let parts: Full<'_> = serde_json::from_str(full).map_err(|_| KeepError::NotAReceipt)?;
        let folder = self.folder.join(receipt.entry().project.to_string());
        make(&folder)?;
        let named = |end: &str| folder.join(format!("{:012}{end}", reference.seq));
        file::replace(&named(".openings.json"), parts.openings.get().as_bytes())?;
        file::replace(&named(".json"), parts.receipt.get().as_bytes())?;
        Ok(Some(reference))
    }
}

/// Who asked for the whole receipt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    Nobody,
    Host,
    Us,
}

/// A tool call with the wish for its receipt added, unless the host said something about that itself. What has no one
/// reading goes out as it came: refusing it is the gateway's part.
pub fn asking(line: &[u8]) -> Option<(Vec<u8>, Asked)> {
    let message = Object::read(std::str::from_utf8(line).ok()?).ok()?;
    let params = Object::read(message.value("params")?).ok()?;
    let meta = match params.value("_meta") {
        None => r#"{}"#,
        Some(meta) => meta,
    };
    let meta = Object::read(meta).ok()?;
    if meta.value(WANT).is_some() {
        return Some((line.to_owned(), Asked::Host));
    }
    let params = params.with("_meta", &meta.with(WANT, "\"full\""));
    let line = message.with("params", &params).into_bytes();
    (line.len() <= LONGEST).then_some((line, Asked::Us))
}

/// Where an answer has its receipt.
#[derive(Clone, Copy)]
enum Place {
    Result,
    Error,
}

impl Place {
    fn of(answer: &str) -> Option<Self> {
        let answer = Object::read_loosely(answer).ok()?;
        match (answer.value("result"), answer.value("error")) {
            (Some(_), _) => Some(Self::Result),
            (None, Some(_)) => Some(Self::Error),
            (None, None) => None,
        }
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Result => ("result", "_meta"),
            Self::Error => ("error", "data"),
        }
    }

    /// The whole receipt; None where there is a reference, or nothing.
    fn full(self, answer: &str) -> Option<&str> {
        let (outer, inner) = self.names();
        let outer = Object::read_loosely(answer).ok()?.value(outer)?;
        let inner = Object::read_loosely(outer).ok()?.value(inner)?;
        let receipt = Object::read_loosely(inner).ok()?.value(RECEIPT)?;
        let typ = Object::read_loosely(receipt).ok()?.value("typ")?;
        (typ == "\"receipt-full/v1\"").then_some(receipt)
    }
}

/// The answer with a reference in the receipt's place, or with nothing there where none can be told.
fn instead(answer: &str, reference: Option<&ReceiptRef>) -> Option<Vec<u8>> {
    let (outer_name, inner_name) = Place::of(answer)?.names();
    let whole = Object::read_loosely(answer).ok()?;
    let outer = Object::read_loosely(whole.value(outer_name)?).ok()?;
    let inner = Object::read_loosely(outer.value(inner_name)?).ok()?;
    let inner = match reference {
        Some(reference) => inner.with(RECEIPT, &serde_json::to_string(reference).ok()?),
        None => inner.without(|name| name == RECEIPT),
    };
    Some(whole.with(outer_name, &outer.with(inner_name, &inner)).into_bytes())
}

fn reference(full: &str) -> Option<(ReceiptRef, Receipt)> {
    let parts: Full<'_> = serde_json::from_str(full).ok()?;
    let receipt: Receipt = serde_json::from_str(parts.receipt.get()).ok()?;
    let Statement { payload } = serde_json::from_str(receipt.statement()).ok()?;
    let entry = receipt.entry();
    Some((ReceiptRef::new(payload.action, payload.verdict, entry.seq, entry.body), receipt))
}

fn make(folder: &Path) -> Result<(), KeepError> {
    let failed = |cause| KeepError::Folder { path: folder.to_owned(), cause };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let mode = fs::metadata(folder).map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeepError::TooOpen { path: folder.to_owned(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
