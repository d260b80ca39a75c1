//! A provider as the evidence service sees it: a key of its own, and what it signs.

use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::{ActionId, ProjectId};
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Execution as ExecutionKey, SigningKey};
use counterfoil_core::nonce::base64url;
use counterfoil_core::receipt::Receipt;
use counterfoil_core::statement::{Execution, ExecutionType, Outcome, Received, Statement, VendorExecution};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::deployment::{Service, now};
use crate::gateway::fresh_nonce;

/// What `notes` says about a call.
pub fn execution(project: ProjectId, action: ActionId, decision: Digest) -> Execution {
    Execution {
        typ: ExecutionType::V1,
        iss: "notes".parse().expect("a provider id"),
        project,
        action,
        provider: "notes".parse().expect("a provider id"),
        tool: "note_read".parse().expect("a tool name"),
        decision,
        capability: None,
        args: None,
        outcome: Outcome::Executed,
        result: None,
        error_code: None,
        charged: None,
        started_at: Some(now()),
        executed_at: now(),
        nonce: fresh_nonce(),
        seen: None,
    }
}

pub fn native(said: Execution, key: &SigningKey<ExecutionKey>) -> Vec<u8> {
    Signed::sign(said, key).bytes().to_vec()
}

/// The six-field form, under any key id.
pub fn vendor(action: &str, decision: &Digest, kid: &str, key: &SigningKey<ExecutionKey>) -> Vec<u8> {
    let mut body = json!({
        "action_id": action, "decision_id": VendorExecution::decision_id(decision), "outcome": "EXECUTED",
        "result_hash": null, "error_code": null, "executed_at": now().to_string(),
    });
    let value = base64url(&key.sign(&canonical(&body)));
    body["signature"] = json!({ "kid": kid, "alg": "Ed25519", "value": value });
    body.to_string().into_bytes()
}

/// What came back for one statement.
#[derive(Debug)]
pub struct Answered {
    pub status: StatusCode,
    pub retry_after: Option<u64>,
    pub body: Value,
}

impl Answered {
    pub fn receipt(&self) -> Receipt {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
        serde_json::from_str(&self.body["receipt"].to_string()).expect("a receipt")
    }

    pub fn seq(&self) -> u64 {
        self.receipt().entry().seq
    }

    pub fn received(&self) -> Received {
        let envelope = counterfoil_core::envelope::Envelope::parse(self.receipt().statement().as_bytes());
        match envelope.expect("an envelope").statement().expect("a statement") {
            Statement::Received(received) => *received,
            other => panic!("{other:?}"),
        }
    }
}

pub async fn state(service: &Service, api_key: &str, body: Vec<u8>) -> Answered {
    let sent = service.http.post(format!("{}/v1/executions", service.public)).bearer_auth(api_key);
    let sent = sent.header("content-type", "application/json").body(body);
    let answer = sent.send().await.expect("an answer");
    let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let status = answer.status();
    // A receipt keeps the bytes of its statement, so it is read from the text.
    let text = answer.text().await.expect("a body");
    Answered { status, retry_after, body: serde_json::from_str(&text).expect("JSON") }
}
