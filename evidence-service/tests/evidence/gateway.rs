//! A gateway as the evidence service sees it: signed statements in record requests.

use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ActionId, InstanceId, KeyId};
use counterfoil_core::key::{Decision as DecisionKey, SigningKey};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::record::{
    Idempotency, Item, ItemAnswer, OpeningItem, RecordAnswer, RecordRequest, StatementItem,
};
use counterfoil_core::statement::{
    Decision, DecisionType, Effect, Environment, Mode, Observation, ObservationStatus, ObservationType,
    Origin, Reason, Verdict,
};
use counterfoil_core::time::Timestamp;
use reqwest::StatusCode;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::deployment::{Deployment, Service, now, random_seed};

/// What a test may want to be different about a decision.
pub struct Judged {
    pub verdict: Verdict,
    pub at: Timestamp,
    pub control: u64,
    pub generation: u64,
    pub credential: KeyId,
    pub idempotency: Option<Idempotency>,
}

impl Judged {
    /// A current verdict under the deployment's own key.
    pub fn now(deployment: &Deployment, verdict: Verdict) -> Self {
        Self {
            verdict,
            at: now(),
            control: deployment.published.control,
            generation: 0,
            credential: deployment.api_key.id,
            idempotency: None,
        }
    }
}

pub fn decision(deployment: &Deployment, judged: &Judged) -> Decision {
    Decision {
        typ: DecisionType::V1,
        iss: deployment.project.issuer.clone(),
        project: deployment.id(),
        env: Environment::Live,
        action: fresh_action(),
        follows: None,
        supersedes: None,
        session: None,
        run: None,
        at: judged.at,
        nonce: fresh_nonce(),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        via: judged.credential.to_string(),
        agent: deployment.agent,
        principal: None,
        provider: Some("notes".parse().expect("a provider id")),
        tool: Some("note_read".parse().expect("a tool name")),
        pin: None,
        class: None,
        shape: None,
        args: None,
        facts: counterfoil_core::nonce::base64url(&random_seed()).parse().expect("a commitment"),
        verdict: judged.verdict,
        reason: Reason::Rule,
        rules: Vec::new(),
        policy: deployment.published.policy.expect("published"),
        grants: Digest::of(b"grants"),
        control: judged.control,
        generation: judged.generation,
        effect: Effect::Enforced,
        marks: Vec::new(),
        hold: None,
        answers: None,
        capability: None,
        ask: None,
        quote: None,
        plan: None,
    }
}

pub fn sign(decision: Decision, key: &SigningKey<DecisionKey>) -> Signed<Decision> {
    Signed::sign(decision, key)
}

/// A decision, signed by the deployment's gateway, as an item.
pub fn item(deployment: &Deployment, judged: &Judged) -> (Digest, Item) {
    let signed = sign(decision(deployment, judged), &deployment.decision);
    let item = statement(deployment, signed.bytes(), Some(judged.credential), judged.idempotency.clone());
    (signed.digest(), item)
}

/// An item around any bytes.
pub fn statement(
    deployment: &Deployment,
    bytes: &[u8],
    credential: Option<KeyId>,
    idempotency: Option<Idempotency>,
) -> Item {
    let text = String::from_utf8(bytes.to_vec()).expect("JSON");
    Item::Statement(StatementItem {
        project: deployment.id(),
        credential,
        idempotency,
        parked: None,
        judged_on: None,
        statement: RawValue::from_string(text).expect("JSON"),
    })
}

pub fn observation(deployment: &Deployment, action: ActionId, decision: Digest) -> Item {
    let seen = Observation {
        typ: ObservationType::V1,
        iss: deployment.project.issuer.clone(),
        project: deployment.id(),
        env: Environment::Live,
        action,
        decision,
        provider: "notes".parse().expect("a provider id"),
        tool: "note_read".parse().expect("a tool name"),
        status: ObservationStatus::Returned,
        reason: None,
        is_error: Some(false),
        result: None,
        error: None,
        sent_at: Some(now()),
        at: now(),
        nonce: fresh_nonce(),
    };
    statement(deployment, Signed::sign(seen, &deployment.decision).bytes(), None, None)
}

pub fn opening(deployment: &Deployment, decision: Digest) -> Item {
    Item::Opening(OpeningItem { project: deployment.id(), decision, jwe: "a.b.c.d.e".to_owned() })
}

/// One record request; the status if it is not 200.
pub async fn record(service: &Service, token: &str, items: Vec<Item>) -> Result<Vec<ItemAnswer>, StatusCode> {
    let request = RecordRequest {
        v: 1,
        instance: InstanceId::from_uuid(Uuid::from_bytes([9; 16])),
        items: items.iter().map(Item::to_raw).collect(),
    };
    let sent = service.http.post(format!("{}/internal/v1/record", service.internal));
    let answer = sent.bearer_auth(token).json(&request).send().await.expect("an answer");
    if answer.status() != StatusCode::OK {
        return Err(answer.status());
    }
    let answer: RecordAnswer = answer.json().await.expect("a record answer");
    assert_eq!(answer.answers.len(), items.len());
    Ok(answer.answers)
}

pub fn fresh_action() -> ActionId {
    ActionId::from_uuid(fresh_uuid())
}

pub fn fresh_nonce() -> Nonce16 {
    Nonce16::from_bytes(*fresh_uuid().as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "tests draw their own chance")]
pub fn fresh_uuid() -> Uuid {
    Uuid::now_v7()
}
