//! Evidence packages: the entries from one checkpoint to another, their statements, and what proves them.
//!
//! Promised: [`verify`] recomputes everything from the package's own bytes and the holder's pinned keys, with no
//! network and in memory that grows with what is open or was found, not with the number of entries: chain, tree,
//! signatures and key states, days, what decides, times, and every finding that must be there. It says what it could
//! not check. Not promised: that the end is the end. No package of this version carries witnesses, so the best answer is
//! UNANCHORED: only the log operator vouches that nothing follows. Verified never means allowed.
//!
//! Files and steps: docs/formats/package.md. Reading a zip is the caller's: [`Source`] hands out readers by name.

mod base;
mod book;
mod chain;
mod files;
mod items;
mod report;
mod trust;
pub mod zip;

pub use files::{FileDigest, MAX_LINE, Manifest, ManifestType, Source, name};
pub use items::{
    Line, ProviderKeyFile, ProviderKeyLine, TombstoneClaim, Withheld, consistency_text, write_leaf,
};
pub use report::{NotChecked, Pin, ProviderPin, Report, Verdict};
pub use trust::{Promise, Trust};

use base::Base;
use book::Book;
use chain::Chain;
use files::{Files, Stop};
use items::{leaves, lines};
use std::io;

/// How many late or foreign decisions are looked at a second time.
const MAX_SUSPECTS: usize = 100_000;

/// Verifies a package. An error is one of reading it; everything else is a verdict.
pub fn verify(source: &dyn Source, trust: &Trust<'_>) -> io::Result<Report> {
    let mut report = Report::of_nothing();
    match examine(source, trust, &mut report) {
        Ok(verdict) => report.verdict = verdict,
        Err(Stop::Verdict(verdict)) => report.verdict = *verdict,
        Err(Stop::Io(error)) => return Err(error),
    }
    Ok(report)
}

fn examine(source: &dyn Source, trust: &Trust<'_>, report: &mut Report) -> Result<Verdict, Stop> {
    let base = Base::read(source, trust)?;
    let mut book = pass(source, trust, &base, Book::first(base.first()), report)?;
    // What came after its matter was settled needs the matter again: a second pass keeps it open.
    let suspects = book.suspects();
    if suspects.len() > MAX_SUSPECTS {
        report.not_checked.push(NotChecked::TooManyLate(suspects.len()));
        return Ok(Verdict::Incomplete("more late statements than can be reconciled".to_owned()));
    }
    if !suspects.is_empty() {
        book = pass(source, trust, &base, Book::again(base.first(), suspects), report)?;
    }
    let omitted = book.omitted();
    Ok(match (omitted, report.incomplete.first()) {
        (Some(found), _) => Verdict::Omitted(Box::new(found)),
        (None, Some(why)) => Verdict::Incomplete(why.clone()),
        (None, None) => Verdict::Unanchored,
    })
}

/// Reads all entries once.
fn pass(
    source: &dyn Source,
    trust: &Trust<'_>,
    base: &Base,
    book: Book,
    report: &mut Report,
) -> Result<Book, Stop> {
    *report = base.report();
    let mut files = Files::new(source);
    let mut chain = Chain::new(base, trust, book);
    {
        let mut leaves = leaves(files.stream(name::ENTRIES)?);
        let mut lines = lines(files.stream(name::STATEMENTS)?);
        while let Some(leaf) = leaves.next_leaf()? {
            let line = lines.next_line()?;
            chain.step(&leaf, line, report)?;
        }
        if lines.next_line()?.is_some() {
            return Err(chain.surplus_line().into());
        }
        leaves.finish()?;
        files.note(name::ENTRIES, leaves.into_digest());
        files.note(name::STATEMENTS, lines.into_digest());
    }
    chain.finish(&files, report)
}

#[cfg(test)]
mod tests;
