//! What a page says, to people and to programs.

use counterfoil_core::digest::Digest;
use counterfoil_core::receipt::verify;
use counterfoil_core::statement::{
    Clearance, ClearanceType, Finding, FindingCode, FindingType, Received, ReceivedBytes, ReceivedForm,
    ReceivedType, Resolution, ResolutionType, Signer, Verdict,
};
use reqwest::StatusCode;
use serde_json::Value;

use crate::deployment::{Deployment, Service, connect, now};
use crate::gateway::{Judged, decision, fresh_action, item, observation, record, sign, statement};
use crate::markup::strict;
use crate::planted::{FindingRow, Planter};

/// A service whose audit at boot is over: it would be right about entries that are planted.
async fn audited(deployment: &Deployment) -> Service {
    let service = deployment.serve().await;
    for _ in 0..200 {
        let (_, json) = page(deployment, &service, "").await;
        if !json["record"]["audit"].is_null() {
            return service;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("no audit");
}

/// The page as text and as JSON.
async fn page(deployment: &Deployment, service: &Service, below: &str) -> (String, Value) {
    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let (path, query) =
        below.split_once('?').map_or((below, String::new()), |(path, query)| (path, format!("?{query}")));
    let html = service.http.get(format!("{url}{path}{query}")).send().await.expect("page");
    assert_eq!(html.status(), StatusCode::OK);
    let json = service.http.get(format!("{url}{path}.json{query}")).send().await.expect("page");
    assert_eq!(json.status(), StatusCode::OK);
    (html.text().await.expect("page"), json.json().await.expect("JSON"))
}

fn finding(deployment: &Deployment, code: FindingCode, about: u64) -> Finding {
    Finding {
        typ: FindingType::V1,
        iss: deployment.project.issuer.clone(),
        project: deployment.id(),
        at: now(),
        code,
        action: Some(fresh_action()),
        statement: Some(Digest::of(b"about")),
        seq: Some(about),
    }
}

async fn find(planter: &Planter, seq: i64, finding: &Finding, mut row: FindingRow<'_>) -> Vec<u8> {
    let action = finding.action.map(|action| action.uuid());
    let digest = planter.entry(seq, "finding", finding.clone(), action).await;
    row = FindingRow { seq, digest: &digest, action, ..row };
    let row = FindingRow { code: finding.code.as_str(), ..row };
    planter.finding(row).await;
    digest
}

fn open_row() -> FindingRow<'static> {
    FindingRow {
        seq: 0,
        digest: b"",
        code: "",
        action: None,
        about: None,
        apart: false,
        cleared: None,
        resolved: None,
    }
}

/// P4: open ones first, then cleared ones; a note closes nothing; what is forged stands apart.
#[tokio::test(flavor = "multi_thread")]
async fn open_findings_come_first_and_a_note_hides_none() {
    let deployment = Deployment::new().await;
    let service = audited(&deployment).await;
    let planter = Planter::new(&deployment).await;
    let about = finding(&deployment, FindingCode::MissingExecution, 3);
    let note = Resolution {
        typ: ResolutionType::V1,
        iss: deployment.project.issuer.clone(),
        project: deployment.id(),
        at: now(),
        behalf: "operator-1".to_owned(),
        authorization: None,
        finding: Digest::of(b"the finding"),
        note: "the provider was asked".parse().expect("a note"),
    };
    let clearance = Clearance {
        typ: ClearanceType::V1,
        iss: deployment.project.issuer.clone(),
        project: deployment.id(),
        at: now(),
        finding: Digest::of(b"the finding"),
        code: FindingCode::OutcomeUnknown,
        action: fresh_action(),
        statement: Digest::of(b"late"),
        seq: 5,
    };
    planter.entry(110, "clearance", clearance, None).await;
    planter.entry(111, "resolution", note, None).await;
    find(&planter, 100, &about, FindingRow { resolved: Some(111), ..open_row() }).await;
    let unknown = finding(&deployment, FindingCode::OutcomeUnknown, 4);
    find(&planter, 101, &unknown, FindingRow { cleared: Some(110), ..open_row() }).await;
    for seq in 102..110 {
        let forged = finding(&deployment, FindingCode::InvalidVendorSignature, 6);
        find(&planter, seq, &forged, FindingRow { apart: true, ..open_row() }).await;
    }

    let (html, json) = page(&deployment, &service, "").await;

    let text = strict(&html);
    assert_eq!(json["findings"]["open"]["count"], 1);
    assert_eq!(json["findings"]["open"]["newest"][0]["code"], "MISSING_EXECUTION");
    assert_eq!(json["findings"]["open"]["newest"][0]["note"]["text"], "the provider was asked");
    assert_eq!(json["findings"]["cleared"][0]["cleared"]["seq"], 110);
    assert_eq!(json["findings"]["apart"]["count"], 8);
    let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} is not on the page"));
    assert!(place("MISSING_EXECUTION") < place("the provider was asked"));
    assert!(place("the provider was asked") < place("OUTCOME_UNKNOWN"));
    assert!(place("OUTCOME_UNKNOWN") < place("INVALID_VENDOR_SIGNATURE"));
    assert!(place("INVALID_VENDOR_SIGNATURE") < place("Latest calls"));
}

