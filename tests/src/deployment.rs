//! A whole deployment: Postgres, evidence service, gateway, providers, one project, one API key.

mod replica;

pub use replica::Replica;

use crate::mcp::{Agent, Http};
use crate::postgres::Postgres;
use crate::process::Process;
use crate::repository::program;
use anyhow::{Context, bail, ensure};
use counterfoil_core::time::Timestamp;
use serde_json::Value;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A provider as a test wants it: how it is reached, and what the registry says of it.
pub struct Provider {
    pub id: &'static str,
    pub reach: Reach,
    /// TOML below `[provider.<id>]`: members, then `[provider.<id>.tool.…]` tables.
    pub registry: String,
}

pub enum Reach {
    /// A program and its arguments.
    Command(Vec<String>),
    Url(String),
    /// Not through the gateway: its vendor calls it, and asks before.
    Nowhere,
}

impl From<Vec<String>> for Reach {
    fn from(command: Vec<String>) -> Self {
        Self::Command(command)
    }
}

pub struct Plan {
    pub providers: Vec<Provider>,
    /// Cedar; `DEADLINE` becomes a date thirty days ahead.
    pub rules: String,
}

pub struct Deployment {
    pub postgres: Postgres,
    pub evidence: Option<Process>,
    pub gateway: Option<Process>,
    pub http: Http,
    /// `https://<host>/p/<slot>-<public id>`
    pub issuer: String,
    pub project: String,
    pub api_key: String,
    folder: TempDir,
    ports: [u16; 3],
}

impl Deployment {
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        Self::start_on(Postgres::start()?, plan)
    }

    pub fn start_on(postgres: Postgres, plan: &Plan) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("counterfoil-test-").tempdir()?;
        let ports = free_ports()?;
        let founded = init(folder.path(), &postgres, ports)?;
        let text = |name: &str| founded[name].as_str().map(str::to_owned).context("`init --json` names it");
        let mut deployment = Self {
            issuer: text("issuer")?,
            project: text("project")?,
            api_key: text("api_key")?,
            postgres,
            evidence: None,
            gateway: None,
            http: Http::new()?,
            folder,
            ports,
        };
        deployment.add_providers(plan)?;
        deployment.publish(plan)?;
        deployment.start_evidence()?;
        deployment.start_gateway()?;
        Ok(deployment)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An agent of this project at one provider.
    pub fn agent(&self, provider: &str) -> Agent {
        Agent::new(self.mcp_url(provider), &self.api_key)
    }

    pub fn mcp_url(&self, provider: &str) -> String {
        format!("http://127.0.0.1:{}/mcp/{provider}", self.ports[0])
    }

    pub fn gateway_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[0])
    }

    pub fn evidence_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports[1])
    }

    /// `/p/<slot>-<public id>`
    pub fn page(&self) -> &str {
        let place = self.issuer.find("/p/").expect("an issuer has a page");
        &self.issuer[place..]
    }

    /// What the page says, as JSON.
    pub fn page_json(&self) -> anyhow::Result<serde_json::Value> {
        let page = self.fetch(&format!("{}{}.json", self.evidence_url(), self.page()), None)?;
        Ok(serde_json::from_slice(&page)?)
    }

    pub fn jwks(&self) -> anyhow::Result<Vec<u8>> {
        self.fetch(&format!("{}{}/jwks.json", self.evidence_url(), self.page()), None)
    }

    pub fn gateway_jwks(&self) -> anyhow::Result<Vec<u8>> {
        self.fetch(&format!("{}{}/gateway-jwks.json", self.gateway_url(), self.page()), None)
    }

    pub fn receipt(&self, seq: u64) -> anyhow::Result<Vec<u8>> {
        self.fetch(&format!("{}/v1/receipts/{seq}", self.evidence_url()), Some(&self.api_key))
    }

    fn fetch(&self, url: &str, key: Option<&str>) -> anyhow::Result<Vec<u8>> {
        let answer = self.http.get(url, key)?;
        ensure!(answer.status == 200, "{url}: {} {}", answer.status, answer.text());
        Ok(answer.body)
    }

    /// A connection that sees every row.
    pub fn database(&self) -> anyhow::Result<::postgres::Client> {
        Ok(self.postgres.connect("counterfoil", "postgres")?)
    }

    pub fn start_evidence(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(program("counterfoil-evidence")?);
        command.arg(self.folder().join("evidence.toml"));
        let url = format!("http://127.0.0.1:{}/readyz", self.ports[2]);
        self.evidence = Some(self.ready("evidence", &mut command, &url)?);
        Ok(())
    }

    pub fn start_gateway(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(program("counterfoil-gateway")?);
        command.arg(self.folder().join("gateway.toml"));
        let url = format!("{}/readyz", self.gateway_url());
        self.gateway = Some(self.ready("gateway", &mut command, &url)?);
        Ok(())
    }

    /// Starts the gateway anew, with this patience for calls that a person has to answer.
    pub fn keep_waiting(&mut self, wait_ms: u32) -> anyhow::Result<()> {
        let path = self.folder().join("gateway.toml");
        let config = std::fs::read_to_string(&path)?;
        let lines = config.lines().map(|line| match line.starts_with("wait_ms = ") {
            true => format!("wait_ms = {wait_ms}\n"),
            false => format!("{line}\n"),
        });
        std::fs::write(&path, lines.collect::<String>())?;
        self.gateway.take().context("a gateway runs")?.kill()?;
        self.start_gateway()
    }

    /// Waits until a gateway that was running all along is ready again.
    pub fn until_ready(&mut self) -> anyhow::Result<()> {
        let url = format!("{}/readyz", self.gateway_url());
        let http = &self.http;
        let gateway = self.gateway.as_mut().context("a gateway runs")?;
        gateway.until("ready again", || http.get(&url, None).is_ok_and(|answer| answer.status == 200))
    }

    fn ready(&self, name: &str, command: &mut Command, url: &str) -> anyhow::Result<Process> {
        let mut process = Process::start(name, command, &self.folder().join(format!("{name}.log")))?;
        process.until("ready", || self.http.get(url, None).is_ok_and(|answer| answer.status == 200))?;
        Ok(process)
    }

    fn add_providers(&self, plan: &Plan) -> anyhow::Result<()> {
        let path = self.folder().join("gateway.toml");
        let mut config = std::fs::read_to_string(&path)?;
        // Nobody answers held calls unless a test says so.
        config.push_str("\n[holds]\nwait_ms = 0\n");
        for provider in &plan.providers {
            // JSON's texts and lists are TOML's too.
            let reach = match &provider.reach {
                Reach::Command(command) => format!("command = {}", serde_json::to_string(command)?),
                Reach::Url(url) => format!("url = {}", serde_json::to_string(url)?),
                Reach::Nowhere => continue,
            };
            write!(config, "\n[provider.{}]\nproject = \"{}\"\n{reach}\n", provider.id, self.project)?;
        }
        std::fs::write(path, config)?;
        Ok(())
    }

    /// Publishes other rules beside the same registry.
    pub fn publish_rules(&self, rules: &str) -> anyhow::Result<()> {
        let file = self.folder().join("other-rules.cedar");
        std::fs::write(&file, rules.replace("DEADLINE", &thirty_days_ahead()?))?;
        let folder = self.folder().to_owned();
        counterfoil(&["policy", "publish"], &[("--dir", &folder), ("--rules", &file)])?;
        Ok(())
    }

    fn publish(&self, plan: &Plan) -> anyhow::Result<()> {
        let (registry, rules) = (self.folder().join("registry.toml"), self.folder().join("rules.cedar"));
        let mut text = "v = 1\n".to_owned();
        for provider in &plan.providers {
            write!(text, "\n[provider.{}]\n{}", provider.id, provider.registry)?;
        }
        std::fs::write(&registry, text)?;
        std::fs::write(&rules, plan.rules.replace("DEADLINE", &thirty_days_ahead()?))?;
        let folder = self.folder().to_owned();
        // Nobody lists the tools of a provider that is nowhere.
        if plan.providers.iter().any(|provider| !matches!(provider.reach, Reach::Nowhere)) {
            counterfoil(&["policy", "pin"], &[("--dir", &folder), ("--registry", &registry)])?;
        }
        counterfoil(
            &["policy", "publish"],
            &[("--dir", &folder), ("--registry", &registry), ("--rules", &rules)],
        )?;
        Ok(())
    }
}

