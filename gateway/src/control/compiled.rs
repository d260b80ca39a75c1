//! A snapshot that was checked and made ready for judging.

use counterfoil_core::control::Snapshot;
use counterfoil_core::id::{AgentId, ProjectId, ProviderId, ToolName};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Jwk, JwkSet, Purpose};
use counterfoil_core::note::vkey;
use counterfoil_core::receipt::Trust;
use counterfoil_core::statement::Decision;
use counterfoil_jwks::opening::DisclosureKey;
use counterfoil_policy::{Bundle, Grants, Tool};
use std::collections::BTreeSet;
use std::sync::Arc;

pub struct Control {
    pub snapshot: Snapshot,
    pub bundle: Arc<Bundle>,
    /// The snapshot's grants, compiled against the bundle.
    pub grants: Arc<Grants>,
    /// What receipts of our decisions are checked with.
    pub trust: Trust,
    pub disclosure: DisclosureKey,
    log_keys: BTreeSet<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("snapshot is of another project")]
    OtherProject,
    #[error("snapshot changes the issuer of the project")]
    OtherIssuer,
    #[error("documents do not compile ({0} faults)")]
    NotCompiled(usize),
    #[error("documents have another digest than the snapshot says")]
    PolicyMismatch,
    #[error("none of the log keys is pinned")]
    LogKeyNotPinned,
    #[error("a key of the snapshot is not what it says it is")]
    BadKey,
    #[error("the disclosure key is not a P-256 key")]
    BadDisclosureKey,
}

impl ControlError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::OtherProject => "other_project",
            Self::OtherIssuer => "other_issuer",
            Self::NotCompiled(_) => "policy_not_compiled",
            Self::PolicyMismatch => "policy_mismatch",
            Self::LogKeyNotPinned => "log_key_not_pinned",
            Self::BadKey => "bad_key",
            Self::BadDisclosureKey => "bad_disclosure_key",
        }
    }
}

/// What a project has before anything is published: a registry without tools, and no rules.
const EMPTY_REGISTRY: &str = "v = 1\n";

impl Control {
    /// `before` is the snapshot this one follows: its log keys are pinned unless the configuration pins one.
    pub fn compile(
        snapshot: Snapshot,
        project: ProjectId,
        own: &[Jwk],
        pinned_log: Option<&str>,
        before: Option<&Control>,
    ) -> Result<Self, ControlError> {
        if snapshot.project != project {
            return Err(ControlError::OtherProject);
        }
        if before.is_some_and(|before| before.snapshot.iss != snapshot.iss) {
            return Err(ControlError::OtherIssuer);
        }
        let bundle = compile_bundle(&snapshot, before)?;
        let grants = compile_grants(&snapshot, &bundle, before);
        let (log_keys, trusted) = pinned_log_keys(&snapshot, pinned_log, before)?;
        let keys = trusted.into_iter().chain(own.iter().cloned()).collect();
        let trust =
            Trust::from_set(JwkSet { iss: snapshot.iss.clone(), keys }).map_err(|_| ControlError::BadKey)?;
        let disclosure =
            DisclosureKey::parse(&snapshot.disclosure_key).ok_or(ControlError::BadDisclosureKey)?;
        Ok(Self { snapshot, bundle, grants, trust, disclosure, log_keys })
    }

    /// A tool's entry in the registry.
    pub fn tool(&self, provider: &ProviderId, tool: &ToolName) -> Option<&Tool> {
        self.bundle.registry().provider(provider.as_str())?.tool(tool.as_str())
    }

    /// Whether this agent may not know that the tool exists.
    pub fn hides(&self, provider: &ProviderId, tool: &ToolName, agent: AgentId) -> bool {
        self.tool(provider, tool).is_some_and(|tool| !tool.is_shown_to(agent))
    }

    /// Whether a kill covers a call that was decided on.
    pub fn stops(&self, decision: &Decision) -> bool {
        self.snapshot.killed
            || self.snapshot.generation != decision.generation
            || self.snapshot.stopped.iter().any(|scope| scope.covers(decision))
    }

    pub fn iss(&self) -> &Issuer {
        &self.snapshot.iss
    }
}

/// Compiling takes seconds where there are hundreds of rules and tools, and most snapshots change neither: a kill must
/// not wait for it.
fn compile_bundle(snapshot: &Snapshot, before: Option<&Control>) -> Result<Arc<Bundle>, ControlError> {
    let unchanged = before.filter(|before| before.snapshot.documents == snapshot.documents);
    let bundle = match (unchanged, &snapshot.documents) {
        (Some(before), _) => before.bundle.clone(),
        (None, Some(documents)) => compiled(&documents.registry, &documents.rules)?,
        (None, None) => compiled(EMPTY_REGISTRY, "")?,
    };
    match snapshot.policy {
        Some(policy) if policy != bundle.digest() => Err(ControlError::PolicyMismatch),
        None if snapshot.documents.is_some() => Err(ControlError::PolicyMismatch),
        Some(_) | None => Ok(bundle),
    }
}

/// A grant that the registry no longer types allows nothing; the others are not kept waiting by it.
fn compile_grants(snapshot: &Snapshot, bundle: &Arc<Bundle>, before: Option<&Control>) -> Arc<Grants> {
    let unchanged = before
        .filter(|before| Arc::ptr_eq(&before.bundle, bundle) && before.snapshot.grants == snapshot.grants);
    if let Some(before) = unchanged {
        return before.grants.clone();
    }
    let grants = Grants::compile(&snapshot.grants.grants, bundle);
    for void in grants.void() {
        tracing::warn!(project = %snapshot.project, grant = %void.grant, "a grant allows nothing any more");
    }
    Arc::new(grants)
}

fn compiled(registry: &str, rules: &str) -> Result<Arc<Bundle>, ControlError> {
    let bundle = Bundle::compile(registry, rules);
    bundle.map(Arc::new).map_err(|faults| ControlError::NotCompiled(faults.len()))
}

type Pinned = (BTreeSet<String>, Vec<Jwk>);

fn pinned_log_keys(
    snapshot: &Snapshot,
    pinned: Option<&str>,
    before: Option<&Control>,
) -> Result<Pinned, ControlError> {
    let origin = snapshot.iss.origin();
    let mut named = BTreeSet::new();
    let mut trusted = Vec::new();
    for jwk in &snapshot.keys.log {
        let key = jwk.public_key().map_err(|_| ControlError::BadKey)?;
        if jwk.purpose != Purpose::Log {
            return Err(ControlError::BadKey);
        }
        let name = vkey(&origin, &key);
        let counts = match (pinned, before) {
            (Some(pinned), _) => pinned == name,
            (None, Some(before)) => before.log_keys.contains(&name),
            (None, None) => true,
        };
        if counts {
            named.insert(name);
            trusted.push(jwk.clone());
        }
    }
    match trusted.is_empty() {
        true => Err(ControlError::LogKeyNotPinned),
        false => Ok((named, trusted)),
    }
}
