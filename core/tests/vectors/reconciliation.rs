//! Situations and what follows from them.

use crate::{Outcome, equal, read};
use counterfoil_core::commitment::{Commitment, OpeningSeed};
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::{ActionId, ProviderId, ToolName};
use counterfoil_core::reconcile::{
    Decided, Duty, Found, Matter, Observed, Standing, Stated, Terms, Watch, reconcile, stray,
};
use counterfoil_core::statement::{
    Decision, Effect, FindingCode, Mark, Mode, ObservationStatus, Statement, Verdict,
};
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

type Pair = (FindingCode, String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Situation(Box<Situation>),
    Stray(Box<StrayCase>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StrayCase {
    #[serde(rename = "about")]
    _about: String,
    stray: Signed,
    findings: Vec<Pair>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Situation {
    #[serde(rename = "about")]
    _about: String,
    decision: Call,
    observation: Option<Seen>,
    statements: Vec<Signed>,
    duty: String,
    sign_within: i64,
    watch: String,
    now: i64,
    status: String,
    account: String,
    findings: Vec<Pair>,
    clears: Vec<Pair>,
    again_after: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    seq: u64,
    at: i64,
    mode: Mode,
    verdict: Verdict,
    effect: Effect,
    marks: Vec<Mark>,
    provider: ProviderId,
    tool: ToolName,
    args: Option<String>,
    quoted: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    seq: u64,
    at: i64,
    status: ObservationStatus,
    is_error: Option<bool>,
    result: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    seq: u64,
    at: i64,
    name: String,
    standing: String,
    signer: ProviderId,
    provider: Option<ProviderId>,
    tool: Option<ToolName>,
    outcome: counterfoil_core::statement::Outcome,
    args: Option<String>,
    result: Option<String>,
    charged: Option<u64>,
}

/// Second 0 of every case.
const START: i64 = 1_796_037_600_000;

fn time(seconds: i64) -> Result<Timestamp, String> {
    Timestamp::from_millis(START + seconds * 1000).map_err(|e| e.to_string())
}

fn named(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

fn value(name: Option<&String>) -> Option<Commitment> {
    name.map(|name| OpeningSeed::from_bytes([0; 16]).commit("value", name).commitment())
}

/// The published decision, so that a case speaks only of what it is about.
fn published() -> Result<Decision, String> {
    let text = std::fs::read(crate::docs().join("vectors/chain/decision.json")).map_err(|e| e.to_string())?;
    let case: Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let envelope = Envelope::parse(case["statement"].to_string().as_bytes()).map_err(|e| e.to_string())?;
    match envelope.statement().map_err(|e| e.to_string())? {
        Statement::Decision(decision) => Ok(*decision),
        other => Err(format!("not a decision but {}", other.kind())),
    }
}

impl Call {
    fn decided(self) -> Result<Decided, String> {
        let decision = Decision {
            mode: self.mode,
            verdict: self.verdict,
            effect: self.effect,
            marks: self.marks,
            provider: Some(self.provider),
            tool: Some(self.tool),
            args: value(self.args.as_ref()),
            ..published()?
        };
        let digest = named("decision");
        let entry =
            Entry::new(decision.project, self.seq, time(self.at)?, Kind::Decision, digest, named("prev"));
        let decided = Decided::of(&decision, digest, &entry);
        Ok(match self.quoted {
            Some(amount) => decided.quoting(amount),
            None => decided,
        })
    }
}

impl Seen {
    fn observed(self) -> Result<Observed, String> {
        Ok(Observed {
            digest: named("observation"),
            seq: self.seq,
            entered_at: time(self.at)?,
            status: self.status,
            is_error: self.is_error == Some(true),
            result: value(self.result.as_ref()),
        })
    }
}

impl Signed {
    fn stated(self, action: ActionId) -> Result<Stated, String> {
        let standing = match self.standing.as_str() {
            "holds" => Standing::Holds(self.signer),
            "ended" => Standing::Ended,
            "fails" => Standing::Fails,
            other => return Err(format!("no standing `{other}`")),
        };
        let fingerprint = named(&format!("{} {:?}", self.outcome, self.result));
        Ok(Stated {
            digest: named(&self.name),
            seq: self.seq,
            entered_at: time(self.at)?,
            standing,
            action: Some(action),
            decision: Some(named("decision")),
            provider: self.provider,
            tool: self.tool,
            args: value(self.args.as_ref()),
            result: value(self.result.as_ref()),
            outcome: self.outcome,
            fingerprint,
            charged: self.charged,
        })
    }
}

pub fn situation(case: &[u8]) -> Outcome {
    match read(case)? {
        Case::Stray(case) => {
            let found = stray(&case.stray.stated(published()?.action)?);
            equal("findings", codes(&[found]), digests(case.findings))
        }
        Case::Situation(case) => case.follows(),
    }
}

fn codes(findings: &[Found]) -> Vec<(FindingCode, Digest)> {
    findings.iter().map(|found| (found.code, found.statement)).collect()
}

fn digests(pairs: Vec<Pair>) -> Vec<(FindingCode, Digest)> {
    pairs.into_iter().map(|(code, name)| (code, named(&name))).collect()
}

impl Situation {
    fn follows(self) -> Outcome {
        let duty = match self.duty.as_str() {
            "owes" => Duty::Owes,
            "owes_nothing" => Duty::OwesNothing,
            other => return Err(format!("no duty `{other}`")),
        };
        let watch = match self.watch.as_str() {
            "open" => Watch::Open,
            "closed" => Watch::Closed,
            other => return Err(format!("no watch `{other}`")),
        };
        let mut matter = Matter::new(self.decision.decided()?);
        let action = matter.decided.action;
        matter.observed = self.observation.map(Seen::observed).transpose()?;
        let stated = self.statements.into_iter().map(|signed| signed.stated(action));
        matter.stated = stated.collect::<Result<_, _>>()?;
        let terms = Terms { duty, sign_within: self.sign_within * 1000 };

        let found = reconcile(&matter, terms, watch, time(self.now)?);

        equal("findings", codes(&found.findings), digests(self.findings))?;
        equal("status", found.status.as_str(), self.status.as_str())?;
        equal("account", found.account.as_str(), self.account.as_str())?;
        let clears: Vec<_> = found.clears.iter().map(|cleared| (cleared.code, cleared.by)).collect();
        equal("clears", clears, digests(self.clears))?;
        let again = self.again_after.map(time).transpose()?;
        equal("again_after", found.again_after, again)?;
        matter.stated.reverse();
        equal("in another order", reconcile(&matter, terms, watch, time(self.now)?), found)
    }
}

/// P4: the table has no row without a case.
#[test]
fn every_status_and_every_code_of_the_table_has_a_case() {
    let mut texts = String::new();
    for file in std::fs::read_dir(crate::docs().join("vectors/reconciliation")).expect("the folder is there")
    {
        let path = file.expect("folders can be listed").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            texts += &std::fs::read_to_string(path).expect("cases can be read");
        }
    }
    let codes = FindingCode::ALL.iter().take_while(|code| **code != FindingCode::BrokenChain);
    let statuses = counterfoil_core::reconcile::Status::ALL.iter().map(|status| status.as_str());
    for word in codes.map(|code| code.as_str()).chain(statuses) {
        assert!(texts.contains(&format!("\"{word}\"")), "no case of {word}");
    }
}