fn init(folder: &Path, postgres: &Postgres, ports: [u16; 3]) -> anyhow::Result<Value> {
    let mut command = Command::new(program("counterfoil")?);
    command.args(["init", "--json", "--database", &postgres.address(), "--dir"]).arg(folder);
    for (name, port) in ["--gateway-port", "--evidence-port", "--internal-port"].iter().zip(ports) {
        command.arg(name).arg(port.to_string());
    }
    Ok(serde_json::from_slice(&output(command)?)?)
}

/// Runs the program and returns what it printed; fails with what it complained about.
pub fn counterfoil(words: &[&str], paths: &[(&str, &PathBuf)]) -> anyhow::Result<Vec<u8>> {
    let mut command = Command::new(program("counterfoil")?);
    command.args(words);
    for (name, path) in paths {
        command.arg(name).arg(path);
    }
    output(command)
}

fn output(mut command: Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

fn free_ports() -> anyhow::Result<[u16; 3]> {
    // All three are held until each is known, so that they differ.
    let listeners = [
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
        TcpListener::bind("127.0.0.1:0")?,
    ];
    let port = |listener: &TcpListener| listener.local_addr().map(|address| address.port());
    Ok([port(&listeners[0])?, port(&listeners[1])?, port(&listeners[2])?])
}

#[expect(clippy::disallowed_methods, reason = "an allow must end, and a test's rules begin now")]
fn thirty_days_ahead() -> anyhow::Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let then = Timestamp::from_millis(i64::try_from(now.as_millis())? + 30 * 86_400_000)?;
    // Cedar's datetime, without the milliseconds.
    Ok(format!("{}Z", &then.to_string()[..19]))
}
