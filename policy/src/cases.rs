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
//! Optional: `rules`, `effect`, `agent`, `principal`, `at`, `env`, and `definition = "changed"`, without which the tool is
//! taken to be listed as it was pinned. A tool without a pin is held, here as in the gateway. And what people may have done:
//!
//!     base_verdict = "DENY"
//!     approved = true                                   # a person has answered this very call
//!     grants = [{ action = "notes.read", noun = { type = "path", value = "/etc/motd" }, until = "2026-12-01T00:00:00.000Z" }]
//!     session = { operations = { read = 3 }, data_classes = { personal = 1 } }   # what the key did; also destinations, cleared, refused
//!     breakglass_until = "2026-12-01T00:00:00.000Z"     # also shadow_until, and stopped = true

use crate::bundle::Bundle;
use crate::classify::{Call, classify};
use crate::evaluate::{Judgement, evaluate};
use crate::facts::{Asked, BaseVerdict, Facts, Standing};
use crate::grants::Grants;
use crate::lint::LintError;
use crate::listed::Listed;
use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::hold::CardNoun;
use counterfoil_core::id::{AgentId, RuleId};
use counterfoil_core::json;
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::session::Summary;
use counterfoil_core::statement::{
    Answers, DataClass, Destination, Effect as Bound, Environment, Mode, Operation, Origin, Reason, Verb,
    Verdict,
};
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
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
    effect: Option<Bound>,
    base_verdict: Option<BaseVerdict>,
    #[serde(default)]
    approved: bool,
    /// Of the agent that asks.
    #[serde(default)]
    grants: Vec<GrantText>,
    /// What the key did before; nothing, where a rule asks and the case does not say.
    #[serde(default)]
    session: SessionText,
    breakglass_until: Option<Timestamp>,
    shadow_until: Option<Timestamp>,
    #[serde(default)]
    stopped: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SessionText {
    operations: BTreeMap<Operation, u64>,
    data_classes: BTreeMap<DataClass, u64>,
    destinations: BTreeMap<Destination, u64>,
    cleared: u64,
    refused: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrantText {
    action: String,
    noun: CardNoun,
    #[serde(default)]
    fields: Map<String, Value>,
    until: Timestamp,
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
    let agent = case.agent.unwrap_or_else(anybody);
    let grants = Grants::compile(&documents(&case.grants, agent), bundle);
    let approval = case.approved.then(an_answer);
    let session = bundle.has_sessions().then(|| session(&case.session));
    let arguments = Value::Object(case.args.clone());
    let call = Call { provider: &case.provider, tool: &case.tool, listed: &listed, arguments: &arguments };
    let asked = Asked {
        agent,
        principal: case.principal.as_deref(),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        env: case.env.unwrap_or(Environment::Live),
        provider: Some(&case.provider),
        tool: Some(&case.tool),
        args: Some(Digest::of(&json::canonical(&arguments))),
        now: case.at.unwrap_or(at),
        base_verdict: case.base_verdict.unwrap_or(BaseVerdict::StepUp),
        standing: Standing {
            grants: grants.digests(agent),
            approval: approval.as_ref(),
            session: session.as_ref(),
            breakglass_until: case.breakglass_until,
            shadow_until: case.shadow_until,
            signals: None,
            stopped: case.stopped,
        },
    };
    let classification = classify(bundle.registry(), &call);
    let judgement = evaluate(bundle, &grants, &Facts::of(&asked, &classification));
    CaseResult { difference: difference(&case, &judgement), name: case.name, judgement }
}

fn session(said: &SessionText) -> Summary {
    let first = "act_00000000000070008000000000000000".parse();
    Summary {
        operations: said.operations.clone(),
        data_classes: said.data_classes.clone(),
        destinations: said.destinations.clone(),
        cleared: said.cleared,
        refused: said.refused,
        ..Summary::begun_by(first.expect("32 hexadecimal digits after the prefix are an id of an action"))
    }
}

/// An agent that no rule names.
fn anybody() -> AgentId {
    "agt_00000000000070008000000000000000"
        .parse()
        .expect("32 hexadecimal digits after the prefix are an agent id")
}

/// Ids in the order of the case, so that a case may name `grt_…0000` and so on in `rules`. What is no action is left out:
/// nothing could be granted by it.
fn documents(grants: &[GrantText], agent: AgentId) -> Vec<GrantDocument> {
    let documents = grants.iter().enumerate().filter_map(|(place, grant)| {
        let (service, verb) = grant.action.split_once('.')?;
        let verb = Verb::ALL.iter().find(|known| known.as_str() == verb)?;
        Some(GrantDocument {
            v: 1,
            nonce: Nonce16::from_bytes([0; 16]),
            grant: format!("grt_0000000000007000800000000000{place:04x}").parse().ok()?,
            agent,
            service: service.parse().ok()?,
            verb: *verb,
            noun: grant.noun.clone(),
            fields: grant.fields.clone(),
            until: grant.until,
        })
    });
    documents.collect()
}

/// The answer of an approval; what it names is not looked at by the evaluation.
fn an_answer() -> Answers {
    let nothing = Digest::of(b"");
    let hold = "hld_00000000000070008000000000000000".parse();
    Answers {
        hold: hold.expect("32 hexadecimal digits after the prefix are an id of a hold"),
        decision: nothing,
        answer: nothing,
    }
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
    if let Some(effect) = case.effect
        && judgement.effect != effect
    {
        return Some(format!("expected it {effect}, got {} and {got}", judgement.effect));
    }
    match &case.rules {
        Some(rules) if *rules != judgement.rules => Some(format!("expected rules {rules:?}, got {got}")),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests;
