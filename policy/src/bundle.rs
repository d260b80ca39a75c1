//! The bundle: registry and rules of a project, checked together and bound by one digest.
//!
//! Promised: two bundles with one digest judge alike, whatever white space or order of rules their texts have.
//!
//!     digest = SHA-256(JCS({"v":1,"engine":"cedar-policy 4.14.1","schema":"sha256:…","registry":"sha256:…",
//!                           "rules":[{"id":"notes-read","digest":"sha256:…"}]}))

use crate::evaluate::request::Names;
use crate::lint::LintError;
use crate::registry::Registry;
use crate::rules::{self, Linted, Rule, RuleFault, bounds};
use crate::schema;
use cedar_policy::{Policy, PolicyId, PolicySet, Schema};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::RuleId;
use counterfoil_core::json;
use counterfoil_core::time::Timestamp;
use serde_json::{Value, json};

/// A permit lives at most this long after its publication; 366 days, so that a yearly review suffices.
const LONGEST_PERMIT_MS: i64 = 366 * 24 * 3600 * 1000;

pub struct Bundle {
    registry: Registry,
    registry_digest: Digest,
    rules: Vec<Rule>,
    rules_digest: Digest,
    schema: Schema,
    names: Names,
    has_sessions: bool,
    policies: PolicySet,
    digest: Digest,
}

impl Bundle {
    /// Checks both texts. Nothing is loaded if anything is wrong.
    pub fn compile(registry_text: &str, rules_text: &str) -> Result<Self, Vec<LintError>> {
        let registry = Registry::parse(registry_text)?;
        let has_sessions = bounds::with_room(|| rules::speak_of_sessions(rules_text));
        let schema_document = schema::of(&registry, has_sessions);
        let schema_digest = Digest::of(&json::canonical(&schema_document));
        let schema = Schema::from_json_value(schema_document)
            .map_err(|error| vec![LintError::text("registry", error.to_string())])?;
        let Linted { rules, policies } = bounds::with_room(|| rules::load(rules_text, &registry, &schema))?;

        let registry_digest = Digest::of(registry_text.as_bytes());
        Ok(Self {
            digest: digest(schema_digest, registry_digest, &rules),
            registry,
            registry_digest,
            rules,
            rules_digest: Digest::of(rules_text.as_bytes()),
            schema,
            names: Names::read(),
            has_sessions,
            policies,
        })
    }

    /// The member `policy` of every decision made by this bundle.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// SHA-256 of the registry's text, the member `document` of registry/v1.
    pub fn registry_digest(&self) -> Digest {
        self.registry_digest
    }

    /// SHA-256 of the rules' text, the member `document` of rules/v1.
    pub fn rules_digest(&self) -> Digest {
        self.rules_digest
    }

    /// Sorted by id.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// When the first permit ends; `None` without permits.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.rules.iter().filter_map(Rule::deadline).min()
    }

    /// What only counts on the day of publication: a deadline in the year 9999 is none.
    pub fn publishable(&self, at: Timestamp) -> Result<(), Vec<LintError>> {
        let last = at.plus_millis(LONGEST_PERMIT_MS);
        let far: Vec<LintError> = self
            .rules
            .iter()
            .filter_map(|rule| Some((rule.id(), rule.deadline()?)))
            .filter(|(_, deadline)| *deadline > last)
            .map(|(id, deadline)| LintError::rule(id.as_str(), RuleFault::FarDeadline(deadline)))
            .collect();
        if far.is_empty() { Ok(()) } else { Err(far) }
    }

    pub(crate) fn rule(&self, id: &str) -> Option<&Rule> {
        let place = self.rules.binary_search_by(|rule| rule.id().as_str().cmp(id)).ok()?;
        self.rules.get(place)
    }

    /// Whether some rule asks what the session did: then facts need a session.
    pub fn has_sessions(&self) -> bool {
        self.has_sessions
    }

    /// What the rules of these ids tell whoever asked: narrowings of a MODIFY, missing context of a DEFER.
    pub fn told<'b>(&'b self, ids: &'b [RuleId]) -> impl Iterator<Item = &'b str> {
        ids.iter().filter_map(|id| self.rule(id.as_str())?.told())
    }

    /// The rule as Cedar holds it.
    pub(crate) fn policy(&self, id: &str) -> Option<&Policy> {
        self.policies.policy(&PolicyId::new(id))
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn policies(&self) -> &PolicySet {
        &self.policies
    }
}

/// Which evaluator: another version may judge otherwise, so it is part of what is bound.
pub fn engine() -> String {
    format!("cedar-policy {}", cedar_policy::get_sdk_version())
}

fn digest(schema: Digest, registry: Digest, rules: &[Rule]) -> Digest {
    let rules: Vec<Value> =
        rules.iter().map(|rule| json!({ "id": rule.id(), "digest": rule.digest() })).collect();
    Digest::of(&json::canonical(&json!({
        "v": 1,
        "engine": engine(),
        "schema": schema,
        "registry": registry,
        "rules": rules,
    })))
}

#[cfg(test)]
mod tests;
