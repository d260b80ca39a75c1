//! Cases: what an operator expects of registry and rules, checked before they are published.
//!
//!     [[case]]
//!     name = "a note outside the folder is held"
//!     provider = "notes"
//!     tool = "note_read"
//!     args = { path = "/etc/passwd" }
//!     verdict = "STEP_UP"
//!     reason = "no_rule"
//!
//! Optional: `rules`, `agent`, `principal`, `at`, `env`, and `definition = "changed"`, without which the tool is taken to
//! be listed as it was pinned. A tool without a pin is held, here as in the gateway.

use crate::bundle::Bundle;
use crate::classify::{Call, classify};
use crate::evaluate::{Judgement, evaluate};
use crate::facts::{Asked, BaseVerdict, Facts};
use crate::lint::LintError;
use crate::listed::Listed;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, RuleId};
use counterfoil_core::json;
use counterfoil_core::statement::{Environment, Mode, Origin, Reason, Verdict};
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CasesText {
    case: Vec<CaseText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    name: String,
    provider: String,
    tool: String,
    #[serde(default)]
    args: Map<String, Value>,
    verdict: Verdict,
    reason: Option<Reason>,
    rules: Option<Vec<RuleId>>,
    agent: Option<AgentId>,
    principal: Option<String>,
    at: Option<Timestamp>,
    env: Option<Environment>,
    #[serde(default)]
    definition: Definition,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Definition {
    #[default]
    Pinned,
    Changed,
}

/// One case as it came out.
#[derive(Clone, Debug)]
pub struct CaseResult {
    pub name: String,
    pub judgement: Judgement,
    /// What was expected and is not so, in words; `None` if the case holds.
    pub difference: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub results: Vec<CaseResult>,
}

impl Report {
    /// Whether there is at least one case and all hold.
    pub fn passed(&self) -> bool {
        !self.results.is_empty() && self.results.iter().all(|r| r.difference.is_none())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for result in &self.results {
            let Judgement { verdict, reason, .. } = &result.judgement;
            match &result.difference {
                None => writeln!(f, "holds  {}: {verdict} {reason}", result.name)?,
                Some(difference) => writeln!(f, "FAILS  {}: {difference}", result.name)?,
            }
        }
        let held = self.results.iter().filter(|r| r.difference.is_none()).count();
        write!(f, "{held} of {} cases hold", self.results.len())
    }
}

/// Judges every case as if it were asked at `at`, unless it says its own time.
pub fn run(bundle: &Bundle, cases_text: &str, at: Timestamp) -> Result<Report, LintError> {
    let cases: CasesText = toml::from_str(cases_text).map_err(|e| LintError::text("cases", e.to_string()))?;
    let results = cases.case.into_iter().map(|case| judge(bundle, case, at));
    Ok(Report { results: results.collect() })
}

fn judge(bundle: &Bundle, case: CaseText, at: Timestamp) -> CaseResult {
    let pinned = bundle.registry().tool(&case.provider, &case.tool).and_then(|tool| tool.pin());
    let listed = match (case.definition, pinned) {
        (Definition::Pinned, Some(pin)) => Listed::assumed(pin),
        (Definition::Pinned, None) | (Definition::Changed, _) => {
            Listed::assumed(Digest::of(b"another definition"))
        }
    };
    let arguments = Value::Object(case.args.clone());
    let call = Call { provider: &case.provider, tool: &case.tool, listed: &listed, arguments: &arguments };
    let asked = Asked {
        agent: case.agent.unwrap_or_else(anybody),
        principal: case.principal.as_deref(),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: case.env.unwrap_or(Environment::Live),
        provider: Some(&case.provider),
        tool: Some(&case.tool),
        args: Some(Digest::of(&json::canonical(&arguments))),
        now: case.at.unwrap_or(at),
        base_verdict: BaseVerdict::StepUp,
    };
    let classification = classify(bundle.registry(), &call);
    let judgement = evaluate(bundle, &Facts::of(&asked, &classification));
    CaseResult { difference: difference(&case, &judgement), name: case.name, judgement }
}

/// An agent that no rule names.
fn anybody() -> AgentId {
    "agt_00000000000070008000000000000000"
        .parse()
        .expect("32 hexadecimal digits after the prefix are an agent id")
}

fn difference(case: &CaseText, judgement: &Judgement) -> Option<String> {
    let got = format!(
        "{} {} by {:?}",
        judgement.verdict,
        judgement.reason,
        judgement.rules.iter().map(RuleId::as_str).collect::<Vec<_>>()
    );
    if judgement.verdict != case.verdict {
        return Some(format!("expected {}, got {got}", case.verdict));
    }
    if let Some(reason) = case.reason
        && judgement.reason != reason
    {
        return Some(format!("expected reason {reason}, got {got}"));
    }
    match &case.rules {
        Some(rules) if *rules != judgement.rules => Some(format!("expected rules {rules:?}, got {got}")),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests;
