//! The command line: one module a command.

mod demo;
mod demo_provider;
mod dev;
mod epochs;
mod export;
mod findings;
mod follow;
mod forget;
mod fsck;
mod grants;
mod headers;
mod health;
mod holds;
mod import;
mod init;
mod keys;
mod kill;
mod operators;
mod package;
mod page;
mod policy;
mod provider_check;
mod registry;
mod retention;
mod server;
mod stdio;
mod verify;
mod verify_page;
mod watch;
mod windows;
mod wrap;

use std::process::ExitCode;

use counterfoil_evidence::setup::Window;

/// Governed tool calls with receipts that a stranger can check.
#[derive(clap::Parser)]
#[command(name = "counterfoil", version)]
pub struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Run both services and a database on this machine, for development
    Dev(dev::Arguments),
    /// Put your own MCP server behind the gateway, with a draft of what may be called
    Wrap(wrap::Arguments),
    /// Put the servers of an agent host behind the gateway
    Import(import::Arguments),
    /// Show one allowed, one denied and one held call, and verify their receipts
    Demo(demo::Arguments),
    /// Make the keys, the database, a project and the configuration of both services
    Init(init::Arguments),
    /// Speak to the gateway over standard input and output, for hosts that only start processes
    Stdio(stdio::Arguments),
    /// Check one receipt offline
    Verify(verify::Arguments),
    /// Print the digest of verify.html, which verifies a package in a browser with no network; write the file out
    VerifyPage(verify_page::Arguments),
    /// Fetch an evidence package of a project: a zip that verifies offline
    Package(package::Arguments),
    /// See from cron that a log only grows: keeps its newest checkpoint and proves the next one against it
    Watch(watch::Arguments),
    /// List, make, rotate and revoke keys
    #[command(subcommand)]
    Keys(keys::Command),
    /// Seal, list and remove headers that providers with an address want to see
    #[command(subcommand)]
    Headers(headers::Command),
    /// Test, check, pin and publish registry and rules
    #[command(subcommand)]
    Policy(policy::Command),
    /// Draft a registry from a server's own list, or compare one with it
    #[command(subcommand)]
    Registry(registry::Command),
    /// List, archive, erase whole days of the record, and check an archive
    #[command(subcommand)]
    Epochs(epochs::Command),
    /// Forget one person: empty what was said about their actions
    Forget(forget::Arguments),
    /// List what disagrees in the record, and write a note on it
    #[command(subcommand)]
    Findings(findings::Command),
    /// List calls that wait for a person, show one, answer it
    #[command(subcommand)]
    Holds(holds::Command),
    /// List what people granted for a time; take it back, shorten or renew it
    #[command(subcommand)]
    Grants(grants::Command),
    /// Stop a project, an agent, a connection or an environment: nothing of it is allowed any more
    Kill(kill::Kill),
    /// Let run again what a kill stopped
    Resume(kill::Resume),
    /// For a while let run, marked, what nothing allows; what a rule denies stays denied
    #[command(subcommand)]
    Breakglass(windows::Command),
    /// For a while say what published rules refuse or hold, without enforcing it
    #[command(subcommand)]
    Shadow(windows::Command),
    /// Make, list and revoke tokens of people who answer held calls
    #[command(subcommand)]
    Operators(operators::Command),
    /// Show or change how long bodies are kept
    Retention(retention::Arguments),
    /// Say who may see the project's page
    Page(page::Arguments),
    /// Ask an MCP server over HTTP whether it refuses calls without a fresh capability of their own
    ProviderCheck(provider_check::Arguments),
    /// Recompute every ledger of a database from its signed bodies; changes nothing
    Fsck(fsck::Arguments),
    /// Copy a project's record to keep it
    #[command(subcommand)]
    Export(export::Command),
    /// Ask a service whether it is ready: exit 0 or 1, for health checks
    #[command(hide = true)]
    Health(health::Arguments),
    /// The provider of the demo
    #[command(hide = true)]
    DemoProvider(demo_provider::Arguments),
}

impl Program {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            Command::Dev(arguments) => done(dev::run(arguments).await),
            Command::Wrap(arguments) => done(wrap::run(arguments).await),
            Command::Import(arguments) => done(import::run(arguments).await),
            Command::Demo(arguments) => demo::run(arguments).await,
            Command::Init(arguments) => done(init::run(arguments).await),
            Command::Stdio(arguments) => done(stdio::run(arguments).await),
            Command::Verify(arguments) => Ok(verify::run(&arguments)),
            Command::VerifyPage(arguments) => done(verify_page::run(&arguments)),
            Command::Package(arguments) => done(package::run(arguments).await),
            Command::Watch(arguments) => watch::run(arguments).await,
            Command::Keys(command) => done(keys::run(command).await),
            Command::Headers(command) => done(headers::run(command)),
            Command::Policy(command) => policy::run(command).await,
            Command::ProviderCheck(arguments) => provider_check::run(arguments).await,
            Command::Registry(command) => registry::run(command).await,
            Command::Epochs(command) => epochs::run(command).await,
            Command::Forget(arguments) => done(forget::run(arguments).await),
            Command::Findings(command) => done(findings::run(command).await),
            Command::Holds(command) => done(holds::run(command).await),
            Command::Grants(command) => done(grants::run(command).await),
            Command::Operators(command) => done(operators::run(command).await),
            Command::Kill(arguments) => kill::kill(arguments).await,
            Command::Resume(arguments) => kill::resume(arguments).await,
            Command::Breakglass(command) => done(windows::run(command, Window::Breakglass).await),
            Command::Shadow(command) => done(windows::run(command, Window::Shadow).await),
            Command::Retention(arguments) => done(retention::run(arguments).await),
            Command::Page(arguments) => done(page::run(arguments).await),
            Command::Fsck(arguments) => fsck::run(arguments).await,
            Command::Export(command) => export::run(command).await,
            Command::Health(arguments) => health::run(arguments).await,
            Command::DemoProvider(arguments) => done(demo_provider::run(arguments).await),
        }
    }
}

fn done(finished: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    finished.map(|()| ExitCode::SUCCESS)
}