/// T8: a leaked key fills a list of its own, of a fixed length, and pushes nothing off the page.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_forged_statements_does_not_fill_the_page() {
    let deployment = Deployment::new().await;
    let service = audited(&deployment).await;
    let planter = Planter::new(&deployment).await;
    let honest = finding(&deployment, FindingCode::ExecutedAgainstVerdict, 3);
    find(&planter, 100, &honest, open_row()).await;
    let (before, _) = page(&deployment, &service, "").await;
    for seq in 1000..1400 {
        let forged = finding(&deployment, FindingCode::InvalidVendorSignature, 6);
        find(&planter, seq, &forged, FindingRow { apart: true, ..open_row() }).await;
    }

    let (html, json) = page(&deployment, &service, "").await;

    assert_eq!(json["findings"]["open"]["count"], 1);
    assert_eq!(json["findings"]["apart"]["count"], 400);
    assert_eq!(json["findings"]["apart"]["newest"].as_array().expect("a list").len(), 25);
    assert!(strict(&html).contains("EXECUTED_AGAINST_VERDICT"));
    assert!(html.len() < before.len() + 32 * 1024, "{} bytes after {}", html.len(), before.len());
}

/// P4: verdicts and comparisons are compared with what signed days and the head count.
#[tokio::test(flavor = "multi_thread")]
async fn counts_add_up_and_a_sum_that_does_not_is_said() {
    let deployment = Deployment::new().await;
    let service = audited(&deployment).await;
    let planter = Planter::new(&deployment).await;
    let verdicts = [Verdict::Allow, Verdict::Allow, Verdict::Deny];
    let items = verdicts.map(|verdict| item(&deployment, &Judged::now(&deployment, verdict)).1).to_vec();
    record(&service, &deployment.token, items).await.expect("200");
    compared(&deployment, &service, 3).await;
    // The comparison takes no further step while somebody holds its row.
    let superuser = connect(&deployment.config, "postgres").await;
    superuser.batch_execute("begin; select 1 from reconciled for update").await.expect("held");
    let last = item(&deployment, &Judged::now(&deployment, Verdict::StepUp)).1;
    record(&service, &deployment.token, vec![last]).await.expect("200");

    let (html, json) = page(&deployment, &service, "").await;

    assert_eq!(parts(&json, "verdicts"), of(&[("ALLOW", 2), ("DENY", 1), ("not_compared", 1)]));
    assert_eq!(parts(&json, "statuses"), of(&[("matched", 1), ("unsigned", 2), ("not_compared", 1)]));
    assert_eq!(json["counts"]["verdicts"]["whole"], 4);
    assert_eq!(json["counts"]["add_up"], true);
    let measured = &json["coverage"][0]["measured"];
    assert_eq!((measured["allowed"].as_u64(), measured["unsigned"].as_u64()), (Some(2), Some(2)));
    assert_eq!(json["calls"]["newest"].as_array().expect("a list").len(), 4);
    assert_eq!(json["calls"]["newest"][0]["words"], "not compared yet");
    assert!(strict(&html).contains("2 ALLOW + 1 DENY + 1 not compared yet = 4 decisions"));
    superuser.batch_execute("commit").await.expect("let go");
    let (_, json) = compared(&deployment, &service, 4).await;
    assert_eq!(parts(&json, "verdicts"), of(&[("ALLOW", 2), ("DENY", 1), ("STEP_UP", 1)]));

    // A tally that says more than was ever decided.
    planter.run("update tallies set calls = calls + 7 where status = 'matched'", &[]).await;
    let (html, json) = page(&deployment, &service, "").await;
    assert_eq!(json["counts"]["add_up"], false);
    assert!(strict(&html).contains("does not add up"));
}

