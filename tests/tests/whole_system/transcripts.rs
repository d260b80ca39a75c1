//! The published vendor SDK, as it was recorded: its requests again, and the answers that it got. Format: tests/wire/README.md.

use anyhow::{Context, ensure};
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Execution, Jwk, Purpose, SigningKey};
use counterfoil_core::nonce::base64url;
use counterfoil_tests::deployment::{Deployment, Plan, Provider, Reach, counterfoil};
use counterfoil_tests::repository::root;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const FILES: [&str; 9] = [
    "allow",
    "deny",
    "step-up-lifted",
    "step-up-not-lifted",
    "lone-decline",
    "forged",
    "fan-out",
    "catalogue",
    "restart",
];
const VOLATILE: [&str; 10] = [
    "action_id",
    "decision_id",
    "id",
    "kid",
    "signature",
    "prev_hash",
    "record_hash",
    "session_id",
    "head_hash",
    "seq",
];

/// One step of a transcript.
enum Step {
    Restart,
    Exchange(Exchange),
}

struct Exchange {
    method: String,
    path: String,
    key: String,
    body: String,
    status: u16,
    answer: Value,
}

fn vendor_key() -> SigningKey<Execution> {
    SigningKey::from_seed(&[7; 32])
}

fn text(name: &str) -> anyhow::Result<String> {
    let path = root().join("tests/wire").join(name);
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

fn steps(name: &str) -> anyhow::Result<Vec<Step>> {
    let text = text(&format!("{name}.http"))?;
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let mut steps = Vec::new();
    while let Some(line) = lines.next() {
        if line == "# restart" {
            steps.push(Step::Restart);
        }
        if line.starts_with('#') {
            continue;
        }
        let mut next = || lines.next().with_context(|| format!("{name}: ends in the middle"));
        let (method, path) = line.split_once(' ').with_context(|| format!("{name}: {line}"))?;
        let key = next()?.strip_prefix("Idempotency-Key: ").context("a key")?;
        let body = next()?;
        let status = next()?.strip_prefix("HTTP ").context("a status")?.parse()?;
        steps.push(Step::Exchange(Exchange {
            method: method.to_owned(),
            path: path.to_owned(),
            key: key.to_owned(),
            body: body.to_owned(),
            status,
            answer: serde_json::from_str(next()?)?,
        }));
    }
    Ok(steps)
}

/// The answer without what differs from one run to the next; what differed goes into `known`, by what it was.
fn compared(recorded: &Value, now: &Value, known: &mut BTreeMap<String, String>) -> (Value, Value) {
    let (mut left, mut right) = (recorded.clone(), now.clone());
    blank(&mut left);
    blank(&mut right);
    learn(recorded, now, known);
    (left, right)
}

fn is_receipt(value: &Value) -> bool {
    value["typ"] == "receipt/v1"
}

fn blank(value: &mut Value) {
    if is_receipt(value) {
        *value = json!("a receipt");
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let kind = match member {
                    Value::String(_) => "a text",
                    Value::Number(_) => "a number",
                    _ => "",
                };
                match VOLATILE.contains(&name.as_str()) && !kind.is_empty() {
                    true => *member = kind.into(),
                    false => blank(member),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(blank),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn learn(recorded: &Value, now: &Value, known: &mut BTreeMap<String, String>) {
    let (Some(recorded), Some(now)) = (recorded.as_object(), now.as_object()) else { return };
    for (name, was) in recorded {
        let Some(is) = now.get(name) else { continue };
        match (was, is) {
            // Short ones, such as numbers of entries, name nothing by themselves.
            (Value::String(was), Value::String(is))
                if VOLATILE.contains(&name.as_str()) && was.len() > 16 =>
            {
                known.insert(was.clone(), is.clone());
            }
            _ if is_receipt(was) => {}
            (was, is) => learn(was, is, known),
        }
    }
}

fn renewed(text: &str, known: &BTreeMap<String, String>) -> String {
    known.iter().fold(text.to_owned(), |text, (was, is)| text.replace(was, is))
}

/// The statement signed by the vendor again, since it names other ids now.
fn signed(body: &str) -> anyhow::Result<String> {
    let mut statement: Value = serde_json::from_str(body)?;
    let mut signature =
        statement.as_object_mut().and_then(|members| members.remove("signature")).context("signed")?;
    signature["value"] = base64url(&vendor_key().sign(&canonical(&statement))).into();
    statement["signature"] = signature;
    Ok(statement.to_string())
}

fn deploy() -> anyhow::Result<Deployment> {
    let registry = text("registry.toml")?;
    let registry = registry.split_once("[provider.mail]\n").context("one provider")?.1.to_owned();
    let mail = Provider { id: "mail", reach: Reach::Nowhere, registry };
    let deployment = Deployment::start(&Plan { providers: vec![mail], rules: text("rules.cedar")? })?;
    let mut jwk = serde_json::to_value(Jwk::new(vendor_key().public(), Purpose::Execution))?;
    jwk["kid"] = "vk_1".into();
    let file = deployment.folder().join("mail.jwk");
    std::fs::write(&file, jwk.to_string())?;
    let fingerprint = format!("--fingerprint={}", vendor_key().kid());
    let words = ["keys", "provider", "import", "mail", &fingerprint];
    counterfoil(&words, &[("--dir", &deployment.folder().to_owned()), ("--file", &file)])?;
    Ok(deployment)
}

fn replay(name: &str, deployment: &mut Deployment) -> anyhow::Result<()> {
    let mut known = BTreeMap::new();
    for step in steps(name)? {
        let asked = match step {
            Step::Exchange(asked) => asked,
            Step::Restart => {
                deployment.gateway = None;
                deployment.evidence = None;
                deployment.start_evidence()?;
                deployment.start_gateway()?;
                continue;
            }
        };
        let mut body = renewed(&asked.body, &known);
        if asked.path == "/v1/executions" && asked.answer["signature_valid"] == true {
            body = signed(&body)?;
        }
        let url = format!("{}{}", deployment.gateway_url(), renewed(&asked.path, &known));
        let request = reqwest::Client::new()
            .request(asked.method.parse()?, url)
            .bearer_auth(&deployment.api_key)
            .header("content-type", "application/json")
            .header("idempotency-key", renewed(&asked.key, &known))
            .body(body);
        let answer = deployment.http.send(request)?;
        ensure!(answer.status == asked.status, "{name} {}: {} {}", asked.path, answer.status, answer.text());
        let (was, is) = compared(&asked.answer, &answer.json()?, &mut known);
        ensure!(was == is, "{name} {}: it was {was}, it is {is}", asked.path);
    }
    Ok(())
}

// Upholds G6, P3, C2: a vendor changes base URL and keys, and no code.
#[test]
fn the_published_vendor_sdks_requests_are_answered_as_they_were() {
    let mut deployment = deploy().expect("a deployment");

    for name in FILES {
        replay(name, &mut deployment).expect(name);
    }

    let findings = deployment.page_json().expect("a page")["findings"].clone();
    assert_eq!(findings["open"]["count"], 0, "{findings}");
    let apart = findings["apart"]["newest"].as_array().expect("a list");
    let codes: Vec<&Value> = apart.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["INVALID_VENDOR_SIGNATURE"], "the forged one and no other");
}
