//! Signals: what a vendor says about one call beside the call itself.
//!
//! Promised: known keys only, each of its own type, null means absent. The words of a person's answer go together or not at
//! all. Not promised: truth. A signal is a claim, and whoever reads it can see that it is one.

use super::{Members, Rejected, checked};
use crate::id::ActionId;
use crate::statement::{DataClass, Destination, Magnitude, Operation, Reversibility, Source};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The signals that are there, each a scalar.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Signals(Map<String, Value>);

/// What a person answered, in the vendor's words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    Approves(ActionId),
    Declines(ActionId),
}

/// A dimension by its name on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dimension {
    Operation,
    DataClass,
    Destination,
    Magnitude,
    Reversibility,
}

/// What the signals say about the five dimensions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Claims {
    pub operation: Option<Operation>,
    pub data_class: Option<DataClass>,
    pub destination: Option<Destination>,
    pub magnitude: Option<Magnitude>,
    pub reversibility: Option<Reversibility>,
}

#[derive(Clone, Copy)]
enum Kind {
    Word(&'static [&'static str]),
    Truth,
    Number,
    Action,
    Text,
    Digest,
    Dimensions,
}

const APPROVE: &str = "APPROVE";
const DIMENSIONS: [(&str, Dimension); 5] = [
    ("operation", Dimension::Operation),
    ("data_class", Dimension::DataClass),
    ("destination", Dimension::Destination),
    ("magnitude", Dimension::Magnitude),
    ("reversibility", Dimension::Reversibility),
];

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "op" => Kind::Word(&["read", "write", "send", "delete", "execute"]),
        "data_class" => Kind::Word(&["none", "operational", "financial", "credential", "personal"]),
        "destination" => Kind::Word(&["none", "internal", "external", "third_party"]),
        "reversibility" => Kind::Word(&["reversible", "costly", "terminal"]),
        "recipient_external" | "reversible" | "human_authorized" => Kind::Truth,
        "record_count" | "recipient_count" | "amount" => Kind::Number,
        "resolves_action" => Kind::Action,
        "human_decision" | "approver" | "inference_model" | "inference_slice" => Kind::Text,
        "instructions_hash" | "shown_text_hash" | "inference_prompt_hash" => Kind::Digest,
        "inferred" => Kind::Dimensions,
        _ => return None,
    })
}

impl Kind {
    fn check(self, value: &Value) -> Result<(), String> {
        let wrong = |wanted: &str| Err(format!("not {wanted}"));
        match (self, value) {
            (Self::Word(words), Value::String(said)) if words.contains(&said.as_str()) => Ok(()),
            (Self::Word(words), _) => Err(format!("not one of {}", words.join(", "))),
            (Self::Truth, Value::Bool(_)) => Ok(()),
            (Self::Truth, _) => wrong("true or false"),
            (Self::Number, Value::Number(number)) if number.as_f64().is_some_and(|n| n >= 0.0) => Ok(()),
            (Self::Number, _) => wrong("a number from 0 on"),
            (Self::Action, Value::String(id)) if id.parse::<ActionId>().is_ok() => Ok(()),
            (Self::Action, _) => wrong("an action id (act_…)"),
            (Self::Text, Value::String(text)) => checked(text).map(|_| ()).map_err(str::to_owned),
            (Self::Text, _) => wrong("a text"),
            (Self::Digest, Value::String(text)) if text.parse::<crate::digest::Digest>().is_ok() => Ok(()),
            (Self::Digest, _) => wrong("`sha256:` and 64 hexadecimal digits"),
            (Self::Dimensions, Value::String(list)) if names(list).all(|name| dimension(name).is_some()) => {
                Ok(())
            }
            (Self::Dimensions, _) => wrong("names of dimensions with commas between them"),
        }
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim)
}

fn dimension(name: &str) -> Option<Dimension> {
    DIMENSIONS.iter().find(|(known, _)| *known == name).map(|(_, dimension)| *dimension)
}

impl Signals {
    pub(super) fn read(value: &Value, path: &str) -> Result<Self, Rejected> {
        let sent = Members::of(value, path)?;
        let mut signals = Map::new();
        for (name, value) in sent.members {
            let Some(kind) = kind(name) else {
                return Err(sent.wrong(name, "no such signal"));
            };
            if !value.is_null() {
                kind.check(value).map_err(|reason| sent.wrong(name, reason))?;
                signals.insert(name.clone(), value.clone());
            }
        }
        let signals = Self(signals);
        match signals.contradiction() {
            Some((name, reason)) => Err(sent.wrong(name, reason)),
            None => Ok(signals),
        }
    }

    /// What cannot be said together, or not alone.
    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let has = |name: &str| self.0.contains_key(name);
        let decision = self.text("human_decision");
        if has("resolves_action") && decision.is_none() {
            return Some(("human_decision", "`resolves_action` needs the person's decision"));
        }
        if decision == Some(APPROVE) && !has("resolves_action") {
            return Some(("resolves_action", "an approval names the action that it resolves"));
        }
        if has("human_authorized") && decision.is_some() {
            return Some(("human_authorized", "not together with `human_decision`"));
        }
        let missing = ["inference_model", "inference_prompt_hash", "inference_slice"]
            .into_iter()
            .find(|name| has("inferred") != has(name));
        missing.map(|name| (name, "goes together with `inferred`"))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A signal that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The answer that the vendor passes on. A decision about no action is recorded and does nothing.
    pub fn answer(&self) -> Option<Answer> {
        let action = self.text("resolves_action")?.parse().ok()?;
        Some(match self.text("human_decision") {
            Some(APPROVE) => Answer::Approves(action),
            Some(_) | None => Answer::Declines(action),
        })
    }

    pub fn claims(&self) -> Claims {
        let said = |name: &str| self.0.get(name).cloned();
        let truth = |name: &str| self.0.get(name).and_then(Value::as_bool);
        let external = |external| if external { Destination::External } else { Destination::Internal };
        let undone = |can| if can { Reversibility::Reversible } else { Reversibility::Terminal };
        Claims {
            operation: said("op").and_then(word),
            data_class: said("data_class").and_then(word),
            destination: said("destination").and_then(word).or(truth("recipient_external").map(external)),
            magnitude: self.magnitude(),
            reversibility: said("reversibility").and_then(word).or(truth("reversible").map(undone)),
        }
    }

    /// By the larger of the two counts. An amount says that something moves and not how much is much: that is for rules.
    fn magnitude(&self) -> Option<Magnitude> {
        let number = |name: &str| self.0.get(name).and_then(Value::as_f64);
        let count =
            [number("record_count"), number("recipient_count")].into_iter().flatten().reduce(f64::max);
        let of_count = count.map(|count| match count {
            _ if count > 1.0 => Magnitude::Bulk,
            _ if count > 0.0 => Magnitude::Single,
            _ => Magnitude::None,
        });
        of_count.or(number("amount").filter(|amount| *amount > 0.0).map(|_| Magnitude::Single))
    }

    /// How far a claim about this dimension reaches: below everything that an operator published.
    pub fn source(&self, of: Dimension) -> Source {
        let inferred =
            self.text("inferred").is_some_and(|list| names(list).any(|name| dimension(name) == Some(of)));
        if inferred { Source::Inferred } else { Source::Catalogued }
    }
}

fn word<T: for<'de> Deserialize<'de>>(said: Value) -> Option<T> {
    serde_json::from_value(said).ok()
}

impl<'de> Deserialize<'de> for Signals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Value::deserialize(deserializer)?;
        Self::read(&read, "$").map_err(serde::de::Error::custom)
    }
}
