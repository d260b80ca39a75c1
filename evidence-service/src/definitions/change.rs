//! Two definitions, line by line.

use counterfoil_core::digest::Digest;
use counterfoil_core::time::Timestamp;
use similar::{Algorithm, ChangeTag, TextDiff};

/// Lines of one change that a page shows.
const MOST_LINES: usize = 60;

/// A tool that is not listed as it was pinned.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) provider: String,
    pub(crate) tool: String,
    pub(crate) pinned: Digest,
    pub(crate) listed: Digest,
    /// When a gateway last met the changed definition.
    pub(crate) at: Timestamp,
    /// What differs; empty if no gateway told us the pinned text.
    pub(crate) lines: Vec<Line>,
    /// Lines that differ and are not among `lines`.
    pub(crate) more: usize,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Line {
    pub(crate) sign: Sign,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sign {
    /// Pinned, and listed no more.
    Gone,
    /// Listed, and never pinned.
    New,
}

/// The lines that differ, and how many more there are.
pub(super) fn between(pinned: &str, listed: &str) -> (Vec<Line>, usize) {
    // As slices: a last line without its end is no other line.
    let (pinned, listed): (Vec<&str>, Vec<&str>) = (pinned.lines().collect(), listed.lines().collect());
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_slices(&pinned, &listed);
    let line = |change: similar::Change<&str>| {
        let sign = match change.tag() {
            ChangeTag::Equal => return None,
            ChangeTag::Delete => Sign::Gone,
            ChangeTag::Insert => Sign::New,
        };
        Some(Line { sign, text: change.value().to_owned() })
    };
    let mut lines: Vec<Line> = diff.iter_all_changes().filter_map(line).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    lines.truncate(MOST_LINES);
    (lines, more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_and_no_more_than_a_page_holds() {
        let (lines, more) = between("a = 1\nb = 2\nc = 3", "a = 1\nb = 4\nc = 3\nd = 5");
        let shown: Vec<_> = lines.iter().map(|line| (line.sign, line.text.as_str())).collect();
        assert_eq!(
            (shown.as_slice(), more),
            ([(Sign::Gone, "b = 2"), (Sign::New, "b = 4"), (Sign::New, "d = 5")].as_slice(), 0)
        );

        let long: String = (0..500).map(|n| format!("line {n}\n")).collect();
        let (lines, more) = between("", &long);
        assert_eq!((lines.len(), more), (MOST_LINES, 500 - MOST_LINES));
    }
}
