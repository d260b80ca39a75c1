//! A verb from a tool's name. A guess, and on the careful side: a name with a changing word in it is no read.

use counterfoil_core::statement::Verb;

const READING: &[(&str, Verb)] = &[
    ("read", Verb::Read),
    ("get", Verb::Read),
    ("show", Verb::Read),
    ("view", Verb::Read),
    ("describe", Verb::Read),
    ("count", Verb::Read),
    ("list", Verb::List),
    ("ls", Verb::List),
    ("search", Verb::Search),
    ("find", Verb::Search),
    ("lookup", Verb::Search),
    ("grep", Verb::Search),
];

/// Words that say what a tool changes, wherever they stand in its name.
const CHANGING: &[(&str, Verb)] = &[
    ("create", Verb::Create),
    ("add", Verb::Create),
    ("insert", Verb::Create),
    ("update", Verb::Update),
    ("upsert", Verb::Update),
    ("edit", Verb::Update),
    ("write", Verb::Update),
    ("set", Verb::Update),
    ("modify", Verb::Update),
    ("append", Verb::Update),
    ("replace", Verb::Update),
    ("delete", Verb::Delete),
    ("remove", Verb::Delete),
    ("drop", Verb::Delete),
    ("clear", Verb::Delete),
    ("purge", Verb::Delete),
    ("move", Verb::Move),
    ("rename", Verb::Move),
    ("send", Verb::Send),
    ("publish", Verb::Publish),
    ("pay", Verb::Pay),
    ("execute", Verb::Execute),
    ("exec", Verb::Execute),
    ("eval", Verb::Execute),
    ("approve", Verb::Authorize),
];

/// Words that are verbs only where a verb stands: `list_posts` sends nothing.
const LEADING: &[(&str, Verb)] = &[
    ("new", Verb::Create),
    ("make", Verb::Create),
    ("put", Verb::Update),
    ("patch", Verb::Update),
    ("post", Verb::Send),
    ("reply", Verb::Send),
    ("notify", Verb::Send),
    ("email", Verb::Send),
    ("deploy", Verb::Publish),
    ("release", Verb::Publish),
    ("push", Verb::Publish),
    ("charge", Verb::Pay),
    ("refund", Verb::Pay),
    ("grant", Verb::Authorize),
    ("authorize", Verb::Authorize),
    ("quote", Verb::Quote),
];

/// What cannot be told is `execute`, which no drafted rule allows.
pub fn verb_of(tool: &str, shared_prefix: Option<&str>) -> Verb {
    let words = split(tool);
    let words: &[String] = match words.split_first() {
        Some((first, rest)) if Some(first.as_str()) == shared_prefix && !rest.is_empty() => rest,
        Some(_) | None => &words,
    };
    if let Some(verb) = words.iter().find_map(|word| look_up(CHANGING, word)) {
        return verb;
    }
    // `get_and_lock` does two things, and the second decides.
    let second = words.windows(2).find(|pair| matches!(pair[0].as_str(), "and" | "or" | "then"));
    if let Some([_, word]) = second
        && look_up(READING, word).is_none()
    {
        return look_up(LEADING, word).unwrap_or(Verb::Execute);
    }
    let first = words.first().map_or("", String::as_str);
    look_up(READING, first).or_else(|| look_up(LEADING, first)).unwrap_or(Verb::Execute)
}

/// What these name is read by whoever holds the keys, not by an agent that nobody has looked at.
const SECRET: &[&str] = &[
    "env",
    "environment",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "password",
    "passwords",
    "token",
    "tokens",
    "key",
    "keys",
    "cookie",
    "cookies",
];

/// The word in a tool's name that says that it may show a secret. A read of one is drafted as held.
pub fn secret(tool: &str) -> Option<String> {
    split(tool).into_iter().find(|word| SECRET.contains(&word.as_str()))
}

/// The verbs of a read.
pub fn reads(verb: Verb) -> bool {
    matches!(verb, Verb::Read | Verb::List | Verb::Search)
}

/// The first word of all names, where there are several and they share one that is no verb: `git_log`, `git_show`.
pub fn shared_prefix(tools: &[&str]) -> Option<String> {
    let mut firsts = tools.iter().map(|tool| split(tool).into_iter().next().unwrap_or_default());
    let first = firsts.next()?;
    let is_verb = [READING, CHANGING, LEADING].iter().any(|table| look_up(table, &first).is_some());
    (tools.len() > 1 && !is_verb && firsts.all(|other| other == first)).then_some(first)
}

/// `read_file`, `read-file`, `readFile` and `read.file` are two words each.
pub fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_is_lower) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            let word = words.last_mut().expect("there is a word before and after every break");
            word.extend(c.to_lowercase());
        }
        before_is_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

fn look_up(table: &[(&str, Verb)], word: &str) -> Option<Verb> {
    table.iter().find(|(known, _)| *known == word).map(|(_, verb)| *verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_verb_is() {
        for (name, verb) in [
            ("read_file", Verb::Read),
            ("listDirectory", Verb::List),
            ("search-nodes", Verb::Search),
            ("create_entities", Verb::Create),
            ("move_file", Verb::Move),
            ("send_message", Verb::Send),
            ("list_posts", Verb::List),
            ("post_message", Verb::Send),
        ] {
            assert_eq!(verb_of(name, None), verb, "{name}");
        }
    }

    /// G2: what cannot be told is held, so it must not look like a read.
    #[test]
    fn a_name_with_a_changing_word_is_no_read() {
        for name in [
            "get_or_create_user",
            "read_write",
            "list_and_lock",
            "getThenDrop",
            "search_and_replace",
            "status",
        ] {
            assert!(!reads(verb_of(name, None)), "{name}");
        }
        for name in ["", "___", "query", "fetch", "open_nodes", "читать"] {
            assert_eq!(verb_of(name, None), Verb::Execute, "{name}");
        }
    }

    /// G2: a read that shows the server's environment is not a first day's allow.
    #[test]
    fn a_name_that_may_show_a_secret_is_known_by_its_word() {
        for name in ["get-env", "list_api_keys", "readCredentials", "show_token"] {
            assert!(secret(name).is_some(), "{name}");
        }
        for name in ["read_graph", "get_weather", "list_monkeys"] {
            assert_eq!(secret(name), None, "{name}");
        }
    }

    #[test]
    fn a_prefix_that_all_tools_share_is_passed_over() {
        let names = ["git_show", "git_add", "git_log"];
        let prefix = shared_prefix(&names);

        assert_eq!(prefix.as_deref(), Some("git"));
        assert_eq!(verb_of("git_show", prefix.as_deref()), Verb::Read);
        assert_eq!(verb_of("git_add", prefix.as_deref()), Verb::Create);
        assert_eq!(shared_prefix(&["read_a", "read_b"]), None);
        assert_eq!(shared_prefix(&["git_show"]), None);
    }
}