fn parts(json: &Value, sum: &str) -> Vec<(String, u64)> {
    let parts = json["counts"][sum]["parts"].as_array().expect("parts").iter();
    parts
        .map(|part| {
            (part["code"].as_str().expect("a code").to_owned(), part["count"].as_u64().expect("a number"))
        })
        .collect()
}

fn of(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect()
}

/// The page as soon as so many decisions are compared, and none is not.
async fn compared(deployment: &Deployment, service: &Service, decisions: u64) -> (String, Value) {
    for _ in 0..200 {
        let (_, json) = page(deployment, service, "").await;
        let parts = parts(&json, "verdicts");
        let rest = parts.iter().any(|(code, count)| code == "not_compared" && *count > 0);
        if !rest && parts.iter().map(|(_, count)| count).sum::<u64>() == decisions {
            // Asked for again: the first of the two forms may have been read before the comparison.
            return page(deployment, service, "").await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{decisions} decisions were never compared")
}

/// The list of calls and what stands in it are the same in both forms: every value of the JSON is on the page.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_json_say_the_same() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (allowed, one) = item(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let denied = item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1;
    let seen = observation(&deployment, fresh_action(), allowed);
    record(&service, &deployment.token, vec![one, denied, seen]).await.expect("200");

    // The two are asked for one after the other, so nothing may change between them.
    let (html, json) = compared(&deployment, &service, 2).await;

    // Facts of single entries are for pages about actions; places of machines and addresses are links.
    let text = strict(&html);
    let mut missing = Vec::new();
    every_text(&json, "", &mut |path, value| {
        let elsewhere = [
            ".facts[",
            "digest",
            ".signer",
            "typ",
            "visibility",
            "verify.",
            ".path",
            ".status",
            ".code",
            ".account",
            ".body",
            ".at",
            ".action",
        ];
        if !elsewhere.iter().any(|part| path.contains(part)) && !text.contains(value) && !html.contains(value)
        {
            missing.push(format!("{path}: {value}"));
        }
    });
    assert!(missing.is_empty(), "in the JSON and not on the page: {missing:#?}");
    for command in json["verify"]["commands"].as_array().expect("commands") {
        assert!(text.contains(command.as_str().expect("text")), "{command}");
    }
}

fn every_text(value: &Value, path: &str, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(path, text),
        Value::Array(items) => items.iter().for_each(|item| every_text(item, &format!("{path}[]"), see)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| every_text(member, &format!("{path}.{name}"), see));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// P4: decision, observation, what was found, and a receipt of each that verifies.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_about_one_action_lists_every_entry_about_it() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let trust = deployment.trust(&service).await;
    let judged = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let action = judged.action;
    let signed = sign(judged, &deployment.decision);
    let first = statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None);
    let items = vec![first, observation(&deployment, action, signed.digest())];
    record(&service, &deployment.token, items).await.expect("200");

    let (html, json) = page(&deployment, &service, &format!("/a/{action}")).await;

    let text = strict(&html);
    assert!(
        text.contains("It was decided ALLOW (rule), so it might go out. The gateway saw: returned."),
        "{text}"
    );
    let entries = json["entries"].as_array().expect("entries");
    assert_eq!(
        entries.iter().map(|entry| entry["kind"].as_str().expect("a kind")).collect::<Vec<_>>(),
        ["decision", "observation"]
    );
    let path = deployment.project.issuer.page_path();
    for entry in entries {
        let link = format!("{path}/receipts/{}", entry["seq"]);
        assert!(html.contains(&format!("href=\"{link}\"")));
        let receipt = service.http.get(format!("{}{link}", service.public)).send().await.expect("receipt");
        let receipt = receipt.bytes().await.expect("receipt");
        verify(&receipt, &trust).expect("a receipt that verifies");
    }
    let other = service
        .http
        .get(format!("{}{path}/a/{}", service.public, fresh_action()))
        .send()
        .await
        .expect("answer");
    assert_eq!(other.status(), StatusCode::NOT_FOUND);
}

