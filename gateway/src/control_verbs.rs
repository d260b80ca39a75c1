//! Names by which an agent would change what decides about it (G6).
//!
//! Promised: a call or method of such a name is refused, never held: no person is asked whether the agent may answer for
//! them. Nothing here could do it anyway: who decides is known by an operator's token, on another listener. What is refused
//! is the asking, so that the record shows that it was asked.
//! Not promised: that every such name is known. The listener is the lock; this is the bell.
//!
//!     approve   APPROVE   holds/approve   counterfoil.kill   grant%2Dgive   ｋｉｌｌ   breakGlass

/// What the asking is about: one of these makes a name a control verb.
const DOES: &str = "answer approve breakglass deny disapprove grant kill policy publish registry reject release \
    resume revoke rules shadow unkill";
/// What may stand around it. A name with any other word in it is a tool's own business: `approve_expense`, `key_lookup`.
const AROUND: &str = "a add admin agent all allow api call close connection console control counterfoil create delete \
    dev environment for gateway get give hold holds id internal it key keys list local make me mint \
    my new now once open operator operators own project remove renew rotate self set shorten stop \
    the this token update v1 window";
/// Nouns that are a control verb alone or with words around them, and are too common to be one beside others.
const ALONE: &str = "hold holds key keys operator operators";
/// Written in one word, with a separator or with a capital, and in the plural.
const SAME: &[(&str, &str)] = &[
    ("approval", "approve"),
    ("approvals", "approve"),
    ("approved", "approve"),
    ("answers", "answer"),
    ("denied", "deny"),
    ("grants", "grant"),
    ("policies", "policy"),
    ("registries", "registry"),
    ("rule", "rules"),
];

/// As often as a name is decoded that somebody wrapped.
const WRAPPINGS: usize = 4;
/// Longer than any name of a tool that is let through elsewhere.
const LONGEST: usize = 512;

/// Whether a name of a tool or method asks for something that is an operator's.
pub fn is_control_verb(name: &str) -> bool {
    if name.len() > LONGEST {
        return false;
    }
    let plain = plain(name);
    let lower = plain.to_lowercase();
    asks(&words(&lower)) || asks(&words(&split_at_capitals(&plain).to_lowercase()))
}

/// Without percent signs, entities of width, and characters that nobody sees.
fn plain(name: &str) -> String {
    let mut text = name.to_owned();
    for _ in 0..WRAPPINGS {
        let decoded = unescaped(&text);
        if decoded == text {
            break;
        }
        text = decoded;
    }
    text.chars().filter_map(narrow).collect()
}

/// Fullwidth letters as plain ones; what has no width as nothing.
fn narrow(c: char) -> Option<char> {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0),
        '\u{00AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' => None,
        other => Some(other),
    }
}

/// `%41` and `\u0041`, where they stand for a character.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (byte, length) = escape(rest);
        match byte {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = rest.get(length.max(if byte.is_some() { 0 } else { next.len_utf8() })..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte that an escape at the beginning stands for, and how long the escape is.
fn escape(text: &str) -> (Option<u8>, usize) {
    let hex = |digits: Option<&str>| digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let percent = text.strip_prefix('%').and_then(|_| hex(text.get(1..3)));
    if percent.is_some() {
        return (percent, 3);
    }
    let unicode = text.strip_prefix("\\u00").and_then(|_| hex(text.get(4..6)));
    (unicode, if unicode.is_some() { 6 } else { 0 })
}

fn split_at_capitals(text: &str) -> String {
    let mut split = String::with_capacity(text.len() + 8);
    let mut before_was_small = false;
    for c in text.chars() {
        if c.is_uppercase() && before_was_small {
            split.push(' ');
        }
        before_was_small = c.is_lowercase();
        split.push(c);
    }
    split
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(same).collect()
}

fn same(word: &str) -> &str {
    SAME.iter().find(|(written, _)| *written == word).map_or(word, |&(_, meant)| meant)
}

fn asks(words: &[&str]) -> bool {
    let joined = words.concat();
    if is_in(DOES, &joined) {
        return true;
    }
    let does = |word: &&str| is_in(DOES, word) || is_in(ALONE, word);
    words.iter().all(|word| does(word) || is_in(AROUND, word)) && words.iter().any(does)
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G6: in any case and encoding.
    #[test]
    fn what_only_an_operator_does_is_known_by_its_name() {
        for name in [
            "approve",
            "APPROVE",
            "aPpRoVe",
            "deny",
            "kill",
            "Kill",
            "resume",
            "grant",
            "policy",
            "key",
            "keys",
            "rules",
            "registry",
            "shadow",
            "breakglass",
            "break_glass",
            "breakGlass",
            "break-glass",
            "BREAK GLASS",
            "holds/approve",
            "hold.approve",
            "counterfoil.kill",
            "counterfoil/kill",
            "dev.counterfoil/approve",
            "holds/answer",
            "approve_once",
            "approveFor",
            "approve_hold",
            "grant-give",
            "grants/renew",
            "grant%2Dgive",
            "%61pprove",
            "%2561pprove",
            "\\u0061pprove",
            "ｋｉｌｌ",
            "k\u{200B}ill",
            "ki\u{00AD}ll",
            "a.p.p.r.o.v.e",
            "k-i-l-l",
            "kill_all",
            "resumeProject",
            "publish_rules",
            "policy/publish",
            "keys/new",
            "operators/new",
            "operators",
            "console/v1/holds",
            "revoke_key",
            "release_hold",
            "unkill",
            "  kill  ",
            "/v1/kill",
        ] {
            assert!(is_control_verb(name), "{name}");
        }
    }

    #[test]
    fn a_tool_of_somebody_elses_is_not_one() {
        for name in [
            "",
            "tools/call",
            "tools/list",
            "initialize",
            "ping",
            "server/discover",
            "notifications/cancelled",
            "echo",
            "approve_expense",
            "kill_process",
            "key_lookup",
            "get_key_value",
            "policy_search",
            "grant_application_read",
            "resume_upload",
            "deny_list_read",
            "read_text_file",
            "list",
            "list_all",
            "create",
            "note_update",
            "skill",
            "monkey",
            "keyboard",
            "api",
            "%",
            "%zz",
            "\\u00",
            "delete_project",
            "new",
            "𝒶",
            "rules_engine_run",
        ] {
            assert!(!is_control_verb(name), "{name}");
        }
    }

    #[test]
    fn a_name_without_end_is_looked_at_no_further() {
        assert!(!is_control_verb(&"%25".repeat(100_000)));
        assert!(!is_control_verb(&"kill ".repeat(100_000)));
    }
}
