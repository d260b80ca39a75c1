//! The mark of a draft: a comment line at the head of each drafted section, which publication by a person removes.
//!
//!     # DRAFT memory: …      in a registry
//!     // DRAFT memory: …     in rules

const MARKS: [&str; 2] = ["# DRAFT ", "// DRAFT "];

/// Whether some section of it has not been published by a person yet.
#[must_use]
pub fn is_marked(text: &str) -> bool {
    text.lines().any(is_mark)
}

/// The text as a person publishes it.
#[must_use]
pub fn without_marks(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !is_mark(line)).collect()
}

fn is_mark(line: &str) -> bool {
    MARKS.iter().any(|mark| line.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_goes_and_everything_else_stays() {
        let text = "v = 1\n# DRAFT a: x\n[provider.a]\n# not a DRAFT mark\n// DRAFT b: y";

        assert!(is_marked(text));
        assert_eq!(without_marks(text), "v = 1\n[provider.a]\n# not a DRAFT mark\n");
        assert!(!is_marked(&without_marks(text)));
    }
}
