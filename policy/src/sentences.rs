//! Rules in words that anybody may read.
//!
//! Promised: a sentence says what one rule does, and holds no text of the rule that could be personal: of nouns it
//! says the type, of texts and numbers that something must equal it says that the rule names them. Shown are words of closed
//! vocabularies, ids of providers, tools and actions that the registry publishes, names of its fields, bounds, deadlines.
//! Not promised: that a sentence is the rule. The rule's digest stands beside it; the text is in the vendor's package.
//!
//!     May notes.read (notes/note_read): a path in a folder that the rule names, until 2027-01-01T00:00:00.000Z.

mod condition;

use crate::bundle::Bundle;
use crate::registry::Registry;
use crate::rules::{Effect, bounds};
use crate::schema;
use cedar_policy::pst::{
    self, ActionConstraint, Clause, EntityOrSlot, EntityUID, PrincipalConstraint, ResourceConstraint,
    Template,
};
use condition::Conditions;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{RuleId, looks_like_an_address};
use counterfoil_core::time::Timestamp;

/// What one rule does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sentence {
    pub rule: RuleId,
    pub effect: Effect,
    pub digest: Digest,
    /// When a permit ends.
    pub until: Option<Timestamp>,
    pub text: String,
}

impl Bundle {
    /// One sentence for each rule: what is allowed, held, sent back to be narrowed, put off, denied; by id within each.
    pub fn sentences(&self) -> Vec<Sentence> {
        bounds::with_room(|| {
            let mut sentences: Vec<Sentence> = self
                .rules()
                .iter()
                .filter_map(|rule| {
                    let policy = self.policy(rule.id().as_str())?;
                    let pst::Policy::Static(tree) = policy.to_pst().ok()? else { return None };
                    Some(Sentence {
                        rule: rule.id().clone(),
                        effect: rule.effect(),
                        digest: rule.digest(),
                        until: rule.deadline(),
                        text: text(tree.body(), rule.effect(), rule.deadline(), self.registry()),
                    })
                })
                .collect();
            sentences.sort_by_key(|sentence| place(sentence.effect));
            sentences
        })
    }
}

fn place(effect: Effect) -> u8 {
    match effect {
        Effect::Allow => 0,
        Effect::Hold => 1,
        Effect::Narrow => 2,
        Effect::Defer => 3,
        Effect::Deny => 4,
    }
}

fn text(rule: &Template, effect: Effect, until: Option<Timestamp>, registry: &Registry) -> String {
    let (action, noun, who) =
        (actions(&rule.action, registry), resource(&rule.resource, registry), agent(&rule.principal));
    let conditions = Conditions { registry };
    let mut ifs = Vec::new();
    let mut unless = Vec::new();
    for clause in rule.clauses() {
        match clause {
            // The deadline of a permit has a place of its own in the sentence.
            Clause::When(expr) => ifs.extend(conditions.conjuncts(expr, until.is_some())),
            Clause::Unless(expr) => unless.push(conditions.say(expr)),
        }
    }
    let begins = match effect {
        Effect::Allow => format!("May {action}: {noun}"),
        Effect::Hold => format!("Asks a person before {action}: {noun}"),
        Effect::Narrow => format!("Only narrower {action}: {noun}"),
        Effect::Defer => format!("Not yet {action}: {noun}"),
        Effect::Deny => format!("Never {action}: {noun}"),
    };
    let only = if effect == Effect::Allow { "only if" } else { "if" };
    let ifs = if ifs.is_empty() { String::new() } else { format!(", {only} {}", ifs.join(" and ")) };
    let unless: String = unless.iter().map(|said| format!(", unless {said}")).collect();
    let until = until.map(|at| format!(", until {at}")).unwrap_or_default();
    format!("{begins}{who}{ifs}{unless}{until}.")
}

fn agent(principal: &PrincipalConstraint) -> &'static str {
    match principal {
        PrincipalConstraint::Any | PrincipalConstraint::Is(_) => "",
        PrincipalConstraint::Eq(_) | PrincipalConstraint::In(_) | PrincipalConstraint::IsIn(..) => {
            ", for one agent that the rule names"
        }
    }
}

fn actions(action: &ActionConstraint, registry: &Registry) -> String {
    match action {
        ActionConstraint::Any => "do anything".to_owned(),
        ActionConstraint::Eq(one) => named(one, registry),
        ActionConstraint::In(several) => {
            let names: Vec<String> = several.iter().map(|one| named(one, registry)).collect();
            names.join(" or ")
        }
    }
}

/// `notes.read (notes/note_read)`, or every action of a verb. Both are the registry's words.
fn named(action: &EntityUID, registry: &Registry) -> String {
    let name = action.eid.to_string();
    let tools: Vec<String> = registry
        .tools()
        .filter(|(_, tool)| tool.action() == name)
        .map(|(provider, tool)| format!("{}/{}", provider.id(), tool.name()))
        .collect();
    let of_verb = registry.tools().any(|(_, tool)| tool.verb().as_str() == name);
    match (tools.as_slice(), of_verb) {
        ([], true) => format!("{name} anything"),
        // A strict check passed, so it names an action of the registry; what does not is not repeated.
        ([], false) => "do something that the rule names".to_owned(),
        (few, _) if few.len() <= MOST_TOOLS => format!("{name} ({})", few.join(", ")),
        (many, _) => {
            format!("{name} ({} and {} more tools)", many[..MOST_TOOLS].join(", "), many.len() - MOST_TOOLS)
        }
    }
}

const MOST_TOOLS: usize = 4;

fn resource(resource: &ResourceConstraint, registry: &Registry) -> String {
    match resource {
        ResourceConstraint::Any => "whatever it is about".to_owned(),
        ResourceConstraint::Is(kind) => format!("any {}", noun_type(&kind.to_string())),
        ResourceConstraint::Eq(EntityOrSlot::Entity(one)) => entity(one, registry),
        ResourceConstraint::In(EntityOrSlot::Entity(folder))
        | ResourceConstraint::IsIn(_, EntityOrSlot::Entity(folder)) => {
            format!("a {} in a folder that the rule names", noun_type(&folder.ty.to_string()))
        }
        ResourceConstraint::Eq(_) | ResourceConstraint::In(_) | ResourceConstraint::IsIn(..) => {
            "something that the rule names".to_owned()
        }
    }
}

/// A tool is public, as pages show it; of every other noun only the type is.
fn entity(one: &EntityUID, registry: &Registry) -> String {
    let kind = one.ty.to_string();
    let id = one.eid.to_string();
    if kind == "Gw::Tool"
        && id.split_once('/').is_some_and(|(provider, tool)| registry.tool(provider, tool).is_some())
    {
        return format!("the whole tool {id}");
    }
    if schema::ENUMERATED.iter().any(|(_, name)| kind == format!("Gw::{name}")) {
        return id;
    }
    format!("one {} that the rule names", noun_type(&kind))
}

/// `mail_address` of `Gw::MailAddress`.
fn noun_type(kind: &str) -> String {
    let kind = kind.rsplit("::").next().unwrap_or(kind);
    let mut word = String::new();
    for (place, letter) in kind.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    if looks_like_an_address(&word) { "noun".to_owned() } else { word }
}

#[cfg(test)]
mod tests;
