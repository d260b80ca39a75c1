//! What providers state: taken in, judged at its place, answered with an acceptance (P3, C4, T1, T8).

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::record::{ExecutionItem, Item, RefusedReason};
use counterfoil_core::statement::{Outcome, ReceivedForm, Verdict};
use reqwest::StatusCode;
use serde_json::value::RawValue;

use crate::answers::{check, duplicate, reason, recorded};
use crate::deployment::{Deployment, Service, introduce, new_project, publish};
use crate::gateway::{Judged, decision, fresh_action, record, sign, statement};
use crate::provider::{Answered, execution, native, state, vendor};
use crate::provider_keys::{fresh_key, import, notes};

/// A decision that stands in the record.
async fn decided(deployment: &Deployment, service: &Service) -> (ActionId, Digest) {
    let judged = Judged::now(deployment, Verdict::Allow);
    let said = decision(deployment, &judged);
    let action = said.action;
    let signed = sign(said, &deployment.decision);
    let item = statement(deployment, signed.bytes(), Some(judged.credential), None);
    let answers = record(service, &deployment.token, vec![item]).await.expect("200");
    recorded(&answers[0]);
    (action, signed.digest())
}

async fn post(deployment: &Deployment, service: &Service, body: Vec<u8>) -> Answered {
    state(service, deployment.api_key.secret.reveal(), body).await
}

/// P3: the provider's own key signs, the answer is a receipt of the entry, and possession is shown.
#[tokio::test(flavor = "multi_thread")]
async fn a_native_execution_is_answered_with_its_acceptance_receipt() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let said = native(execution(deployment.id(), action, digest), &key);

    let answer = post(&deployment, &service, said.clone()).await;

    assert_eq!(answer.body["ok"], true);
    assert_eq!(answer.body["signature_valid"], true);
    check(&answer.receipt(), &deployment.trust(&service).await);
    let received = answer.received();
    assert_eq!((received.form, received.holds), (ReceivedForm::ExecutionNative, true));
    assert_eq!(received.bytes.0, said);
    assert_eq!(received.signer.thumbprint.as_ref(), Some(key.kid()));
    let states = deployment.setup.provider_keys(deployment.id()).await.expect("read");
    assert_eq!(states[0].used, Some(answer.seq()));
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// P3: a vendor's name for its key is a name; the thumbprint is the identity.
#[tokio::test(flavor = "multi_thread")]
async fn the_six_field_form_is_read_under_any_name_of_its_key() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let (key, other) = (fresh_key(), fresh_key());
    let mail = "mail".parse().expect("a provider id");
    // Both providers call their key `k1`.
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    import(&deployment.setup, deployment.id(), &mail, other.public()).await.expect("imported");
    let action = action.to_string();

    let by_name = post(&deployment, &service, vendor(&action, &digest, "k1", &key)).await;
    let by_nobodys_name = post(&deployment, &service, vendor("act_of_theirs", &digest, "v7", &other)).await;
    let forged = post(&deployment, &service, vendor(&action, &digest, "k1", &fresh_key())).await;
    let unknown = post(&deployment, &service, vendor(&action, &digest, "v9", &fresh_key())).await;
    let personal = post(&deployment, &service, vendor(&action, &digest, "ann@example.com", &key)).await;

    let received = by_name.received();
    assert_eq!((received.form, received.holds), (ReceivedForm::VendorWire, true));
    assert_eq!(received.signer.kid.as_deref(), Some("k1"));
    assert_eq!(received.signer.thumbprint.as_ref(), Some(key.kid()));
    assert!(by_nobodys_name.received().holds);
    assert_eq!(by_nobodys_name.received().signer.thumbprint.as_ref(), Some(other.kid()));
    assert!(!forged.received().holds && forged.received().signer.thumbprint.is_some());
    assert!(!unknown.received().holds && unknown.received().signer.thumbprint.is_none());
    // The same word of the same provider: the stored acceptance, whatever it calls its key.
    assert_eq!((personal.seq(), &personal.body["repeated"]), (by_name.seq(), &true.into()));
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// P3: a bad signature is stored and flagged; it neither proves possession nor takes the place of a good one.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_signature_is_stored_and_said_and_occupies_nothing() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let (key, stranger) = (fresh_key(), fresh_key());
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let said = execution(deployment.id(), action, digest);
    let text = String::from_utf8(native(said.clone(), &stranger)).expect("JSON");
    // Under the provider's key id, with another key's signature.
    let forged = text.replace(stranger.kid().as_str(), key.kid().as_str()).into_bytes();

    let first = post(&deployment, &service, forged.clone()).await;
    let again = post(&deployment, &service, forged).await;
    let unknown = post(&deployment, &service, text.into_bytes()).await;

    assert_eq!((first.status, &first.body["signature_valid"]), (StatusCode::OK, &false.into()));
    assert_eq!(first.received().signer.thumbprint.as_ref(), Some(key.kid()));
    assert_eq!(again.seq(), first.seq(), "the very same bytes");
    assert!(!unknown.received().holds && unknown.received().signer.thumbprint.is_none());
    assert!(deployment.setup.provider_keys(deployment.id()).await.expect("read")[0].used.is_none());
    let genuine = post(&deployment, &service, native(said, &key)).await;
    assert!(genuine.received().holds);
    assert!(genuine.seq() > unknown.seq());
}

