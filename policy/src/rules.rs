//! Rules: Cedar text that an operator publishes, and the lint that it must pass before it can decide anything.
//!
//! Promised: a permit that loads names one action, a concrete noun or folder, and one deadline; nothing in the
//! language that is admitted can widen it. A rule that loads type-checks against the schema made from the registry.
//! Not promised: that a rule says what its author meant; `counterfoil policy test` is for that.
//!
//!     @id("notes-read")
//!     permit (principal, action == Gw::Action::"notes.read", resource in Gw::Path::"/notes")
//!     when { context.now < datetime("2027-01-01T00:00:00Z") };
//!
//!     @id("notes-delete") @verdict("STEP_UP")
//!     forbid (principal, action == Gw::Action::"notes.delete", resource);
//!
//!     @id("notes-few") @verdict("MODIFY") @narrow("at most 10 notes at once")
//!     forbid (principal, action == Gw::Action::"notes.list", resource) when { context.args has n && context.args.n > 10 };

mod annotations;
pub(crate) mod bounds;
mod deadline;
mod expression;
mod lint;

use crate::lint::LintError;
use crate::registry::{MAX_DOCUMENT, Registry};
use cedar_policy::{Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::RuleId;
use counterfoil_core::json;
use counterfoil_core::time::Timestamp;
use std::collections::BTreeSet;
use std::str::FromStr;

/// Evaluation looks at every rule; 500 take a few milliseconds.
const MAX_RULES: usize = 500;

/// Longest text of `@narrow` and `@needs`, in characters: it is told to whoever asked.
const MAX_TOLD: usize = 256;

/// Why a rule is not loaded.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RuleFault {
    #[error("{0}")]
    Syntax(String),
    #[error("a rule needs @id(\"…\") of 1 to 64 of `A-Z a-z 0-9 . _ -`")]
    Id,
    #[error("another rule has this id")]
    DuplicateId,
    #[error("more than {MAX_RULES} rules")]
    TooMany,
    #[error("more than {} operators and brackets; write two rules", bounds::MAX_OPERATORS)]
    TooDeep,
    #[error("a template is no rule; write the principal and the resource")]
    Template,
    #[error("ids that begin with `grt_` are those of grants")]
    GrantId,
    #[error("annotation `@{0}` is none of @id, @verdict, @narrow, @needs, @lift, @author, @reason, @note")]
    Annotation(String),
    #[error("`@verdict` says \"STEP_UP\", \"MODIFY\" or \"DEFER\", and only on a forbid")]
    Verdict,
    #[error("`@{0}` belongs to a forbid with {1}, and that needs it")]
    Belongs(&'static str, &'static str),
    #[error("`@{0}` is 1 to {MAX_TOLD} printable characters")]
    Told(&'static str),
    #[error("`@lift` says \"vendor\", and only on a forbid with @verdict(\"STEP_UP\")")]
    Lift,
    #[error("the principal of a permit is open or `principal == Gw::Agent::\"agt_…\"`")]
    Principal,
    #[error("a permit names one action: `action == Gw::Action::\"<service>.<verb>\"`")]
    Action,
    #[error("a permit names a noun: `resource == …` or `resource in Gw::Path::\"/folder\"`")]
    Resource,
    #[error("a permit on `/` covers every path; name a folder")]
    WholeTree,
    #[error("a permit has no `unless`")]
    Unless,
    #[error(
        "a permit has exactly one `context.now < datetime(\"…\")` as a top-level conjunct, this one has {0}"
    )]
    Deadline(usize),
    #[error("`{0}` is not a deadline like 2027-01-01T00:00:00Z")]
    DeadlineText(String),
    #[error("deadline {0} is more than 366 days ahead")]
    FarDeadline(Timestamp),
    #[error("`like` in a permit does not start with a wildcard")]
    LeadingWildcard,
    #[error("a permit cannot use {0}; write two rules, or a forbid")]
    Operator(String),
    #[error("number {0} is beyond ±(2^53−1)")]
    BigNumber(i64),
    #[error("`{0}` can never occur in a call")]
    NeverOccurs(String),
    #[error("{0}")]
    Strict(String),
}

/// What a matching rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    Allow,
    Deny,
    /// A forbid with `@verdict("STEP_UP")`.
    Hold,
    /// A forbid with `@verdict("MODIFY")`: it may be asked again, narrower, as `@narrow` says.
    Narrow,
    /// A forbid with `@verdict("DEFER")`: something must be known first, and `@needs` says what.
    Defer,
}

