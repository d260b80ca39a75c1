//! A second evaluator of the compiled subset, written from docs/formats/policy.md and knowing nothing of Cedar.

use counterfoil_core::statement::{Reason, Verdict};
use std::collections::{BTreeMap, BTreeSet};

pub const NOW: i64 = 1_796_037_600_000;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Value {
    Text(&'static str),
    Number(i64),
    Truth(bool),
    /// In a grant: the field must be absent.
    Absent,
}

pub type Fields = BTreeMap<&'static str, Value>;

#[derive(Clone, Debug)]
pub struct Tool {
    pub action: &'static str,
    /// `path`, `mail_address`
    pub noun: &'static str,
    pub fields: BTreeSet<&'static str>,
    pub data: Option<&'static str>,
    pub pinned: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Does {
    Permit,
    Deny,
    Hold,
    Modify,
    Defer,
}

#[derive(Clone, Debug)]
pub enum About {
    Anything,
    Exactly(&'static str, &'static str),
    Below(&'static str),
}

#[derive(Clone, Debug)]
pub enum If {
    AtMost(&'static str, i64),
    Is(&'static str, Value),
    Env(&'static str),
    Data(&'static str),
    Principal(&'static str),
    SomePrincipal,
    Not(Box<If>),
    Or(Box<If>, Box<If>),
    And(Box<If>, Box<If>),
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub id: String,
    pub does: Does,
    pub agent: Option<usize>,
    /// `notes.read`, or the verb `read` for every action of it.
    pub action: Option<&'static str>,
    pub about: About,
    pub ends: i64,
    pub when: Vec<If>,
    pub unless: Option<If>,
}

#[derive(Clone, Debug)]
pub struct Grant {
    pub id: String,
    pub agent: usize,
    pub action: &'static str,
    pub noun: (&'static str, &'static str),
    pub fields: Fields,
    pub until: i64,
}

#[derive(Clone, Debug)]
pub struct Ask {
    /// Which tool of the registry; none of them where it is too large.
    pub tool: usize,
    pub agent: usize,
    pub nouns: Vec<&'static str>,
    /// What the call sends; only what the tool declares is a fact.
    pub fields: Fields,
    pub principal: Option<&'static str>,
    pub env: &'static str,
    pub changed: bool,
    pub base_deny: bool,
    pub approved: bool,
    pub breakglass: Option<i64>,
    pub shadow: Option<i64>,
    pub stopped: bool,
}

#[derive(Debug, Eq, PartialEq)]
pub struct Said {
    pub verdict: Verdict,
    pub reason: Reason,
    pub named: BTreeSet<String>,
    pub advisory: bool,
}

pub fn judge(tools: &[Tool], rules: &[Rule], grants: &[Grant], ask: &Ask) -> Said {
    let (mut verdict, mut reason, named) = plain(tools, rules, grants, ask);
    if reason == Reason::Killed {
        return Said { verdict, reason, named, advisory: false };
    }
    if ask.approved && (verdict == Verdict::Allow || verdict == Verdict::StepUp) {
        (verdict, reason) = (Verdict::Allow, Reason::Approved);
    }
    let of_rules = reason == Reason::Rule || reason == Reason::NoRule;
    let advisory = verdict != Verdict::Allow && of_rules && ask.shadow.is_some_and(|until| NOW < until);
    Said { verdict, reason, named, advisory }
}

fn plain(tools: &[Tool], rules: &[Rule], grants: &[Grant], ask: &Ask) -> (Verdict, Reason, BTreeSet<String>) {
    let nobody = BTreeSet::new();
    if ask.stopped {
        return (Verdict::Deny, Reason::Killed, nobody);
    }
    let Some(tool) = tools.get(ask.tool) else { return (Verdict::StepUp, Reason::UnknownTool, nobody) };
    if ask.changed || !tool.pinned {
        return (Verdict::StepUp, Reason::DefinitionChanged, nobody);
    }
    if ask.nouns.is_empty() || (tool.noun == "path" && ask.nouns.iter().any(|noun| noun.contains("/../"))) {
        return (Verdict::StepUp, Reason::NounMissing, nobody);
    }
    let fields: Fields = ask
        .fields
        .iter()
        .filter(|(name, _)| tool.fields.contains(*name))
        .map(|(n, v)| (*n, v.clone()))
        .collect();
    let mut by: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let (mut granted, mut unmatched) = (false, false);
    for noun in &ask.nouns {
        let speaking: Vec<&Rule> =
            rules.iter().filter(|rule| matches(rule, tool, noun, &fields, ask)).collect();
        // A permit beside any forbid is not heard.
        let forbidding = speaking.iter().any(|rule| rule.does != Does::Permit);
        for rule in &speaking {
            if rule.does != Does::Permit || !forbidding {
                by.entry(word(rule.does)).or_default().insert(rule.id.clone());
            }
        }
        if speaking.is_empty() {
            let mine: Vec<&Grant> =
                grants.iter().filter(|grant| gives(grant, tools, tool, noun, &fields, ask)).collect();
            granted |= !mine.is_empty();
            unmatched |= mine.is_empty();
            by.entry("permit").or_default().extend(mine.iter().map(|grant| grant.id.clone()));
        }
    }
    let broken = ask.breakglass.is_some_and(|until| NOW < until);
    let mut take = |what: &str| by.remove(what).unwrap_or_default();
    let (denies, holds, modifies, defers) = (take("deny"), take("hold"), take("modify"), take("defer"));
    let permits = take("permit");
    let left = unmatched && !broken;
    if !denies.is_empty() {
        (Verdict::Deny, Reason::Rule, denies)
    } else if left && ask.base_deny {
        (Verdict::Deny, Reason::NoRule, nobody)
    } else if !holds.is_empty() {
        (Verdict::StepUp, Reason::Rule, holds)
    } else if left {
        (Verdict::StepUp, Reason::NoRule, nobody)
    } else if !modifies.is_empty() {
        (Verdict::Modify, Reason::Rule, modifies)
    } else if !defers.is_empty() {
        (Verdict::Defer, Reason::Rule, defers)
    } else if unmatched {
        (Verdict::Allow, Reason::BreakGlass, permits)
    } else {
        (Verdict::Allow, if granted { Reason::Grant } else { Reason::Rule }, permits)
    }
}

fn word(does: Does) -> &'static str {
    match does {
        Does::Permit => "permit",
        Does::Deny => "deny",
        Does::Hold => "hold",
        Does::Modify => "modify",
        Does::Defer => "defer",
    }
}

fn matches(rule: &Rule, tool: &Tool, noun: &str, fields: &Fields, ask: &Ask) -> bool {
    let verb = tool.action.split('.').nth(1);
    let holds = |condition: &If| holds(condition, tool, fields, ask);
    rule.agent.is_none_or(|agent| agent == ask.agent)
        && rule.action.is_none_or(|action| action == tool.action || Some(action) == verb)
        && match rule.about {
            About::Anything => true,
            About::Exactly(kind, value) => kind == tool.noun && value == noun,
            About::Below(folder) => {
                tool.noun == "path"
                    && (folder == noun || folder == "/" || noun.starts_with(&format!("{folder}/")))
            }
        }
        && (rule.does != Does::Permit || NOW < rule.ends)
        && rule.when.iter().all(holds)
        && !rule.unless.as_ref().is_some_and(holds)
}

fn holds(condition: &If, tool: &Tool, fields: &Fields, ask: &Ask) -> bool {
    let again = |condition: &If| holds(condition, tool, fields, ask);
    match condition {
        If::AtMost(name, most) => matches!(fields.get(name), Some(Value::Number(n)) if n <= most),
        If::Is(name, value) => fields.get(name) == Some(value),
        If::Env(env) => ask.env == *env,
        If::Data(data) => tool.data.unwrap_or("unknown") == *data,
        If::Principal(name) => ask.principal == Some(name),
        If::SomePrincipal => ask.principal.is_some(),
        If::Not(one) => !again(one),
        If::Or(one, other) => again(one) || again(other),
        If::And(one, other) => again(one) && again(other),
    }
}

/// Whether a grant allows this noun. One that the registry does not type gives nothing.
fn gives(grant: &Grant, tools: &[Tool], tool: &Tool, noun: &str, fields: &Fields, ask: &Ask) -> bool {
    let of_action = || tools.iter().filter(|tool| tool.action == grant.action);
    let typed = of_action().any(|tool| tool.noun == grant.noun.0)
        && grant.fields.iter().all(|(name, value)| {
            of_action().any(|tool| tool.fields.contains(name))
                && (*value == Value::Absent || kind(value) == *name)
        });
    typed
        && grant.agent == ask.agent
        && grant.action == tool.action
        && grant.noun == (tool.noun, noun)
        && NOW < grant.until
        && grant.fields.iter().all(|(name, value)| match value {
            Value::Absent => !fields.contains_key(name),
            value => fields.get(name) == Some(value),
        })
}

/// Fields are named after their types.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Text(_) => "text",
        Value::Number(_) => "number",
        Value::Truth(_) => "truth",
        Value::Absent => "absent",
    }
}