/// P3: the same word gets the stored acceptance; another word, or another provider's, is another entry.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_word_is_one_entry_and_another_word_is_another() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let (key, newer, other) = (fresh_key(), fresh_key(), fresh_key());
    let mail = "mail".parse().expect("a provider id");
    let (setup, project) = (&deployment.setup, deployment.id());
    import(setup, project, &notes(), key.public()).await.expect("imported");
    import(setup, project, &notes(), newer.public()).await.expect("imported");
    import(setup, project, &mail, other.public()).await.expect("imported");
    let said = || execution(project, action, digest);

    // Another provider was faster with the same words: they are not the answer to the honest one.
    let foreign = post(&deployment, &service, native(said(), &other)).await;
    let first = post(&deployment, &service, native(said(), &key)).await;
    let again = post(&deployment, &service, native(said(), &key)).await;
    let by_newer_key = post(&deployment, &service, native(said(), &newer)).await;
    let failed = counterfoil_core::statement::Execution { outcome: Outcome::Failed, ..said() };
    let failed = post(&deployment, &service, native(failed, &key)).await;

    assert!(foreign.received().holds);
    assert!(first.seq() > foreign.seq());
    assert_eq!(again.seq(), first.seq());
    assert_eq!(again.receipt().bytes(), first.receipt().bytes());
    assert_eq!(by_newer_key.seq(), first.seq());
    assert!(failed.seq() > first.seq());
}

/// P3: what does not read is refused with its place, and nothing of it is stored.
#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_read_is_refused_with_its_place_and_not_stored() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = fresh_key();
    let whole = String::from_utf8(native(execution(deployment.id(), fresh_action(), Digest::of(b"d")), &key));
    let whole = whole.expect("JSON");
    let sized = format!("{}{}", whole, " ".repeat(100_000));
    let nested = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    let cases = [
        (whole.replace("\"seen\":null", "\"seen\":null,\"more\":1"), "more"),
        (whole.replace(",\"seen\":null", ""), "seen"),
        (whole.replace("EXECUTED", "DONE"), "DONE"),
        (whole.replace("\"iss\":\"notes\"", "\"iss\":\"mail\""), "mail"),
        (whole.replace("execution/v1", "decision/v1"), "decision/v1"),
        (whole.replace("\"seen\":null", "\"seen\":null,\"seen\":null"), "seen"),
        (whole.replace("Ed25519", "ES256"), "ES256"),
        ("{}".to_owned(), "signature"),
        ("[]".to_owned(), "signature"),
        (nested, "nesting"),
        ("{".to_owned(), "$"),
    ];

    for (text, place) in cases {
        let answer = post(&deployment, &service, text.clone().into_bytes()).await;
        let message = answer.body["error"]["message"].as_str().expect("a message");
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{text}");
        assert!(message.contains(place), "{message}: {place}");
    }
    let large = post(&deployment, &service, sized.into_bytes()).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    let list = service.http.get(format!("{}/v1/acceptances", service.public));
    let list = list.bearer_auth(deployment.api_key.secret.reveal()).send().await.expect("answer");
    let list: serde_json::Value = list.json().await.expect("JSON");
    assert_eq!(list["acceptances"].as_array().expect("a list").len(), 0);
}

/// T1: a statement about another tenant's action is stored here, as one about nothing is, and there is no trace of it
/// there.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_about_another_project_is_one_about_nothing() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    introduce(&deployment.setup, other.id, &deployment.decision).await;
    publish(&deployment.setup, other.id).await;
    let theirs = deployment.setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    import(&deployment.setup, other.id, &notes(), key.public()).await.expect("imported");
    let foreign = native(execution(deployment.id(), action, digest), &key);
    let nothing = native(execution(deployment.id(), fresh_action(), digest), &key);

    let about_foreign = state(&service, theirs.secret.reveal(), foreign.clone()).await;
    let about_nothing = state(&service, theirs.secret.reveal(), nothing).await;

    let shape = |answer: &Answered| {
        let mut body = answer.body.clone();
        let members = body.as_object_mut().expect("an object");
        members.retain(|name, _| name != "seq" && name != "receipt");
        (answer.status, body)
    };
    assert_eq!(shape(&about_foreign), shape(&about_nothing));
    assert_eq!(about_foreign.receipt().entry().project, other.id);
    // The owner's own statement is new in its own project.
    let own = post(&deployment, &service, foreign).await;
    assert_eq!(own.body["repeated"], false);
}

