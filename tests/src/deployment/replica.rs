//! A second evidence service and a second gateway on the same database, with the same keys, as a balancer would have.

use super::{Deployment, free_ports};
use crate::mcp::Agent;
use crate::process::Process;
use crate::repository::program;
use std::path::PathBuf;
use std::process::Command;

pub struct Replica {
    pub evidence: Process,
    pub gateway: Process,
    gateway_port: u16,
    api_key: String,
}

impl Deployment {
    /// Its gateway asks its own evidence service, so that the two meet in the database alone.
    pub fn replica(&self) -> anyhow::Result<Replica> {
        let ports = free_ports()?;
        let evidence = self.copy("evidence", ports, &[("evidence-heads.json", "evidence-heads-2.json")])?;
        let gateway = self.copy("gateway", ports, &[])?;
        let ready = |port: u16| format!("http://127.0.0.1:{port}/readyz");
        let start = |name: &str, config: PathBuf, port| {
            let mut command = Command::new(program(&format!("counterfoil-{name}"))?);
            self.ready(&format!("{name}-2"), command.arg(config), &ready(port))
        };
        Ok(Replica {
            evidence: start("evidence", evidence, ports[2])?,
            gateway: start("gateway", gateway, ports[0])?,
            gateway_port: ports[0],
            api_key: self.api_key.clone(),
        })
    }

    /// The configuration of a service with other ports and other files.
    fn copy(&self, name: &str, ports: [u16; 3], renamed: &[(&str, &str)]) -> anyhow::Result<PathBuf> {
        let mut text = std::fs::read_to_string(self.folder().join(format!("{name}.toml")))?;
        for (ours, others) in self.ports.iter().zip(ports) {
            text = text.replace(&format!("127.0.0.1:{ours}"), &format!("127.0.0.1:{others}"));
        }
        for (ours, others) in renamed {
            text = text.replace(ours, others);
        }
        let copy = self.folder().join(format!("{name}-2.toml"));
        std::fs::write(&copy, text)?;
        Ok(copy)
    }
}

impl Replica {
    pub fn agent(&self, provider: &str) -> Agent {
        Agent::new(format!("http://127.0.0.1:{}/mcp/{provider}", self.gateway_port), &self.api_key)
    }
}
