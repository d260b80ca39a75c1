//! Probes: whether providers refuse what they must (P10, C1).
//!
//! Promised: once a day, one call after another, a tool that the registry in force marks harmless is called with capabilities
//! that must be refused, of which none is a slip for a call that was decided (`counterfoil_core::probe`); what came back is told
//! to the evidence service, which makes it an entry. A tool that is not listed as it is pinned is not called, nor one of a
//! killed project; a provider that the registry does not oblige to look at capabilities is called once, without one.
//! Not promised: that a replay is refused (that is tried from outside: `counterfoil provider-check`), or that every call is told:
//! a gateway that ends half way tells nothing. These calls are no actions: nobody decided them, and whatever of them is
//! executed stands in the entry as `passed`.

use crate::chance;
use crate::config::ProbesConfig;
use crate::control::Control;
use crate::house::{House, Project, Provider};
use crate::pipeline::audience;
use crate::upstream::{Connection, Outcome};
use counterfoil_core::id::{KeyId, ToolName};
use counterfoil_core::key::{Capability, SigningKey};
use counterfoil_core::probe::{Forge, OF_A_GATEWAY, Target, ToldProbe, of_error};
use counterfoil_core::statement::{ProbeCase, ProbeOutcome, Tried};
use counterfoil_core::time::Timestamp;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A refusal is quick; who takes longer is doing something.
const WITHIN: Duration = Duration::from_secs(20);

/// Probes a project's providers, until stopped.
pub async fn keep_probing(
    project: Arc<Project>,
    house: Arc<House>,
    when: ProbesConfig,
    stop: CancellationToken,
) {
    let Some(every) = when.every() else { return };
    let mut pause = when.first();
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        tokio::select! {
            () = round(&project, &house) => pause = every,
            () = stop.cancelled() => return,
        }
    }
}

async fn round(project: &Project, house: &House) {
    for provider in house.providers_of(project.id) {
        // Read anew for each: a kill may have come meanwhile.
        let Some(control) = project.control.known().filter(|known| !known.snapshot.killed) else { return };
        let Some(tool) = harmless(&control, &provider) else { continue };
        let Some(told) = probe(project, &provider, &tool, &control, house).await else {
            tracing::warn!(provider = %provider.id, %tool, "not probed: away, or the tool is not listed as it is pinned");
            continue;
        };
        if told.cases.iter().any(|tried| tried.outcome != ProbeOutcome::Refused) {
            tracing::error!(provider = %provider.id, %tool, cases = ?told.cases, "a provider did not refuse what it must");
        }
        if let Err(error) = house.evidence.probe(&told).await {
            tracing::warn!(provider = %provider.id, %error, "a probe was not told");
        }
    }
}

/// The first tool that is marked, by name.
fn harmless(control: &Control, provider: &Provider) -> Option<ToolName> {
    let entry = control.bundle.registry().provider(provider.id.as_str())?;
    entry.tools().find(|tool| tool.is_harmless()).map(|tool| tool.name().clone())
}

/// None where nothing was sent.
async fn probe(
    project: &Project,
    provider: &Provider,
    tool: &ToolName,
    control: &Control,
    house: &House,
) -> Option<ToldProbe> {
    let began_at = project.clock.now().ok()?;
    // A key that no agent has: its connection is nobody else's.
    let nobody = KeyId::from_uuid(Uuid::nil());
    let connection = house.fleet.connect(nobody, &provider.start).await.ok()?;
    let catalogue = connection.catalogue().await.ok()?;
    let pin = control.tool(&provider.id, tool)?.pin()?;
    if catalogue.tool(tool.as_str())?.listed.pin() != pin {
        return None;
    }
    let demands = control.bundle.registry().provider(provider.id.as_str())?.capability();
    let cases = if demands { OF_A_GATEWAY } else { &[ProbeCase::Missing] };
    let aud = audience(control, &provider.id)?;
    let arguments = json!({});
    let target = Target {
        issuer: &control.iss().to_string(),
        audience: &aud,
        env: control.snapshot.env,
        generation: control.snapshot.generation,
        tool: tool.as_str(),
        arguments: &arguments,
    };
    let stranger = SigningKey::from_seed(&chance::bytes());
    let mut tried = Vec::new();
    for case in cases {
        let params = forged(&target, *case, (&house.keys.capability, &stranger), project.clock.now().ok()?)?;
        let outcome = ask(&connection, &params).await;
        tried.push(Tried { case: *case, outcome: outcome.unwrap_or(ProbeOutcome::Unclear) });
        if outcome.is_none() {
            break;
        }
    }
    let (provider, tool) = (provider.id.clone(), tool.clone());
    Some(ToldProbe { v: 1, project: project.id, provider, tool, began_at, cases: tried })
}

fn forged(
    target: &Target<'_>,
    case: ProbeCase,
    (known, stranger): (&SigningKey<Capability>, &SigningKey<Capability>),
    now: Timestamp,
) -> Option<String> {
    let mut nonce = chance::nonce;
    let mut forge = Forge { known: Some(known), stranger, now: now.millis() / 1000, nonce: &mut nonce };
    Some(target.attack(case, &mut forge)?.params.to_string())
}

/// None where there was no answer: who does not answer one call is not kept busy with others.
async fn ask(connection: &Connection, params: &str) -> Option<ProbeOutcome> {
    match connection.ask("tools/call", params, WITHIN, &CancellationToken::new()).await {
        Outcome::Returned(_) => Some(ProbeOutcome::Passed),
        Outcome::Failed(error) => {
            Some(serde_json::from_str(&error).map_or(ProbeOutcome::Unclear, |e| of_error(&e)))
        }
        Outcome::TimedOut | Outcome::Cancelled | Outcome::Gone | Outcome::Oversized | Outcome::Unsent => None,
    }
}

#[cfg(test)]
mod tests;