/// T1, T3
#[tokio::test(flavor = "multi_thread")]
async fn statements_and_acceptances_want_a_known_key() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let said = native(execution(deployment.id(), fresh_action(), Digest::of(b"d")), &fresh_key());

    assert_eq!(state(&service, "cfk_unknown", said.clone()).await.status, StatusCode::UNAUTHORIZED);
    // A gateway's token is for its own listener.
    assert_eq!(state(&service, &deployment.token, said.clone()).await.status, StatusCode::UNAUTHORIZED);
    let url = format!("{}/v1/acceptances", service.public);
    let listed = service.http.get(&url).bearer_auth("cfk_unknown").send().await.expect("answer");
    assert_eq!(listed.status(), StatusCode::UNAUTHORIZED);
    // A gateway passes vendors on to its own listener, under the vendor's key.
    let inside = Service { public: service.internal.clone(), ..service.clone() };
    assert_eq!(state(&inside, "cfk_unknown", said.clone()).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(post(&deployment, &inside, said.clone()).await.status, StatusCode::OK);
    let unlabelled = service.http.post(format!("{}/v1/executions", service.public)).body(said.clone());
    let unlabelled = unlabelled.bearer_auth(deployment.api_key.secret.reveal()).send().await.expect("answer");
    assert_eq!(unlabelled.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    deployment.setup.revoke_api_key(deployment.id(), deployment.api_key.id).await.expect("revoked");
    assert_eq!(post(&deployment, &service, said).await.status, StatusCode::UNAUTHORIZED);
}

/// P3: whoever lost an answer finds it again, in the order of the record.
#[tokio::test(flavor = "multi_thread")]
async fn acceptances_are_listed_from_any_place_on() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let mut seqs = Vec::new();
    for _ in 0..3 {
        let said = native(execution(deployment.id(), fresh_action(), Digest::of(b"d")), &key);
        seqs.push(post(&deployment, &service, said).await.seq());
    }
    let list = |query: String| {
        let url = format!("{}/v1/acceptances{query}", service.public);
        let asked = service.http.get(url).bearer_auth(deployment.api_key.secret.reveal());
        async move { asked.send().await.expect("an answer") }
    };

    let first: serde_json::Value = list("?limit=2".to_owned()).await.json().await.expect("JSON");
    let rest = list(format!("?after={}&limit=2", first["next"])).await.text().await.expect("text");
    let rest: serde_json::Value = serde_json::from_str(&rest).expect("JSON");

    assert_eq!(first["acceptances"][0]["seq"], seqs[0]);
    assert_eq!((&first["next"], &rest["next"]), (&seqs[1].into(), &serde_json::Value::Null));
    let last = &rest["acceptances"][0];
    assert_eq!((&last["seq"], &last["provider"]), (&seqs[2].into(), &"notes".into()));
    assert_eq!(last["signature_valid"], true);
    let receipt = serde_json::from_str(&last["receipt"].to_string()).expect("a receipt");
    check(&receipt, &deployment.trust(&service).await);
    for bad in ["?after=-1", "?after=x", "?limit=x", "?before=1"] {
        assert_eq!(list(bad.to_owned()).await.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
}

/// C4, P3: out of a result, through the gateway: the same acceptance, and the same rules.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_a_gateway_brings_is_accepted_alike() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (action, digest) = decided(&deployment, &service).await;
    let key = fresh_key();
    import(&deployment.setup, deployment.id(), &notes(), key.public()).await.expect("imported");
    let item = |bytes: Vec<u8>| {
        Item::Execution(ExecutionItem {
            project: deployment.id(),
            provider: notes(),
            execution: RawValue::from_string(String::from_utf8(bytes).expect("JSON")).expect("JSON"),
        })
    };
    let said = native(execution(deployment.id(), action, digest), &key);
    let vendors = vendor(&action.to_string(), &digest, "k1", &key);

    let items = vec![item(said.clone()), item(said.clone()), item(vendors), item(b"{}".to_vec())];
    let answers = record(&service, &deployment.token, items).await.expect("200");

    let accepted = recorded(&answers[0]);
    check(&accepted.receipt, &deployment.trust(&service).await);
    assert_eq!(accepted.digest, accepted.receipt.entry().body);
    assert_eq!(duplicate(&answers[1]).receipt.entry().seq, accepted.receipt.entry().seq);
    assert_eq!(reason(&answers[2]), RefusedReason::Malformed);
    assert_eq!(reason(&answers[3]), RefusedReason::Malformed);
    // And by the provider itself, after a crash of the gateway, say.
    assert_eq!(post(&deployment, &service, said).await.seq(), accepted.receipt.entry().seq);
}
