//! Every published case of the comparison, as entries of a real record.
//!
//! Where a case has a finding that something closes, the service must have said it before that came and have closed it
//! then: it is run before and after each entry. Three cases speak of amounts, which nobody opens here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use counterfoil_core::commitment::Commitment;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::SignatureBytes;
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::{Execution as ExecutionKey, SigningKey};
use counterfoil_core::statement::{
    Effect, KeyEvent, Mark, Mode, ObservationReason, ObservationStatus, Outcome, ReceivedForm, Signer,
    VendorExecution, Verdict,
};
use serde::Deserialize;

use crate::control::windows::Window;

use super::packed::assert_complete;
use super::world::{Call, World, fresh, value};

type Pair = (String, String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Situation(Box<Situation>),
    Stray(Box<StrayCase>),
}

#[derive(Deserialize)]
struct StrayCase {
    stray: Signed,
    findings: Vec<Pair>,
}

#[derive(Deserialize)]
struct Situation {
    decision: Decided,
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
struct Decided {
    mode: Mode,
    verdict: Verdict,
    effect: Effect,
    marks: Vec<Mark>,
    args: Option<String>,
    quoted: Option<u64>,
}

#[derive(Deserialize)]
struct Seen {
    at: i64,
    status: ObservationStatus,
    is_error: Option<bool>,
    result: Option<String>,
}

#[derive(Deserialize)]
struct Signed {
    at: i64,
    name: String,
    standing: String,
    signer: ProviderId,
    provider: Option<ProviderId>,
    outcome: Outcome,
    tool: Option<counterfoil_core::id::ToolName>,
    args: Option<String>,
    result: Option<String>,
    charged: Option<u64>,
}

fn commitment(name: Option<&String>) -> Option<Commitment> {
    name.map(|name| value(name))
}

/// A world in which a case happens.
struct Stage {
    world: World,
    /// A key of each provider that ends after the decision.
    ending: BTreeMap<ProviderId, SigningKey<ExecutionKey>>,
    start: i64,
    call: Option<Call>,
    names: BTreeMap<String, Digest>,
}

impl Stage {
    async fn new(terms: &str) -> Self {
        let mut world = World::signing(terms).await;
        world.open(Window::Breakglass).await;
        world.open(Window::Shadow).await;
        let mut ending = BTreeMap::new();
        for provider in ["notes", "mail"] {
            let key = fresh::<ExecutionKey>();
            world.provider_key(provider, KeyEvent::Introduced, key.public()).await;
            ending.insert(provider.parse().unwrap(), key);
        }
        let start = world.now.millis();
        Self { world, ending, start, call: None, names: BTreeMap::new() }
    }

    /// Compares what is due just before that second, then at it.
    async fn reach(&mut self, second: i64) {
        let at = self.start + second * 1000;
        let before = at - self.world.now.millis() - 1;
        if before > 0 {
            self.world.wait(before);
            self.world.compare().await;
        }
        self.world.wait((at - self.world.now.millis()).max(0));
    }

    async fn decide(&mut self, decided: &Decided) -> Call {
        let decision = counterfoil_core::statement::Decision {
            mode: decided.mode,
            effect: decided.effect,
            marks: decided.marks.clone(),
            args: commitment(decided.args.as_ref()),
            ..self.world.decision(decided.verdict)
        };
        let call = self.world.decide(decision).await;
        self.call = Some(call);
        self.names.insert("decision".to_owned(), call.decision);
        for (provider, key) in &self.ending {
            let key = key.public().clone();
            self.world.provider_key(provider.as_str(), KeyEvent::Revoked, &key).await;
        }
        self.world.compare().await;
        call
    }

    async fn observe(&mut self, call: Call, seen: &Seen) {
        self.reach(seen.at).await;
        let mut said = self.world.observation(call, seen.status);
        said.is_error = seen.is_error;
        said.result = commitment(seen.result.as_ref());
        said.reason = matches!(seen.status, ObservationStatus::NotSent).then_some(ObservationReason::TooLate);
        let digest = self.world.observe(said).await;
        self.names.insert("observation".to_owned(), digest);
        self.world.compare().await;
    }

    async fn state(&mut self, call: Call, signed: &Signed) {
        self.reach(signed.at).await;
        let own = match signed.signer.as_str() {
            "notes" => &self.world.notes,
            _ => &self.world.mail,
        };
        let stranger = fresh::<ExecutionKey>();
        let (key, holds) = match signed.standing.as_str() {
            "holds" => (own, true),
            "ended" => (&self.ending[&signed.signer], false),
            _ => (&stranger, false),
        };
        let digest = match &signed.provider {
            Some(provider) => {
                let mut said = self.world.execution(call, signed.outcome);
                (said.iss, said.provider) = (provider.clone(), provider.clone());
                said.tool = signed.tool.clone().unwrap();
                said.args = commitment(signed.args.as_ref());
                said.result = commitment(signed.result.as_ref());
                self.world.submit(said, key, holds).await
            }
            None => self.six_fields(call, signed, key, holds).await,
        };
        self.names.insert(signed.name.clone(), digest);
        self.world.compare().await;
    }

