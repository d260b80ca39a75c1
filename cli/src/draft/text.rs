//! A draft as the sections of a registry and of rules, with what is only a hint as a comment.
//!
//! INVARIANT: nothing that a provider says reaches the text but through `quoted`, so that no name and no word of it can
//! close a string or start a line.

use std::fmt::Write;

use counterfoil_core::statement::Verb;
use counterfoil_core::time::Timestamp;

use super::{Draft, DraftedTool, Fate, Noun};

impl Draft {
    /// `[provider.<id>]` and its tools.
    #[must_use]
    pub fn registry_section(&self) -> String {
        let id = &self.provider;
        let mut text = format!(
            "# DRAFT {id}: written at {} from what the server says about itself; nobody has read it yet\n\
             [provider.{id}]\n",
            self.written_at
        );
        for name in &self.left_out {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# left out, and held as unknown: {}", quoted(name));
        }
        for tool in &self.tools {
            text.push_str(&self.tool_table(tool));
        }
        text
    }

    fn tool_table(&self, tool: &DraftedTool) -> String {
        let (id, name) = (&self.provider, quoted(tool.name.as_str()));
        let mut text = format!("\n# {}\n", self.why(tool));
        if !tool.hints.is_empty() {
            let _ = writeln!(text, "# hints of its server, never authority: {}", tool.hints.join(", "));
        }
        let nouns: Vec<String> = tool.nouns.iter().map(noun).collect();
        let _ = write!(
            text,
            "[provider.{id}.tool.{name}]\nservice = \"{}\"\nverb = \"{}\"\nnouns = [{}]\npin = \"{}\"\n",
            self.service(),
            tool.verb,
            nouns.join(", "),
            tool.pin
        );
        let _ = writeln!(text, "# to declare, once you know it: operation = \"{}\"", operation(tool.verb));
        text
    }

    fn why(&self, tool: &DraftedTool) -> String {
        match &tool.fate {
            Fate::AllowedItself => format!("allowed until {}: a read, by its name", self.until),
            Fate::AllowedBelow(folders) => {
                let folders: Vec<String> = folders.iter().map(|folder| quoted(folder)).collect();
                format!("allowed until {} below {}: a read, by its name", self.until, folders.join(" "))
            }
            Fate::Held(reason) => format!("held: {reason}"),
        }
    }

    /// What the drafted reads need, and what keeps them out of the deployment's own folder.
    #[must_use]
    pub fn rules_section(&self) -> String {
        let (id, until) = (&self.provider, cedar_time(self.until));
        let mut text =
            format!("// DRAFT {id}: reads alone, until {until}. What nothing here allows is held.\n");
        let mut ids = RuleIds::default();
        for tool in &self.tools {
            let action = format!("Gw::Action::\"{}.{}\"", self.service(), tool.verb);
            for resource in self.resources(tool) {
                let rule = ids.next(&format!("{id}-{}", tool.name));
                let _ = write!(
                    text,
                    "\n@id(\"{rule}\")\npermit (principal, action == {action}, resource {resource})\n\
                     when {{ context.now < datetime(\"{until}\") }};\n"
                );
            }
        }
        if self.tools.iter().any(|tool| matches!(tool.fate, Fate::AllowedBelow(_))) {
            let rule = ids.next(&format!("{id}-keeps-out"));
            let _ = write!(
                text,
                "\n@id(\"{rule}\")\n@note(\"Keys lie there.\")\nforbid (principal, action, resource in Gw::Path::{});\n",
                quoted(&self.kept)
            );
        }
        text
    }

    fn resources(&self, tool: &DraftedTool) -> Vec<String> {
        match &tool.fate {
            Fate::AllowedItself => {
                let name = quoted(&format!("{}/{}", self.provider, tool.name));
                vec![format!("== Gw::Tool::{name}")]
            }
            Fate::AllowedBelow(folders) => {
                folders.iter().map(|folder| format!("in Gw::Path::{}", quoted(folder))).collect()
            }
            Fate::Held(_) => Vec::new(),
        }
    }

    fn service(&self) -> String {
        self.provider.as_str().replace('-', "_")
    }

    /// For a terminal: what was drafted, tool by tool.
    #[must_use]
    pub fn shown(&self) -> String {
        let widest = self.tools.iter().map(|tool| tool.name.as_str().chars().count()).max().unwrap_or(0);
        let mut text = format!("drafted    {}: {} tools\n", self.provider, self.tools.len());
        for (heading, allowed) in [("allowed, for 24 hours", true), ("held", false)] {
            let of_this = |tool: &&DraftedTool| allowed != matches!(tool.fate, Fate::Held(_));
            let mut tools = self.tools.iter().filter(of_this).peekable();
            if tools.peek().is_some() {
                let _ = writeln!(text, "  {heading}");
            }
            for tool in tools {
                let (name, about) = (tool.name.as_str(), about(tool));
                let _ = writeln!(text, "    {name:<widest$}  {:<8} {about}", tool.verb.as_str());
            }
        }
        for name in &self.left_out {
            let _ = writeln!(text, "  left out, and held as unknown: {}", quoted(name));
        }
        text
    }
}

fn about(tool: &DraftedTool) -> String {
    match &tool.fate {
        Fate::AllowedItself => "the tool itself".to_owned(),
        Fate::AllowedBelow(folders) => format!("below {}", folders.join(" ")),
        Fate::Held(reason) => reason.clone(),
    }
}

/// A string of TOML and of Cedar alike: both know these escapes, and everything else that is not printable was refused
/// or is written as a space.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

fn noun(noun: &Noun) -> String {
    match noun {
        Noun::Itself => "{ type = \"tool\" }".to_owned(),
        Noun::PathAt(pointer) => format!("{{ type = \"path\", at = {} }}", quoted(pointer)),
        Noun::PathEach(pointer) => format!("{{ type = \"path\", each = {} }}", quoted(pointer)),
    }
}

fn operation(verb: Verb) -> &'static str {
    match verb {
        Verb::Read | Verb::List | Verb::Search | Verb::Quote => "read",
        Verb::Create | Verb::Update | Verb::Move => "write",
        Verb::Delete => "delete",
        Verb::Send | Verb::Publish => "send",
        Verb::Pay | Verb::Execute | Verb::Authorize => "execute",
    }
}

/// Cedar's datetime, without the milliseconds.
fn cedar_time(time: Timestamp) -> String {
    format!("{}Z", &time.to_string()[..19])
}

/// Ids that a rules file can hold, none twice.
#[derive(Default)]
struct RuleIds(Vec<String>);

impl RuleIds {
    fn next(&mut self, wish: &str) -> String {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let plain: String = wish.chars().map(|c| if allowed(c) { c } else { '-' }).take(58).collect();
        let mut id = plain.clone();
        let mut number = 2;
        while self.0.contains(&id) {
            id = format!("{plain}-{number}");
            number += 1;
        }
        self.0.push(id.clone());
        id
    }
}
