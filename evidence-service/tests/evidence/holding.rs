//! Held calls as a gateway parks them, and the decisions that go by an answer.

use counterfoil_core::digest::Digest;
use counterfoil_core::hold::{Card, CardClass, CardNoun, HoldState, Parked};
use counterfoil_core::id::HoldId;
use counterfoil_core::nonce::base64url;
use counterfoil_core::record::{Item, ItemAnswer};
use counterfoil_core::statement::{
    Answers, Class, DataClass, Decision, Destination, Magnitude, NounCommitment, Operation, Reason,
    Reversibility, Say, Source, Sources, Verb, Verdict,
};
use counterfoil_core::time::Timestamp;
use reqwest::StatusCode;
use serde_json::{Map, Value, json};

use crate::answers::recorded;
use crate::deployment::{Deployment, Service, now, random_seed};
use crate::gateway::{Judged, decision, fresh_nonce, fresh_uuid, record, sign, statement};

/// A call that was held.
#[derive(Clone)]
pub struct Holding {
    pub hold: HoldId,
    pub said: Decision,
    pub digest: Digest,
    pub card: Card,
}

/// What nobody may find in clear.
pub const NOUN: &str = "ann-of-the-cards";
pub const SEALED: &str = "c2VhbGVkLWJ5LXRoZS1nYXRld2F5";

/// A held decision with what it parks, not sent yet.
pub fn parked(deployment: &Deployment, reason: Reason, life: i64) -> (Decision, Parked) {
    let mut said = decision(deployment, &Judged::now(deployment, Verdict::StepUp));
    let hold = HoldId::from_uuid(fresh_uuid());
    said.reason = reason;
    said.hold = Some(hold);
    said.args = Some(commitment());
    said.principal = Some(commitment());
    said.class = Some(class());
    let card = Card {
        v: 1,
        nonce: fresh_nonce(),
        hold,
        action: said.action,
        agent: said.agent,
        provider: said.provider.clone().expect("a provider"),
        tool: said.tool.clone().expect("a tool"),
        class: Some(card_class()),
        reason,
        asked_at: said.at,
        expires_at: said.at.plus_millis(life),
    };
    let parked = Parked { hold, sealed: SEALED.to_owned(), call: base64url(&[7; 32]), card };
    (said, parked)
}

pub fn commitment() -> counterfoil_core::commitment::Commitment {
    base64url(&random_seed()).parse().expect("a commitment")
}

fn class() -> Class {
    let declared = Source::Declared;
    Class {
        service: "notes".parse().expect("a service"),
        verb: Verb::Update,
        nouns: vec![NounCommitment { noun_type: "path".parse().expect("a type"), commit: commitment() }],
        operation: Operation::Write,
        data_class: DataClass::Operational,
        destination: Destination::Internal,
        magnitude: Magnitude::Single,
        reversibility: Reversibility::Reversible,
        source: Sources {
            operation: declared,
            data_class: declared,
            destination: declared,
            magnitude: declared,
            reversibility: declared,
        },
    }
}

fn card_class() -> CardClass {
    let Class { service, verb, operation, data_class, destination, magnitude, reversibility, .. } = class();
    let fields: Map<String, Value> = json!({"folder": "inbox"}).as_object().cloned().expect("an object");
    let nouns = vec![CardNoun { noun_type: "path".parse().expect("a type"), value: NOUN.to_owned() }];
    CardClass { service, verb, nouns, fields, operation, data_class, destination, magnitude, reversibility }
}

/// A signed statement of that decision with what it parks, as an item.
pub fn parking_item(deployment: &Deployment, said: &Decision, parked: Parked) -> (Digest, Item) {
    let signed = sign(said.clone(), &deployment.decision);
    let item = statement(deployment, signed.bytes(), Some(deployment.api_key.id), None);
    let Item::Statement(mut item) = item else { panic!("no statement") };
    item.parked = Some(parked);
    (signed.digest(), Item::Statement(item))
}

/// A call that is held for an hour.
pub async fn hold(deployment: &Deployment, service: &Service) -> Holding {
    hold_for(deployment, service, Reason::NoRule, 3_600_000).await
}

pub async fn hold_for(deployment: &Deployment, service: &Service, reason: Reason, life: i64) -> Holding {
    let (said, parked) = parked(deployment, reason, life);
    let (hold, card) = (parked.hold, parked.card.clone());
    let (digest, item) = parking_item(deployment, &said, parked);
    recorded(&record(service, &deployment.token, vec![item]).await.expect("200")[0]);
    Holding { hold, said, digest, card }
}

impl Holding {
    /// What an answer names as seen.
    pub fn seen(&self) -> (Digest, Digest) {
        (self.digest, self.card.digest())
    }

    /// The decision that lets it go by that answer.
    pub fn goes(&self, deployment: &Deployment, answer: Digest) -> Decision {
        let mut said = self.said.clone();
        let fresh = decision(deployment, &Judged::now(deployment, Verdict::Allow));
        (said.verdict, said.reason, said.hold) = (Verdict::Allow, Reason::Approved, None);
        (said.at, said.nonce, said.facts) = (fresh.at, fresh.nonce, fresh.facts);
        said.supersedes = Some(self.digest);
        said.answers = Some(Answers { hold: self.hold, decision: self.digest, answer });
        said
    }

    pub async fn approve(&self, deployment: &Deployment) -> Digest {
        let said = (Say::ApproveOnce, None);
        let setup = &deployment.setup;
        let done = setup.answer_hold(deployment.id(), self.hold, self.seen(), said, "operator-1").await;
        done.expect("approved").answer
    }
}

/// Sends one decision and returns its fate.
pub async fn send(deployment: &Deployment, service: &Service, said: Decision) -> ItemAnswer {
    let signed = sign(said, &deployment.decision);
    let item = statement(deployment, signed.bytes(), Some(deployment.api_key.id), None);
    record(service, &deployment.token, vec![item]).await.expect("200").remove(0)
}

/// What a gateway is told about a hold.
pub async fn told(deployment: &Deployment, service: &Service, hold: HoldId, wait: u64) -> HoldState {
    let project = deployment.id();
    let url = format!("{}/internal/v1/holds/{hold}?project={project}&wait_ms={wait}", service.internal);
    let answer = service.http.get(url).bearer_auth(&deployment.token).send().await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    answer.json().await.expect("a hold")
}

/// A row as it lies in the database: state, and what is sealed.
pub async fn row(deployment: &Deployment, hold: HoldId) -> (String, Option<String>, Option<String>) {
    let client = crate::deployment::connect(&deployment.config, "postgres").await;
    let row = client
        .query_one("select state, sealed, card from holds where hold = $1", &[&hold.uuid()])
        .await
        .expect("the row");
    (row.get(0), row.get(1), row.get(2))
}

/// Waits until a hold is no longer open.
pub async fn settled(deployment: &Deployment, service: &Service, hold: HoldId) -> HoldState {
    let until: Timestamp = now().plus_millis(20_000);
    loop {
        let state = told(deployment, service, hold, 2_000).await;
        if state.is != counterfoil_core::hold::HoldIs::Open || now() > until {
            return state;
        }
    }
}
