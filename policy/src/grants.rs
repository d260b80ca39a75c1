//! Grants: what a person gave one agent, compiled beside the rules.
//!
//! Promised: a document becomes exactly one static permit, for one agent, one `service.verb`, one noun, until its end, and
//! can express nothing else. A document that the registry no longer types allows nothing and is named; the others stand.
//! Only the asking agent's grants for the asked action are evaluated, however many others there are.
//! Not promised: that a document was given; the ledger says so, and a decision binds the digests of those that it saw.
//!
//!     permit (principal == Gw::Agent::"agt_…", action == Gw::Action::"mail.send", resource == Gw::MailAddress::"a@example.com")
//!     when { context.now < datetime("2026-11-30T11:50:00.000Z") && context.args has n && context.args.n == 3 };

mod permit;

use crate::bundle::Bundle;
use crate::rules::bounds;
use cedar_policy::{PolicyId, PolicySet, ValidationMode, Validator};
use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, GrantId};
use std::collections::{BTreeMap, BTreeSet};

/// Most grants of one agent. With more of them none of that agent's counts.
pub const MAX_GRANTS: usize = 500;

/// The grants of a project as they decide.
#[derive(Default)]
pub struct Grants {
    of: BTreeMap<AgentId, OfAgent>,
    void: Vec<VoidGrant>,
}

#[derive(Default)]
struct OfAgent {
    /// Of every document of this agent, void or not, sorted: what the member `grants` of its facts must be.
    digests: Vec<Digest>,
    /// By `service.verb`.
    policies: BTreeMap<String, PolicySet>,
}

/// A document that allows nothing, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VoidGrant {
    pub grant: GrantId,
    pub agent: AgentId,
    pub why: GrantFault,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GrantFault {
    #[error("documents of version {0} are not known, only 1")]
    Version(u8),
    #[error("no tool of the registry is `{0}`")]
    Action(String),
    #[error("no tool of `{action}` has a noun of type `{noun}`")]
    NounType { action: String, noun: String },
    #[error("the noun can occur in no call: {0}")]
    Noun(String),
    #[error("no tool of `{action}` declares the field `{field}`")]
    Field { action: String, field: String },
    #[error("the field `{0}` has another type in the registry")]
    FieldType(String),
    #[error("another document has this id")]
    Duplicate,
    #[error("its agent has more than {MAX_GRANTS} grants")]
    TooMany,
    #[error("{0}")]
    Strict(String),
}

impl Grants {
    /// Compiles every document against the registry and schema of `bundle`. The order of documents does not matter, and one
    /// that stands there twice counts once.
    pub fn compile(documents: &[GrantDocument], bundle: &Bundle) -> Self {
        let mut by_agent: BTreeMap<AgentId, BTreeMap<Digest, &GrantDocument>> = BTreeMap::new();
        for document in documents {
            by_agent.entry(document.agent).or_default().insert(document.digest(), document);
        }
        let mut grants = Self::default();
        bounds::with_room(|| {
            for (agent, documents) in by_agent {
                let compiled = of_agent(&documents, bundle, &mut grants.void);
                grants.of.insert(agent, compiled);
            }
        });
        grants
    }

    /// Those that allow nothing, by agent.
    pub fn void(&self) -> &[VoidGrant] {
        &self.void
    }

    /// Digests of this agent's documents, sorted: the member `grants` of its facts.
    pub fn digests(&self, agent: AgentId) -> &[Digest] {
        self.of.get(&agent).map_or(&[], |of| of.digests.as_slice())
    }

    pub(crate) fn policies(&self, agent: AgentId, action: &str) -> Option<&PolicySet> {
        self.of.get(&agent)?.policies.get(action)
    }
}

fn of_agent(
    documents: &BTreeMap<Digest, &GrantDocument>,
    bundle: &Bundle,
    void: &mut Vec<VoidGrant>,
) -> OfAgent {
    let mut of = OfAgent { digests: documents.keys().copied().collect(), policies: BTreeMap::new() };
    let mut say = |document: &GrantDocument, why| {
        void.push(VoidGrant { grant: document.grant, agent: document.agent, why });
    };
    if documents.len() > MAX_GRANTS {
        documents.values().for_each(|document| say(document, GrantFault::TooMany));
        return of;
    }
    let mut ids: BTreeMap<GrantId, usize> = BTreeMap::new();
    for document in documents.values() {
        *ids.entry(document.grant).or_default() += 1;
    }
    for document in documents.values() {
        // Of two documents with one id nobody can say which is the grant, so neither is.
        if ids.get(&document.grant) != Some(&1) {
            say(document, GrantFault::Duplicate);
            continue;
        }
        let added = permit::of(document, bundle.registry()).and_then(|permit| {
            let action = permit::action(document);
            let set = of.policies.entry(action).or_default();
            set.add(permit).map_err(|_| GrantFault::Duplicate)
        });
        if let Err(why) = added {
            say(document, why);
        }
    }
    for set in of.policies.values_mut() {
        for (id, what) in unsound(set, bundle) {
            // Removing can only fail for an id that is not there.
            let _ = set.remove_static(PolicyId::new(&id));
            if let Some(document) = documents.values().find(|document| document.grant.to_string() == id) {
                say(document, GrantFault::Strict(what));
            }
        }
    }
    of
}

/// Cedar's own word, after ours: whatever it finds wrong does not stay in the set.
fn unsound(policies: &PolicySet, bundle: &Bundle) -> BTreeSet<(String, String)> {
    let result = Validator::new(bundle.schema().clone()).validate(policies, ValidationMode::Strict);
    result.validation_errors().map(|error| (error.policy_id().to_string(), error.to_string())).collect()
}

#[cfg(test)]
mod tests;
