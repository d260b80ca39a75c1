//! The proof inside a receipt (C2SP tlog-proof).
//!
//!     c2sp.org/tlog-proof@v1
//!     index 41
//!     <base64 hash, leaf sibling first> …
//!
//!     <checkpoint note verbatim>

use crate::tree::Hash;
use std::fmt;

const HEADER: &str = "c2sp.org/tlog-proof@v1";

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogProof {
    pub index: u64,
    pub path: Vec<Hash>,
    /// The signed note, as it was written.
    pub checkpoint: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("proof does not read as a C2SP tlog-proof")]
pub struct LogProofError;

impl LogProof {
    pub fn parse(text: &str) -> Result<Self, LogProofError> {
        let (head, checkpoint) = text.split_once("\n\n").ok_or(LogProofError)?;
        let mut lines = head.split('\n');
        if lines.next() != Some(HEADER) {
            return Err(LogProofError);
        }
        let mut line = lines.next().ok_or(LogProofError)?;
        // An `extra` line is allowed by the format, unauthenticated, and of no use to us.
        if line.starts_with("extra ") {
            line = lines.next().ok_or(LogProofError)?;
        }
        let digits = line.strip_prefix("index ").ok_or(LogProofError)?;
        let index: u64 = digits.parse().map_err(|_| LogProofError)?;
        if index.to_string() != digits {
            return Err(LogProofError);
        }
        let path = lines.map(|line| Hash::parse(line).ok_or(LogProofError)).collect::<Result<_, _>>()?;
        Ok(Self { index, path, checkpoint: checkpoint.to_owned() })
    }
}

impl fmt::Display for LogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADER}\nindex {}\n", self.index)?;
        for hash in &self.path {
            writeln!(f, "{hash}")?;
        }
        write!(f, "\n{}", self.checkpoint)
    }
}
