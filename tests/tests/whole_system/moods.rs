//! Providers whose mood a test can change while they run. Each has one tool, `echo`, pinned and allowed.

use counterfoil_tests::deployment::{Deployment, Plan, Provider};
use counterfoil_tests::foreign::node_provider;
use counterfoil_tests::mcp::{Agent, Http};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use tempfile::TempDir;

pub struct Moods {
    pub deployment: Deployment,
    folder: TempDir,
}

impl Moods {
    pub fn start(ids: &[&'static str]) -> Self {
        let folder = tempfile::Builder::new().prefix("counterfoil-moods-").tempdir().expect("a folder");
        let mut deployment = Deployment::start(&plan(ids, folder.path())).expect("a deployment starts");
        give_up_after_three_seconds(&mut deployment);
        Self { deployment, folder }
    }

    pub fn turn(&self, id: &str, mood: &str) {
        std::fs::write(self.folder.path().join(id), mood).expect("written");
    }

    /// `/mcp`
    pub fn everywhere(&self) -> Agent {
        Agent::new(format!("{}/mcp", self.deployment.gateway_url()), &self.deployment.api_key)
    }

    pub fn restart_gateway(&mut self) {
        self.deployment.gateway.take().expect("it runs").kill().expect("killed");
        self.deployment.start_gateway().expect("a gateway");
    }
}

/// The definitions that an agent is shown, and nothing beside them.
pub fn tools(agent: &Agent, http: &Http) -> Value {
    agent.list(http).expect("an answer").json().expect("JSON")["result"]["tools"].clone()
}

fn plan(ids: &[&'static str], moods: &Path) -> Plan {
    let mut rules = String::new();
    let mut providers = Vec::new();
    for id in ids {
        let mut command = node_provider("moody.mjs", &[moods]);
        command.push((*id).to_owned());
        let registry = format!(
            "[provider.{id}.tool.echo]\nservice = \"mood\"\nverb = \"read\"\nnouns = [{{ type = \"tool\" }}]\n"
        );
        providers.push(Provider { id, reach: command.into(), registry });
        write!(
            rules,
            "@id(\"{id}\")\npermit (principal, action == Gw::Action::\"mood.read\", resource == Gw::Tool::\"{id}/echo\")\n\
             when {{ context.now < datetime(\"DEADLINE\") }};\n"
        )
        .expect("a string takes text");
    }
    Plan { providers, rules }
}

/// A call of a provider that never answers ends in time for a test.
fn give_up_after_three_seconds(deployment: &mut Deployment) {
    let path = deployment.folder().join("gateway.toml");
    let config = std::fs::read_to_string(&path).expect("a configuration");
    std::fs::write(&path, config.replace("\ncommand =", "\nceiling_seconds = 3\ncommand ="))
        .expect("written");
    deployment.gateway.take().expect("it runs").kill().expect("killed");
    deployment.start_gateway().expect("a gateway");
}
