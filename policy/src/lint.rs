//! What is wrong with a registry or a rules file, and where.
//!
//! One error for one defect; a file with three defects gets three. `place` is a path of the file's own words, such as
//! `registry: provider.notes.tool.note_read.verb` or `rules: notes-read`.

use crate::rules::RuleFault;
use std::fmt;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LintError {
    place: String,
    fault: Fault,
}

/// The defect itself.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Not TOML, an unknown field, a word outside its vocabulary, a pointer that is none.
    #[error("{0}")]
    Text(String),
    #[error(transparent)]
    Rule(#[from] RuleFault),
}

impl LintError {
    pub(crate) fn text(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), fault: Fault::Text(what.into()) }
    }

    pub(crate) fn rule(id: &str, fault: RuleFault) -> Self {
        Self { place: format!("rules: {id}"), fault: Fault::Rule(fault) }
    }

    pub fn place(&self) -> &str {
        &self.place
    }

    pub fn fault(&self) -> &Fault {
        &self.fault
    }
}

impl fmt::Display for LintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.place, self.fault)
    }
}

impl std::error::Error for LintError {}
