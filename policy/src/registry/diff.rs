//! What another registry says otherwise, tool by tool: what a person reads before they publish.

use super::{Provider, Registry, Tool};
use std::collections::BTreeSet;
use std::fmt;

/// One line of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// `registry`, `notes` or `notes/note_read`.
    pub place: String,
    pub what: Changed,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Changed {
    New,
    Gone,
    /// A member, and what it was and is.
    Member {
        name: &'static str,
        before: String,
        after: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Changed::New => write!(f, "new        {}", self.place),
            Changed::Gone => write!(f, "gone       {}", self.place),
            Changed::Member { name, before, after } => {
                write!(f, "changed    {}: {name} {before} is {after}", self.place)
            }
        }
    }
}

impl Registry {
    /// Every difference that decides something or that pages show; none where both say the same in other words.
    pub fn differences(&self, after: &Registry) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut members = Members { place: "registry".to_owned(), found: &mut found };
        members.compare("store", word(&self.store), word(&after.store));
        let ids: BTreeSet<&String> = self.providers.keys().chain(after.providers.keys()).collect();
        for id in ids {
            match (self.providers.get(id), after.providers.get(id)) {
                (Some(before), Some(after)) => providers(before, after, &mut found),
                (None, Some(after)) => found.extend(whole(after, &Changed::New)),
                (Some(before), None) => found.extend(whole(before, &Changed::Gone)),
                (None, None) => {}
            }
        }
        found
    }
}

fn whole(provider: &Provider, what: &Changed) -> Vec<Difference> {
    let line = |place: String| Difference { place, what: what.clone() };
    let tools = provider.tools().map(|tool| line(format!("{}/{}", provider.id, tool.name)));
    std::iter::once(line(provider.id.to_string())).chain(tools).collect()
}

fn providers(before: &Provider, after: &Provider, found: &mut Vec<Difference>) {
    let mut members = Members { place: before.id.to_string(), found };
    members.compare("resource", or_none(before.resource.as_ref()), or_none(after.resource.as_ref()));
    members.compare("capability", before.capability.to_string(), after.capability.to_string());
    members.compare("receipt", before.receipt.to_string(), after.receipt.to_string());
    members.compare("signs", before.signs.to_string(), after.signs.to_string());
    let seconds = |provider: &Provider| provider.sign_within.as_secs().to_string();
    members.compare("sign_within", seconds(before), seconds(after));
    members.compare("store", word(&before.store), word(&after.store));
    let names: BTreeSet<&String> = before.tools.keys().chain(after.tools.keys()).collect();
    for name in names {
        let place = format!("{}/{name}", before.id);
        match (before.tools.get(name), after.tools.get(name)) {
            (Some(before), Some(after)) => tools(place, before, after, found),
            (None, Some(_)) => found.push(Difference { place, what: Changed::New }),
            (Some(_), None) => found.push(Difference { place, what: Changed::Gone }),
            (None, None) => {}
        }
    }
}

fn tools(place: String, before: &Tool, after: &Tool, found: &mut Vec<Difference>) {
    let mut members = Members { place, found };
    let nouns = |tool: &Tool| tool.nouns.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let shown = |tool: &Tool| match &tool.shown_to {
        None => "everybody".to_owned(),
        Some(agents) if agents.is_empty() => "nobody".to_owned(),
        Some(agents) => agents.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    let redact = |tool: &Tool| match tool.redact.is_empty() {
        true => "nothing".to_owned(),
        false => tool.redact.join(" "),
    };
    let fields = |tool: &Tool| {
        let field =
            |(name, field): (&String, &super::Field)| format!("{name}={}:{}", field.at, word(&field.kind));
        match tool.fields.is_empty() {
            true => "none".to_owned(),
            false => tool.fields.iter().map(field).collect::<Vec<_>>().join(" "),
        }
    };
    members.compare("action", before.action(), after.action());
    members.compare("nouns", nouns(before), nouns(after));
    members.compare("pin", or_none(before.pin.as_ref()), or_none(after.pin.as_ref()));
    members.compare("harmless", before.harmless.to_string(), after.harmless.to_string());
    members.compare("risk", before.risk.to_string(), after.risk.to_string());
    let (was, is) = (&before.dimensions, &after.dimensions);
    members.compare("operation", unknown(was.operation.as_ref()), unknown(is.operation.as_ref()));
    members.compare("data_class", unknown(was.data_class.as_ref()), unknown(is.data_class.as_ref()));
    members.compare("destination", unknown(was.destination.as_ref()), unknown(is.destination.as_ref()));
    members.compare("magnitude", unknown(was.magnitude.as_ref()), unknown(is.magnitude.as_ref()));
    members.compare("reversibility", unknown(was.reversibility.as_ref()), unknown(is.reversibility.as_ref()));
    members.compare("shown_to", shown(before), shown(after));
    members.compare("store", word(&before.store), word(&after.store));
    members.compare("redact", redact(before), redact(after));
    members.compare("fields", fields(before), fields(after));
}

struct Members<'f> {
    place: String,
    found: &'f mut Vec<Difference>,
}

impl Members<'_> {
    fn compare(&mut self, name: &'static str, before: String, after: String) {
        if before != after {
            let what = Changed::Member { name, before, after };
            self.found.push(Difference { place: self.place.clone(), what });
        }
    }
}

fn or_none(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn unknown(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "unknown".to_owned(), ToString::to_string)
}

/// The word of the file for one of a few.
fn word(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"
        v = 1
        [provider.notes.tool.read]
        service = "notes"
        verb = "read"
        nouns = [{ type = "path", at = "/path" }]
        data_class = "operational"
        risk = "low"
        [provider.notes.tool.gone]
        service = "notes"
        verb = "list"
        nouns = [{ type = "tool" }]
        [provider.old.tool.sync]
        service = "old"
        verb = "execute"
        nouns = [{ type = "tool" }]
    "#;

    const AFTER: &str = r#"
        v = 1
        store = "shape"
        [provider.notes]
        signs = true
        [provider.notes.tool.read]
        service = "notes"
        verb = "delete"
        nouns = [{ type = "path", each = "/paths" }]
        data_class = "personal"
        pin = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
        fields = { n = { at = "/n", type = "long" } }
        [provider.notes.tool.fresh]
        service = "notes"
        verb = "list"
        nouns = [{ type = "tool" }]
    "#;

    /// G2: what a person publishes is shown to them first.
    #[test]
    fn every_difference_that_decides_is_named() {
        let (before, after) =
            (Registry::parse(BEFORE).expect("registry"), Registry::parse(AFTER).expect("registry"));

        let lines: Vec<String> = before.differences(&after).iter().map(ToString::to_string).collect();

        assert_eq!(
            lines,
            [
                "changed    registry: store sealed is shape",
                "changed    notes: signs false is true",
                "changed    notes: store sealed is shape",
                "new        notes/fresh",
                "gone       notes/gone",
                "changed    notes/read: action notes.read is notes.delete",
                "changed    notes/read: nouns path at /path is path each /paths",
                "changed    notes/read: pin none is \
                 sha256:0000000000000000000000000000000000000000000000000000000000000000",
                "changed    notes/read: risk low is high",
                "changed    notes/read: data_class operational is personal",
                "changed    notes/read: store sealed is shape",
                "changed    notes/read: fields none is n=/n:long",
                "gone       old",
                "gone       old/sync",
            ]
        );
        assert_eq!(before.differences(&before), []);
    }
}
