//! The TOML of a registry, field by field. An unknown field or a word outside its vocabulary is refused with its line.

use super::MAX_DOCUMENT;
use crate::lint::LintError;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, ProviderId, ToolName};
use counterfoil_core::statement::{
    DataClass, Destination, Magnitude, NounType, Operation, Reversibility, ServiceName, Verb,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegistryText {
    pub v: u32,
    #[serde(default)]
    pub store: Store,
    #[serde(default)]
    pub provider: BTreeMap<ProviderId, ProviderText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderText {
    pub resource: Option<String>,
    /// Of its tools that say nothing else.
    pub store: Option<Store>,
    #[serde(default)]
    pub capability: bool,
    #[serde(default)]
    pub receipt: bool,
    #[serde(default)]
    pub signs: bool,
    /// Seconds.
    pub sign_within: Option<u64>,
    #[serde(default)]
    pub tool: BTreeMap<ToolName, ToolText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolText {
    pub service: ServiceName,
    pub verb: Verb,
    pub nouns: Vec<NounText>,
    pub pin: Option<Digest>,
    pub store: Option<Store>,
    pub operation: Option<Operation>,
    pub data_class: Option<DataClass>,
    pub destination: Option<Destination>,
    pub magnitude: Option<Magnitude>,
    pub reversibility: Option<Reversibility>,
    #[serde(default)]
    pub risk: Risk,
    #[serde(default)]
    pub harmless: bool,
    /// Agents that may know of it; everybody when absent.
    pub shown_to: Option<BTreeSet<AgentId>>,
    #[serde(default)]
    pub redact: Vec<String>,
    #[serde(default)]
    pub fields: BTreeMap<String, FieldText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NounText {
    pub r#type: NounType,
    /// JSON pointer to a string of the arguments.
    pub at: Option<String>,
    /// JSON pointer to an array of strings: each element is a noun.
    pub each: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldText {
    pub at: String,
    pub r#type: FieldKind,
}

/// What is kept of a call's contents beside its shape.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// What opens its commitments, sealed to the project's disclosure key.
    #[default]
    Sealed,
    /// Nothing: nobody can open them, not even the vendor.
    Shape,
}

/// How much harm a call can do, as the operator sees it. It decides nothing by itself: at high risk a vendor's word lifts no
/// STEP_UP (G6), and whoever answers a held call is shown it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    Low,
    Medium,
    /// Also where nothing is said.
    #[default]
    High,
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// The type that a rule sees.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FieldKind {
    String,
    Long,
    Bool,
}

pub(super) fn parse(text: &str) -> Result<RegistryText, LintError> {
    if text.len() > MAX_DOCUMENT {
        return Err(LintError::text("registry", format!("larger than {MAX_DOCUMENT} bytes")));
    }
    toml::from_str(text).map_err(|error| {
        let place = match error.span() {
            Some(span) => format!("registry: line {}", line_of(text, span.start)),
            None => "registry".to_owned(),
        };
        LintError::text(place, error.message())
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}