/// T4: what somebody else wrote is shown only as far as it is a word of ours.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_wrote_reaches_no_public_byte() {
    let deployment = Deployment::new().await;
    let service = audited(&deployment).await;
    let planter = Planter::new(&deployment).await;
    let action = fresh_action();
    let marked = "MARKED-7f3a";
    let sent = serde_json::json!({
        "action_id": action.to_string(), "decision_id": marked, "outcome": "EXECUTED", "result_hash": null,
        "executed_at": "2026-11-30T11:20:00Z",
        "signature": {"alg": "ed25519", "key_id": marked, "value": "AAAA"},
    });
    let received = |form| Received {
        typ: ReceivedType::V1,
        form,
        signer: Signer { kid: Some(marked.to_owned()), thumbprint: None },
        project: deployment.id(),
        at: now(),
        holds: false,
        bytes: ReceivedBytes(sent.to_string().into_bytes()),
    };
    planter.entry(100, "execution", received(ReceivedForm::VendorWire), Some(action.uuid())).await;
    planter.entry(101, "catalog", received(ReceivedForm::Catalog), None).await;

    let path = deployment.project.issuer.page_path();
    let mut answers = Vec::new();
    for below in ["", ".json", &format!("/a/{action}"), &format!("/a/{action}.json"), "/entries.json?from=90"]
    {
        let answer =
            service.http.get(format!("{}{path}{below}", service.public)).send().await.expect("answer");
        assert_eq!(answer.status(), StatusCode::OK, "{below}");
        answers.push(answer.text().await.expect("text"));
    }

    for answer in &answers {
        assert!(!answer.contains(marked), "{answer}");
    }
    assert!(answers[4].contains("\"withheld\""), "{}", answers[4]);
    assert!(answers[2].contains("withheld"));
    for seq in [100, 101] {
        let receipt = service
            .http
            .get(format!("{}{path}/receipts/{seq}", service.public))
            .send()
            .await
            .expect("answer");
        assert_eq!(receipt.status(), StatusCode::NOT_FOUND);
    }
}

/// P1: a body is served byte for byte, so that its digest is the one its entry names.
#[tokio::test(flavor = "multi_thread")]
async fn entries_are_served_with_the_bytes_that_were_signed() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let items = (0..300).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1).collect();
    record(&service, &deployment.token, items).await.expect("200");
    let url = format!("{}{}/entries.json", service.public, deployment.project.issuer.page_path());

    let mut seen = 0;
    loop {
        let text = service
            .http
            .get(format!("{url}?from={seen}"))
            .send()
            .await
            .expect("entries")
            .text()
            .await
            .expect("text");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let entries = answer["entries"].as_array().expect("a list");
        if entries.is_empty() {
            assert_eq!(answer["size"].as_u64(), Some(seen));
            break;
        }
        for entry in entries {
            assert_eq!(entry["entry"]["seq"].as_u64(), Some(seen));
            assert_eq!(entry["seq"].as_u64(), Some(seen));
            let body = counterfoil_core::json::canonical_text(&entry["body"]);
            assert!(text.contains(&body), "the bytes are canonical as they stand");
            assert_eq!(entry["entry"]["body"], Digest::of(body.as_bytes()).to_string());
            seen += 1;
        }
    }
    assert!(seen > 300);
}

/// P2: an operator that lets entries change places is not believed by the page: the list follows signed bodies and their
/// numbers, and the audit's word stands on top.
#[tokio::test(flavor = "multi_thread")]
async fn a_tampered_order_is_said_on_the_page() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let items = (0..4).map(|_| item(&deployment, &Judged::now(&deployment, Verdict::Deny)).1).collect();
    record(&service, &deployment.token, items).await.expect("200");
    let owner = crate::deployment::connect(&deployment.config, "postgres").await;
    let swap = "alter table entries disable trigger all; \
                update entries e set body = o.body, body_digest = o.body_digest from entries o \
                where (e.seq = 6 and o.seq = 7) or (e.seq = 7 and o.seq = 6); \
                alter table entries enable always trigger entries_no_update; \
                alter table entries enable always trigger entries_body_only; \
                alter table entries enable always trigger entries_no_delete";
    owner.batch_execute(swap).await.expect("swapped");
    // The audit of a service runs at its boot.
    let service = deployment.serve().await;

    for _ in 0..200 {
        let (_, json) = page(&deployment, &service, "").await;
        if json["record"]["audit"]["clean"] == false {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let (html, json) = page(&deployment, &service, "").await;

    assert_eq!(json["record"]["audit"]["clean"], false);
    assert!(json["trouble"]["broken"].as_str().expect("a place").contains("entry 6"), "{}", json["trouble"]);
    assert!(strict(&html).contains("BROKEN_CHAIN"));
}
