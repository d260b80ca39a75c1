//! The registry: what each tool is, in the operator's words. A tool never classifies itself.
//!
//! Promised: a registry that parses has no unknown field, no word outside a closed vocabulary and no ambiguous noun.
//! Not promised: that a declaration is true; an operator publishes it, its digest is bound into every decision.
//!
//!     v = 1
//!     [provider.notes]
//!     capability = true
//!     [provider.notes.tool.note_read]
//!     service = "notes"
//!     verb = "read"
//!     nouns = [{ type = "path", at = "/path" }]
//!     pin = "sha256:…"
//!
//! Format: docs/formats/policy.md.

mod diff;
mod file;
mod pins;
mod read;

pub use diff::{Changed, Difference};
pub(crate) use file::FieldKind;
pub use file::{Risk, Store};
pub use pins::with_pins;

use crate::lint::LintError;
use crate::noun::{NounKind, NounSource};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, ProviderId, ToolName};
use counterfoil_core::statement::{
    DataClass, Destination, Magnitude, Operation, Reversibility, ServiceName, Source, Sources, Verb,
};
use counterfoil_core::verdict::Signals;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Largest text of a registry or rules file, in bytes.
pub const MAX_DOCUMENT: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct Registry {
    store: Store,
    providers: BTreeMap<String, Provider>,
}

/// One provider's entry.
#[derive(Clone, Debug)]
pub struct Provider {
    id: ProviderId,
    resource: Option<String>,
    capability: bool,
    receipt: bool,
    signs: bool,
    sign_within: Duration,
    store: Store,
    tools: BTreeMap<String, Tool>,
}

/// One tool's entry.
#[derive(Clone, Debug)]
pub struct Tool {
    name: ToolName,
    service: ServiceName,
    verb: Verb,
    nouns: Vec<NounSource>,
    pin: Option<Digest>,
    store: Store,
    shown_to: Option<BTreeSet<AgentId>>,
    dimensions: Dimensions,
    risk: Risk,
    harmless: bool,
    redact: Vec<String>,
    fields: BTreeMap<String, Field>,
}

/// An argument that rules may pin or bound, as `context.args.<name>`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Field {
    at: String,
    kind: FieldKind,
}

/// The five dimensions of a tool. One that the registry does not write is unknown, and its source says so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Dimensions {
    pub operation: Option<Operation>,
    pub data_class: Option<DataClass>,
    pub destination: Option<Destination>,
    pub magnitude: Option<Magnitude>,
    pub reversibility: Option<Reversibility>,
}

impl Dimensions {
    /// With what a vendor claims where nothing was published.
    pub(crate) fn or_claimed(self, signals: &Signals) -> Self {
        let claims = signals.claims();
        Self {
            operation: self.operation.or(claims.operation),
            data_class: self.data_class.or(claims.data_class),
            destination: self.destination.or(claims.destination),
            magnitude: self.magnitude.or(claims.magnitude),
            reversibility: self.reversibility.or(claims.reversibility),
        }
    }

    /// Of what is published and nothing else.
    pub(crate) fn sources(&self) -> Sources {
        let source = |is_written| if is_written { Source::Declared } else { Source::Unknown };
        Sources {
            operation: source(self.operation.is_some()),
            data_class: source(self.data_class.is_some()),
            destination: source(self.destination.is_some()),
            magnitude: source(self.magnitude.is_some()),
            reversibility: source(self.reversibility.is_some()),
        }
    }
}

impl Registry {
    pub fn parse(text: &str) -> Result<Self, Vec<LintError>> {
        read::registry(file::parse(text).map_err(|e| vec![e])?)
    }

    /// `None` for a provider that the operator has not published.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.get(id)
    }

    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    /// What is kept of a call's contents: as the tool says, else its provider, else the whole registry; sealed where
    /// nothing is said.
    pub fn store(&self, provider: Option<&str>, tool: Option<&str>) -> Store {
        let provider = provider.and_then(|id| self.provider(id));
        let tool = provider.zip(tool).and_then(|(provider, name)| provider.tool(name));
        match (tool, provider) {
            (Some(tool), _) => tool.store,
            (None, Some(provider)) => provider.store,
            (None, None) => self.store,
        }
    }

    pub(crate) fn tool(&self, provider: &str, tool: &str) -> Option<&Tool> {
        self.provider(provider)?.tool(tool)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = (&Provider, &Tool)> {
        self.providers().flat_map(|provider| provider.tools().map(move |tool| (provider, tool)))
    }
}

impl Provider {
    pub fn id(&self) -> &ProviderId {
        &self.id
    }

    /// The audience of its capabilities; without one the gateway names it after the project.
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref()
    }

    /// Whether a capability goes with each cleared call.
    pub fn capability(&self) -> bool {
        self.capability
    }

    /// Whether the receipt goes beside the capability.
    pub fn receipt(&self) -> bool {
        self.receipt
    }

    /// Whether it owes a signed execution statement for each cleared call.
    pub fn signs(&self) -> bool {
        self.signs
    }

    /// How long its statement may take, from the observation on.
    pub fn sign_within(&self) -> Duration {
        self.sign_within
    }

    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }
}

impl Tool {
    pub fn name(&self) -> &ToolName {
        &self.name
    }

    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// `<service>.<verb>`, the action of rules.
    pub fn action(&self) -> String {
        format!("{}.{}", self.service, self.verb)
    }

    /// Digest of the definition that the operator read when classifying it. Without one every call is held.
    pub fn pin(&self) -> Option<Digest> {
        self.pin
    }

    /// Whether this agent may know that the tool exists. The list rule: it says nothing about calls, and a call of a
    /// tool that is not shown is that of a tool that does not exist.
    pub fn is_shown_to(&self, agent: AgentId) -> bool {
        self.shown_to.as_ref().is_none_or(|agents| agents.contains(&agent))
    }

    pub(crate) fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }

    /// Whether it may run at any time with any arguments: the gateway calls it with capabilities that must be refused, and a
    /// provider that refuses them does not run it.
    pub fn is_harmless(&self) -> bool {
        self.harmless
    }

    /// How much a person should look before they say yes; high where nobody said.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Argument names that no public record may mention.
    pub fn redacted(&self) -> &[String] {
        &self.redact
    }

    pub(crate) fn nouns(&self) -> &[NounSource] {
        &self.nouns
    }

    /// True where the tool's reach is the tool itself, which pages show.
    pub fn reaches_itself(&self) -> bool {
        self.nouns.iter().any(|n| n.kind() == &NounKind::Tool)
    }

    pub(crate) fn fields(&self) -> &BTreeMap<String, Field> {
        &self.fields
    }
}

impl Field {
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    pub(crate) fn kind(&self) -> FieldKind {
        self.kind
    }
}

#[cfg(test)]
mod tests;
