//! The lint over one parsed rule. It looks at Cedar's syntax tree, never at text, so spacing, comments and brackets
//! cannot hide anything.

use super::annotations::{self, Said};
use super::expression::{self, Conjuncts};
use super::{Effect, RuleFault};
use crate::lint::LintError;
use crate::noun::{NounKind, is_normal_path};
use crate::registry::Registry;
use crate::schema;
use cedar_policy::pst::{
    ActionConstraint, Clause, Effect as Written, EntityOrSlot, EntityUID, PrincipalConstraint,
    ResourceConstraint, Template,
};
use cedar_policy::{Policy, pst};
use counterfoil_core::id::{AgentId, RuleId};
use counterfoil_core::time::Timestamp;

/// How ids of grants begin: decisions name rules and grants side by side.
const GRANT: &str = "grt_";

/// A rule without a defect.
#[derive(Debug)]
pub(super) struct Checked {
    pub id: RuleId,
    pub effect: Effect,
    pub deadline: Option<Timestamp>,
    pub told: Option<String>,
    pub vendor_lifts: bool,
}

pub(super) fn rule(policy: &Policy, registry: &Registry) -> Result<Checked, Vec<LintError>> {
    // The identity comes first, so that every other defect can name the rule.
    let written = policy.annotation("id");
    let Some(id) = written.and_then(|id| id.parse::<RuleId>().ok()) else {
        let place = match written {
            Some(id) => id.escape_debug().to_string(),
            None => format!("rule {}", number(policy)),
        };
        return Err(vec![LintError::rule(&place, RuleFault::Id)]);
    };
    check(&id, policy, registry)
        .map_err(|faults| faults.into_iter().map(|fault| LintError::rule(id.as_str(), fault)).collect())
}

/// Cedar names parsed policies `policy0`, `policy1` …; people count from one.
fn number(policy: &Policy) -> usize {
    let name = policy.id().to_string();
    let index: Option<usize> = name.strip_prefix("policy").and_then(|n| n.parse().ok());
    index.map_or(0, |i| i + 1)
}

fn check(id: &RuleId, policy: &Policy, registry: &Registry) -> Result<Checked, Vec<RuleFault>> {
    let tree = match policy.to_pst() {
        Ok(pst::Policy::Static(tree)) => tree,
        Ok(_) => return Err(vec![RuleFault::Template]),
        Err(error) => return Err(vec![RuleFault::Syntax(error.to_string())]),
    };
    let body = tree.body();
    let said = annotations::read(body);
    let mut faults = said.as_ref().err().cloned().unwrap_or_default();
    if id.as_str().starts_with(GRANT) {
        faults.push(RuleFault::GrantId);
    }
    faults.extend(never_occurring(policy, registry));
    for clause in body.clauses() {
        let (Clause::When(expr) | Clause::Unless(expr)) = clause;
        faults.extend(expression::big_numbers(expr).map(RuleFault::BigNumber));
    }

    let deadline = match body.effect {
        Written::Forbid => None,
        Written::Permit => {
            faults.extend(scope(body));
            match clauses(body) {
                Ok(deadline) => Some(deadline),
                Err(found) => {
                    faults.extend(found);
                    None
                }
            }
        }
    };
    match said {
        Ok(Said { effect, told, vendor_lifts }) if faults.is_empty() => {
            Ok(Checked { id: id.clone(), effect, deadline, told, vendor_lifts })
        }
        Ok(_) | Err(_) => Err(faults),
    }
}

/// Whether a condition of the rule asks what the session did. A rule that cannot be read does not; it is refused later.
pub(super) fn speaks_of_sessions(policy: &Policy) -> bool {
    let Ok(pst::Policy::Static(tree)) = policy.to_pst() else { return false };
    tree.body().clauses().iter().any(|clause| {
        let (Clause::When(expr) | Clause::Unless(expr)) = clause;
        expression::speaks_of_sessions(expr)
    })
}

/// The scope of a permit: what is listed here is admitted, every other constraint is not.
fn scope(body: &Template) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    match &body.principal {
        PrincipalConstraint::Any => {}
        PrincipalConstraint::Eq(EntityOrSlot::Entity(_)) => {}
        _ => faults.push(RuleFault::Principal),
    }
    match &body.action {
        ActionConstraint::Eq(action) if action.eid.contains('.') => {}
        _ => faults.push(RuleFault::Action),
    }
    match &body.resource {
        ResourceConstraint::Eq(EntityOrSlot::Entity(_)) => {}
        ResourceConstraint::In(EntityOrSlot::Entity(folder)) if is_root(folder) => {
            faults.push(RuleFault::WholeTree);
        }
        ResourceConstraint::In(EntityOrSlot::Entity(_)) => {}
        _ => faults.push(RuleFault::Resource),
    }
    faults
}

fn is_root(folder: &EntityUID) -> bool {
    folder.ty.to_string() == schema::entity_type(&NounKind::Path) && folder.eid == "/"
}

/// The conditions of a permit, which hold its one deadline.
fn clauses(body: &Template) -> Result<Timestamp, Vec<RuleFault>> {
    let mut faults = Vec::new();
    let mut conjuncts = Conjuncts::default();
    for clause in body.clauses() {
        match clause {
            Clause::When(expr) => conjuncts.add(expr),
            Clause::Unless(_) => faults.push(RuleFault::Unless),
        }
    }
    for other in &conjuncts.others {
        faults.extend(expression::inadmissible(other));
    }
    let deadline = match conjuncts.deadlines.as_slice() {
        [text] => super::deadline::parse(text).map_err(|fault| faults.push(fault)).ok(),
        several => {
            faults.push(RuleFault::Deadline(several.len()));
            None
        }
    };
    match deadline {
        Some(deadline) if faults.is_empty() => Ok(deadline),
        Some(_) | None => Err(faults),
    }
}

/// Entities that no call can ever name: a forbid on one of them would look like protection and be none.
fn never_occurring(policy: &Policy, registry: &Registry) -> Vec<RuleFault> {
    policy
        .entity_literals()
        .iter()
        .filter(|uid| {
            let kind = uid.type_name().to_string();
            let id = uid.id().unescaped();
            if kind == schema::entity_type(&NounKind::Path) {
                !is_normal_path(id)
            } else if kind == schema::entity_type(&NounKind::Tool) {
                let tool = id.split_once('/');
                tool.is_none_or(|(provider, tool)| registry.tool(provider, tool).is_none())
            } else if kind == schema::AGENT {
                id.parse::<AgentId>().is_err()
            } else {
                id.is_empty()
            }
        })
        .map(|uid| RuleFault::NeverOccurs(uid.to_string()))
        .collect()
}
