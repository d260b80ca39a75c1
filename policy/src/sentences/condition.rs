//! Conditions in words. Every case that is not written here is "a condition that the rule names".

use super::{Registry, entity, noun_type};
use cedar_policy::pst::{BinaryOp, Expr, Literal, UnaryOp, Var};
use counterfoil_core::id::looks_like_an_address;
use counterfoil_core::time::Timestamp;

pub(super) struct Conditions<'a> {
    pub(super) registry: &'a Registry,
}

const ELIDED: &str = "a condition that the rule names holds";

impl Conditions<'_> {
    /// The parts of a conjunction, without the deadline of a permit where that is said elsewhere.
    pub(super) fn conjuncts(&self, expr: &Expr, without_deadline: bool) -> Vec<String> {
        match expr {
            Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                let mut parts = self.conjuncts(left, without_deadline);
                parts.extend(self.conjuncts(right, without_deadline));
                parts
            }
            other if without_deadline && is_deadline(other) => Vec::new(),
            other => vec![self.say(other)],
        }
    }

    pub(super) fn say(&self, expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { op: BinaryOp::Or, left, right } => {
                format!("({} or {})", self.say(left), self.say(right))
            }
            Expr::BinaryOp { op: BinaryOp::And, left, right } => {
                format!("({} and {})", self.say(left), self.say(right))
            }
            Expr::BinaryOp { op, left, right } => self.comparison(op, left, right),
            Expr::UnaryOp { op: UnaryOp::Not, expr } => format!("not {}", self.say(expr)),
            Expr::HasAttr { expr, attrs } if is_context(expr) => format!("{} is given", label(attrs.last())),
            Expr::Like { expr, .. } => format!("{} fits a pattern that the rule names", self.thing(expr)),
            Expr::Is { expr, entity_type, .. } => {
                format!("{} is a {}", self.thing(expr), noun_type(&entity_type.to_string()))
            }
            Expr::GetAttr { .. } => format!("{} is true", self.thing(expr)),
            _ => ELIDED.to_owned(),
        }
    }

    fn comparison(&self, op: &BinaryOp, left: &Expr, right: &Expr) -> String {
        let (one, bound) = (self.thing(left), self.bound(right));
        match op {
            BinaryOp::Eq => format!("{one} is {}", self.value(right)),
            BinaryOp::NotEq => format!("{one} is not {}", self.value(right)),
            BinaryOp::Less => format!("{one} is below {bound}"),
            BinaryOp::LessEq => format!("{one} is at most {bound}"),
            BinaryOp::Greater => format!("{one} is above {bound}"),
            BinaryOp::GreaterEq => format!("{one} is at least {bound}"),
            BinaryOp::In => format!("{one} is in {}", self.value(right)),
            BinaryOp::Contains => format!("{} has {}", self.value(left), self.thing(right)),
            BinaryOp::ContainsAny => format!("{} has any of {}", self.value(left), self.value(right)),
            BinaryOp::ContainsAll => format!("{} has all of {}", self.value(left), self.value(right)),
            _ => ELIDED.to_owned(),
        }
    }

    /// What a condition is about.
    fn thing(&self, expr: &Expr) -> String {
        match expr {
            Expr::Var(Var::Principal) => "the agent".to_owned(),
            Expr::Var(Var::Action) => "the action".to_owned(),
            Expr::Var(Var::Resource) => "what it is about".to_owned(),
            Expr::Var(Var::Context) => "the call".to_owned(),
            Expr::GetAttr { expr, attr } if is_context(expr) => match attr.as_str() {
                "now" => "the time".to_owned(),
                "env" => "the environment".to_owned(),
                name => label(name),
            },
            Expr::GetAttr { attr, .. } if attr == "value" => "what it is about".to_owned(),
            other => self.value(other),
        }
    }

    /// The other side of an order: a number or a time is a bound, and said.
    fn bound(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(Literal::Long(number)) => number.to_string(),
            other => self.value(other),
        }
    }

    /// What something must equal. Texts and numbers may be somebody's, so they are said only where they are the registry's.
    fn value(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(Literal::Bool(truth)) => truth.to_string(),
            Expr::Literal(Literal::Long(_)) => "a number that the rule names".to_owned(),
            Expr::Literal(Literal::String(text)) if self.is_public(text) => text.to_string(),
            Expr::Literal(Literal::String(_)) => "a text that the rule names".to_owned(),
            Expr::Literal(Literal::EntityUID(one)) => entity(one, self.registry),
            Expr::UnaryOp { op: UnaryOp::Datetime, expr } => match expr.as_ref() {
                Expr::Literal(Literal::String(text)) if is_time(text) => text.to_string(),
                _ => "a time that the rule names".to_owned(),
            },
            Expr::Set(elements) => {
                let all: Vec<String> = elements.iter().map(|element| self.value(element)).collect();
                if all.iter().any(|value| value.ends_with("the rule names")) {
                    format!("{} values that the rule names", all.len())
                } else {
                    format!("[{}]", all.join(", "))
                }
            }
            Expr::Var(_) | Expr::GetAttr { .. } => self.thing(expr),
            _ => "something that the rule names".to_owned(),
        }
    }

    /// Ids of providers and tools stand in every decision.
    fn is_public(&self, text: &str) -> bool {
        self.registry
            .tools()
            .any(|(provider, tool)| provider.id().as_str() == text || tool.name().as_str() == text)
    }
}

/// `context` itself, or its arguments.
fn is_context(expr: &Expr) -> bool {
    match expr {
        Expr::Var(Var::Context) => true,
        Expr::GetAttr { expr, attr } => attr == "args" && matches!(expr.as_ref(), Expr::Var(Var::Context)),
        _ => false,
    }
}

/// A member of the context or a field that the registry declares.
fn label(name: &str) -> String {
    if looks_like_an_address(name) { "an argument".to_owned() } else { format!("`{name}`") }
}

fn is_deadline(expr: &Expr) -> bool {
    let Expr::BinaryOp { op: BinaryOp::Less, left, .. } = expr else { return false };
    matches!(left.as_ref(), Expr::GetAttr { expr, attr } if attr == "now" && matches!(expr.as_ref(), Expr::Var(Var::Context)))
}

/// Letters of other instants are not repeated: Cedar reads more spellings than we do.
fn is_time(text: &str) -> bool {
    let millis = text.strip_suffix('Z').filter(|t| !t.contains('.')).map(|t| format!("{t}.000Z"));
    Timestamp::parse(millis.as_deref().unwrap_or(text)).is_ok()
}
