//! Everything one gateway process holds: projects, providers, keys, children. Built once, shared by all calls.

use crate::clock::LedgerClock;
use crate::control::Follower;
use crate::definitions::Definitions;
use crate::evidence::Evidence;
use crate::executions::Executions;
use crate::front::Names;
use crate::front::rate::Rates;
use crate::front::session::Sessions;
use crate::front::tasks::Tasks;
use crate::holds::Holds;
use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::past::Turns;
use crate::recorder::Recorder;
use crate::self_test::SelfTest;
use crate::shelf::Shelf;
use crate::told::Told;
use crate::upstream::{Fleet, Start};
use counterfoil_core::commitment::hmac_sha256;
use counterfoil_core::id::{ProjectId, ProviderId};
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Capability, Decision, Jwk, SigningKey};
use counterfoil_core::nonce::base64url;
use counterfoil_jwks::{PublishedKey, Secret};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::task::TaskTracker;

pub struct House {
    pub names: Names,
    pub rates: Rates,
    pub metrics: Metrics,
    /// Whether metrics have a listener of their own.
    pub metrics_elsewhere: bool,
    pub projects: Vec<Arc<Project>>,
    pub providers: BTreeMap<ProviderId, Arc<Provider>>,
    /// For what a vendor asks of the evidence service through us.
    pub evidence: Arc<Evidence>,
    pub fleet: Fleet,
    pub shelf: Shelf,
    pub definitions: Definitions,
    pub sessions: Sessions,
    pub in_flight: InFlight,
    pub holds: Holds,
    pub turns: Turns,
    pub tasks: Tasks,
    pub told: Told,
    pub keys: Arc<Keys>,
    /// Calls that must come to their end before the process does.
    pub calls: TaskTracker,
}

/// One project as this gateway serves it.
pub struct Project {
    pub id: ProjectId,
    pub control: Arc<Follower>,
    pub recorder: Recorder,
    pub executions: Arc<Executions>,
    pub clock: Arc<LedgerClock>,
    pub self_test: SelfTest,
}

pub struct Provider {
    pub id: ProviderId,
    pub project: ProjectId,
    pub start: Start,
    pub ceiling: Duration,
}

pub struct Keys {
    pub decision: SigningKey<Decision>,
    pub capability: SigningKey<Capability>,
    /// Never rotates: a provider knows a principal by what this makes of it.
    pub pairwise: Secret,
    pub published: Vec<PublishedKey>,
}

impl Keys {
    /// Our decision keys, present and past, without their time windows: what we signed is ours whenever it was.
    pub fn own_decision_keys(&self) -> Vec<Jwk> {
        self.published
            .iter()
            .filter(|key| key.purpose == counterfoil_core::key::Purpose::Decision)
            .map(|key| Jwk::new(&key.public, key.purpose))
            .collect()
    }

    /// A principal's name at one provider: nobody can join two providers' users by it.
    ///
    /// HMAC-SHA-256(project key, JCS([aud, principal])), where the project key is HMAC-SHA-256(secret, "sub/v1\n" + project).
    pub fn pairwise_name(&self, project: ProjectId, aud: &str, principal: Option<&str>) -> String {
        let label = format!("sub/v1\n{project}");
        let key = hmac_sha256(self.pairwise.dangerous_bytes(), label.as_bytes());
        pairwise(&key, aud, principal)
    }
}

fn pairwise(key: &[u8; 32], aud: &str, principal: Option<&str>) -> String {
    base64url(&hmac_sha256(key, &canonical(&(aud, principal))))
}

impl Project {
    /// Why nothing can be judged now, or nothing if all is well.
    pub fn fault(&self) -> Option<&'static str> {
        let untested = || (!self.self_test.is_passed()).then_some("self_test");
        self.fault_before_the_test().or_else(untested)
    }

    /// As [`Project::fault`], for the self-test itself.
    pub fn fault_before_the_test(&self) -> Option<&'static str> {
        let no_time = || self.clock.now().is_err().then_some("clock_unknown");
        self.control.fault().or_else(no_time)
    }
}

impl House {
    /// All providers of this project.
    pub fn providers_of(&self, project: ProjectId) -> Vec<Arc<Provider>> {
        self.providers.values().filter(|provider| provider.project == project).cloned().collect()
    }

    /// A provider of this project. One of another project does not exist for it.
    pub fn provider(&self, id: &str, project: ProjectId) -> Option<Arc<Provider>> {
        let provider = self.providers.get(&id.parse().ok()?)?;
        (provider.project == project).then(|| provider.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pairwise_name_comes_out_as_in_the_golden_case() {
        let name = pairwise(&[7; 32], "https://notes.example/mcp", Some("u-88"));

        assert_eq!(name, "Iu2gle_6FvhX_ZGYOc4t8Zl3kKMUcDk3ZW01Q8a9vNo");
        assert_ne!(name, pairwise(&[7; 32], "https://mail.example/mcp", Some("u-88")));
        assert_ne!(name, pairwise(&[7; 32], "https://notes.example/mcp", None));
    }
}