/// One rule as it decides.
#[derive(Clone, Debug)]
pub struct Rule {
    id: RuleId,
    effect: Effect,
    deadline: Option<Timestamp>,
    told: Option<String>,
    vendor_lifts: bool,
    digest: Digest,
}

impl Rule {
    pub fn id(&self) -> &RuleId {
        &self.id
    }

    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// When a permit ends; forbids have no end.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// What whoever asked is told: the narrowing of a MODIFY (`@narrow`), the missing context of a DEFER (`@needs`).
    pub fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }

    /// Whether, where a vendor asks before it calls, the vendor's word may lift this STEP_UP (`@lift("vendor")`, G6).
    pub fn vendor_lifts(&self) -> bool {
        self.vendor_lifts
    }

    /// SHA-256 of the canonical bytes of the parsed rule: white space and comments do not count.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Rules that passed the lint, sorted by id, and the same as Cedar holds them.
pub(crate) struct Linted {
    pub rules: Vec<Rule>,
    pub policies: PolicySet,
}

/// Whether some rule asks what the session did; then the schema has it, and somebody must have counted.
pub(crate) fn speak_of_sessions(text: &str) -> bool {
    parse(text).is_ok_and(|rules| rules.iter().any(lint::speaks_of_sessions))
}

pub(crate) fn load(text: &str, registry: &Registry, schema: &Schema) -> Result<Linted, Vec<LintError>> {
    let parsed = parse(text)?;
    let mut defects = Vec::new();
    let mut rules = Vec::new();
    let mut policies = PolicySet::new();
    for policy in parsed {
        match lint::rule(&policy, registry) {
            Ok(checked) => {
                rules.push(Rule {
                    digest: digest(&policy),
                    id: checked.id.clone(),
                    effect: checked.effect,
                    deadline: checked.deadline,
                    told: checked.told,
                    vendor_lifts: checked.vendor_lifts,
                });
                let named = policy.new_id(PolicyId::new(checked.id.as_str()));
                if policies.add(named).is_err() {
                    defects.push(LintError::rule(checked.id.as_str(), RuleFault::DuplicateId));
                }
            }
            Err(faults) => defects.extend(faults),
        }
    }
    if defects.is_empty() {
        defects.extend(strict(&policies, schema));
    }
    if !defects.is_empty() {
        return Err(defects);
    }
    rules.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(Linted { rules, policies })
}

/// The policies in the order of the file.
fn parse(text: &str) -> Result<Vec<Policy>, Vec<LintError>> {
    let refuse = |fault| vec![LintError::rule("whole file", fault)];
    if text.len() > MAX_DOCUMENT {
        let what = format!("larger than {MAX_DOCUMENT} bytes");
        return Err(refuse(RuleFault::Syntax(what)));
    }
    if let Some(rule) = bounds::too_deep(text) {
        return Err(vec![LintError::rule(&format!("rule {rule}"), RuleFault::TooDeep)]);
    }
    let set = PolicySet::from_str(text).map_err(|error| refuse(RuleFault::Syntax(error.to_string())))?;
    if set.num_of_templates() > 0 {
        return Err(refuse(RuleFault::Template));
    }
    if set.num_of_policies() > MAX_RULES {
        return Err(refuse(RuleFault::TooMany));
    }
    Ok(set.policies().cloned().collect())
}

/// Cedar's own validation; its warnings (a rule that can never apply, look-alike letters) count as errors.
fn strict(policies: &PolicySet, schema: &Schema) -> Vec<LintError> {
    let result = Validator::new(schema.clone()).validate(policies, ValidationMode::Strict);
    let errors = result.validation_errors().map(|e| (e.policy_id(), e.to_string()));
    let warnings = result.validation_warnings().map(|w| (w.policy_id(), w.to_string()));
    let found: BTreeSet<(String, String)> =
        errors.chain(warnings).map(|(id, what)| (id.to_string(), what)).collect();
    found.into_iter().map(|(id, what)| LintError::rule(&id, RuleFault::Strict(what))).collect()
}

fn digest(policy: &Policy) -> Digest {
    let tree = policy.to_json().expect("a static policy that was parsed from text has a JSON form");
    Digest::of(&json::canonical(&tree))
}

#[cfg(test)]
mod tests;
