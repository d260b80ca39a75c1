//! How deep a rule may go.
//!
//! Cedar's parser and type checker recurse, 40 KB of stack a level in a build without optimisation: a hundred brackets
//! end a process, and its evaluator gives up by what is left of the stack, which two machines do not agree on. So the
//! depth is bounded before anything is parsed, and whatever recurses gets room for that depth.

/// Operators and brackets of one rule; its syntax tree cannot be deeper. Some fifty conditions.
pub(crate) const MAX_OPERATORS: usize = 250;

/// 250 levels of 40 KB are 10 MB.
const ROOM: usize = 32 * 1024 * 1024;
/// Judging the deepest rule takes less than half a megabyte, so that a worker thread rarely has to grow for it.
const ROOM_TO_JUDGE: usize = 1024 * 1024;

/// Words that make a tree deeper, as operators do.
const WORDS: &[&str] = &["if", "in", "is", "has", "like"];

/// Runs what parses or checks rules.
pub(crate) fn with_room<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM, ROOM, run)
}

/// Runs an evaluation; the same room wherever it is asked.
pub(crate) fn with_room_to_judge<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM_TO_JUDGE, 2 * ROOM_TO_JUDGE, run)
}

/// The number of the first rule with too many operators, counted from one.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut rule = 1;
    let mut operators = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string(rest),
            '/' if rest.starts_with("//") => comment(rest),
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let word = word(rest);
                operators += usize::from(WORDS.contains(&word));
                word.len()
            }
            ';' => {
                rule += 1;
                operators = 0;
                1
            }
            c => {
                operators += usize::from("()[]{}<>=!&|+-*/%.".contains(c));
                c.len_utf8()
            }
        };
        if operators > MAX_OPERATORS {
            return Some(rule);
        }
        rest = &rest[length..];
    }
    None
}

/// The length of a string literal with its quotes.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a comment; it ends where Cedar ends it, at either kind of line end.
fn comment(text: &str) -> usize {
    text.find(['\n', '\r']).unwrap_or(text.len())
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    &text[..end.unwrap_or(text.len())]
}
