//! The deny floor, checked before a gateway serves (G3).
//!
//! The floor is not a rule that somebody could delete: it is what is left when there are none. This runs the evaluator
//! over bundles that must never allow, so that a build in which they do does not start.

use crate::bundle::Bundle;
use crate::classify::{Call, classify};
use crate::evaluate::evaluate;
use crate::facts::{Asked, BaseVerdict, Facts, Standing};
use crate::grants::Grants;
use crate::listed::Listed;
use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::CardNoun;
use counterfoil_core::id::AgentId;
use counterfoil_core::json;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::{Environment, Mode, Origin, Verb, Verdict};
use counterfoil_core::time::Timestamp;
use serde_json::{Map, json};

/// An agent that nobody is.
const PROBE: &str = "agt_00000000000070008000000000000000";

#[derive(Debug, thiserror::Error)]
pub enum BootError {
    #[error("the deny floor could not be tested: {0}")]
    Untested(String),
    #[error("`{0}` allowed a call; this build must not serve")]
    Allowed(&'static str),
}

/// Rules under which the probe must not be allowed, with a name for the message.
const FLOORS: [(&str, &str); 3] = [
    ("no rules", ""),
    (
        "a forbid that does not match",
        r#"@id("probe") forbid (principal, action, resource == Gw::Path::"/elsewhere");"#,
    ),
    (
        "a permit that has ended",
        r#"@id("probe") permit (principal, action == Gw::Action::"probe.read", resource in Gw::Path::"/probe")
           when { context.now < datetime("2000-01-01T00:00:00Z") };"#,
    ),
];

/// Fails if this build allows a call that nothing allows.
pub fn no_rules_means_no_allow() -> Result<(), BootError> {
    let definition = json!({ "name": "probe", "inputSchema": { "type": "object" } });
    let listed = Listed::read(&definition);
    let registry = registry(listed.pin());
    for (name, rules) in FLOORS {
        let bundle = Bundle::compile(&registry, rules).map_err(|defects| {
            let defects: Vec<String> = defects.iter().map(ToString::to_string).collect();
            BootError::Untested(defects.join("; "))
        })?;
        let arguments = json!({ "path": "/probe/a" });
        let call = Call { provider: "probe", tool: "probe", listed: &listed, arguments: &arguments };
        let classification = classify(bundle.registry(), &call);
        // One that has ended stands for all that give nothing.
        for grants in [Grants::default(), Grants::compile(&[ended()?], &bundle)] {
            for base_verdict in [BaseVerdict::StepUp, BaseVerdict::Deny] {
                let mut asked = asked(base_verdict, Digest::of(&json::canonical(&arguments)))?;
                asked.standing.grants = grants.digests(asked.agent);
                let facts = Facts::of(&asked, &classification);
                if evaluate(&bundle, &grants, &facts).verdict == Verdict::Allow {
                    return Err(BootError::Allowed(name));
                }
            }
        }
    }
    Ok(())
}

fn registry(pin: Digest) -> String {
    format!(
        r#"
        v = 1
        [provider.probe.tool.probe]
        service = "probe"
        verb = "read"
        nouns = [{{ type = "path", at = "/path" }}]
        pin = "{pin}"
        "#
    )
}

fn untested(error: impl std::fmt::Display) -> BootError {
    BootError::Untested(error.to_string())
}

/// A grant of the very call that is asked about, up to a year before.
fn ended() -> Result<GrantDocument, BootError> {
    Ok(GrantDocument {
        v: 1,
        nonce: Nonce16::from_bytes([0; 16]),
        grant: "grt_00000000000070008000000000000000".parse().map_err(untested)?,
        agent: PROBE.parse().map_err(untested)?,
        service: "probe".parse().map_err(untested)?,
        verb: Verb::Read,
        noun: CardNoun { noun_type: "path".parse().map_err(untested)?, value: "/probe/a".to_owned() },
        fields: Map::new(),
        until: Timestamp::parse("2025-01-01T00:00:00.000Z").map_err(untested)?,
    })
}

fn asked(base_verdict: BaseVerdict, args: Digest) -> Result<Asked<'static>, BootError> {
    let agent: AgentId = PROBE.parse().map_err(untested)?;
    let now = Timestamp::parse("2026-01-01T00:00:00.000Z").map_err(untested)?;
    Ok(Asked {
        agent,
        principal: None,
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: Environment::Live,
        provider: Some("probe"),
        tool: Some("probe"),
        args: Some(args),
        now,
        base_verdict,
        standing: Standing::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G3
    #[test]
    fn this_build_keeps_the_deny_floor() {
        no_rules_means_no_allow().expect("nothing is allowed");
    }
}