    async fn six_fields(
        &self,
        call: Call,
        signed: &Signed,
        key: &SigningKey<ExecutionKey>,
        holds: bool,
    ) -> Digest {
        let said = VendorExecution {
            action_id: call.action.to_string(),
            decision_id: VendorExecution::decision_id(&call.decision),
            outcome: signed.outcome,
            result_hash: signed.result.as_ref().map(|name| Digest::of(name.as_bytes())),
            error_code: None,
            executed_at: self.world.now.to_string(),
        };
        let signature = SignatureBytes(key.sign(counterfoil_core::json::canonical_text(&said).as_bytes()));
        let mut body = serde_json::to_value(&said).unwrap();
        body["signature"] = serde_json::json!({"kid": "k1", "alg": "Ed25519", "value": signature});
        let signer = Signer { kid: Some("k1".to_owned()), thumbprint: holds.then(|| key.kid().clone()) };
        self.world.wrap(ReceivedForm::VendorWire, signer, holds, serde_json::to_vec(&body).unwrap()).await
    }

    fn named(&self, pairs: &[Pair]) -> BTreeSet<(String, Digest)> {
        pairs.iter().map(|(code, name)| (code.clone(), self.names[name])).collect()
    }
}

impl Situation {
    async fn plays(&self) {
        let signs = self.duty == "owes";
        let terms = format!("signs = {signs}\nsign_within = {}", self.sign_within);
        let mut stage = Stage::new(&terms).await;
        let call = stage.decide(&self.decision).await;
        if self.watch == "closed" {
            stage.world.wait(500);
            stage.world.sweep().await;
            stage.world.compare().await;
        }
        let mut seen = self.observation.as_ref();
        for signed in &self.statements {
            if let Some(first) = seen.take_if(|first| first.at <= signed.at) {
                stage.observe(call, first).await;
            }
            stage.state(call, signed).await;
        }
        if let Some(seen) = seen {
            stage.observe(call, seen).await;
        }
        stage.reach(self.now).await;
        stage.world.compare().await;
        self.compare(&stage, call).await;

        // Long after, another call: nothing that follows is missing, nothing is there that does not follow.
        stage.world.wait(2 * 3_600_000);
        stage.world.compare().await;
        let other = stage.world.allow().await;
        stage.world.observe(stage.world.observation(other, ObservationStatus::Returned)).await;
        stage.world.state(stage.world.execution(other, Outcome::Executed)).await;
        stage.world.compare().await;
        assert_complete(&stage.world, signs.then_some(self.sign_within * 1000)).await;
        stage.world.assert_sums().await;
    }

    async fn compare(&self, stage: &Stage, call: Call) {
        let found: BTreeSet<_> = stage.world.findings().await.into_iter().collect();
        let cleared: BTreeSet<_> = stage.world.clearances().await.into_iter().collect();
        let wanted = stage.named(&self.findings);
        let closes = stage.named(&self.clears);
        assert!(wanted.is_subset(&found), "{wanted:?} of {found:?}");
        for (code, about) in found.difference(&wanted) {
            let by = closes.iter().find(|(closed, _)| closed == code);
            let by = by.unwrap_or_else(|| panic!("{code} does not follow"));
            assert_eq!(*about, call.decision);
            assert!(cleared.contains(by), "{code} stands open");
        }
        assert!(cleared.is_subset(&closes), "{cleared:?} of {closes:?}");
        let again = self.again_after.map(|second| stage.start + second * 1000);
        let (account, status, due) = stage.world.stands(call).await;
        assert_eq!((account, status, due), (self.account.clone(), self.status.clone(), again));
    }

    /// Whether entries can express it: amounts are sealed.
    fn is_about_amounts(&self) -> bool {
        self.decision.quoted.is_some() || self.statements.iter().any(|signed| signed.charged.is_some())
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vectors/reconciliation");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}

/// P4: the service comes to the published answer, and a verifier of its record to the same.
#[tokio::test(flavor = "multi_thread")]
async fn the_service_finds_what_every_published_case_says() {
    let (mut played, mut amounts) = (0, 0);
    for path in cases() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}");
        match serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap() {
            Case::Situation(case) if case.is_about_amounts() => amounts += 1,
            Case::Situation(case) => {
                case.plays().await;
                played += 1;
            }
            Case::Stray(case) => {
                a_stray(&case.stray, &case.findings).await;
                played += 1;
            }
        }
    }
    assert_eq!(amounts, 3);
    assert!(played > 90, "{played}");
}

async fn a_stray(stray: &Signed, findings: &[Pair]) {
    let mut stage = Stage::new("signs = true").await;
    let elsewhere = stage.world.decision(Verdict::Allow);
    let call = Call { action: elsewhere.action, decision: Digest::of(b"elsewhere") };
    stage.state(call, stray).await;
    let found: BTreeSet<_> = stage.world.findings().await.into_iter().collect();
    assert_eq!(found, stage.named(findings));
}
