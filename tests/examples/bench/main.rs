//! The same calls, directly to an echo provider and through the gateway, in one run on one machine.
//!
//!     scripts/bench            all of it, a minute and a half; prints the table of docs/benchmarks.md
//!     scripts/bench 20         twenty seconds a phase instead of five
//!
//! Closed loops of 1, 16 and 64 callers, then 200 calls a second whose latency counts from the moment each was due
//! (a caller that waits does not hide that it waits). Before and after, the time that one commit of one row takes in
//! the same Postgres: what no gateway that records before it acts can go below. Load, services and database share the
//! machine.

mod floor;
mod load;
mod machine;
mod phase;
mod report;
mod targets;

use anyhow::{Context, ensure};
use counterfoil_tests::deployment::{Deployment, Plan, Provider, counterfoil};
use counterfoil_tests::postgres::{Durability, Postgres};
use counterfoil_tests::repository::program;
use phase::{Load, Phase};
use std::time::Duration;
use targets::{Direct, Target, Through};

const REGISTRY: &str = r#"
capability = true

[provider.echo.tool.echo]
service = "echo"
verb = "read"
nouns = [{ type = "tool" }]
"#;

const RULES: &str = r#"
@id("echo")
permit (principal, action == Gw::Action::"echo.read", resource == Gw::Tool::"echo/echo")
when { context.now < datetime("DEADLINE") };
"#;

const LOADS: [Load; 4] = [Load::Closed(1), Load::Closed(16), Load::Closed(64), Load::Fixed(200)];

fn main() -> anyhow::Result<()> {
    let seconds = std::env::args().nth(1).map_or(Ok(5), |text| text.parse())?;
    let length = Duration::from_secs(seconds);
    let echo = program("examples/echo_provider")?.display().to_string();
    let provider = Provider { id: "echo", reach: vec![echo.clone()].into(), registry: REGISTRY.to_owned() };
    let plan = Plan { providers: vec![provider], rules: RULES.to_owned() };
    let deployment = Deployment::start_on(Postgres::start_with(Durability::Machine)?, &plan)?;
    // One thread makes the load, so that there is something left to measure.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;

    let floor_before = floor::measure(&deployment, length)?;
    let mut direct = Vec::new();
    for load in LOADS {
        let target = Target::Direct(runtime.block_on(Direct::start(&echo))?);
        direct.push(runtime.block_on(phase::run(load, length, &target))?);
    }
    let target = Target::Through(Through::new(&deployment)?);
    runtime.block_on(phase::run(Load::Closed(16), length.min(Duration::from_secs(3)), &target))?;
    // As autovacuum does within a minute; plans made for an empty table read all of a full one.
    deployment.database()?.batch_execute("analyze")?;
    let mut through = Vec::new();
    for load in LOADS {
        let before = machine::Snapshot::take(&deployment)?;
        let phase: Phase = runtime.block_on(phase::run(load, length, &target))?;
        through.push((phase, machine::Snapshot::take(&deployment)?.since(&before)));
    }
    let floor_after = floor::measure(&deployment, length)?;
    clean(&deployment)?;
    print!("{}", report::table(&floor_before, &floor_after, &direct, &through));
    Ok(())
}

/// What was measured was real: one chain, every signature, from the first entry to the head.
fn clean(deployment: &Deployment) -> anyhow::Result<()> {
    let config = deployment.folder().join("evidence.toml");
    let said = counterfoil(&["fsck"], &[("--database", &config)]).context("fsck")?;
    ensure!(said.starts_with(b"CLEAN"), "{}", String::from_utf8_lossy(&said));
    Ok(())
}
