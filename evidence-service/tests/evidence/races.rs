//! Whoever races, the state at the entry's own place decides (C4); and a flood stays where it comes from (T8).

use counterfoil_core::digest::Digest;
use counterfoil_core::record::{ExecutionItem, Item, ItemAnswer, RefusedReason};
use counterfoil_core::statement::Verdict;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::value::RawValue;

use crate::answers::{reason, recorded};
use crate::deployment::{Deployment, Service, new_project};
use crate::gateway::{Judged, decision, fresh_action, record, sign, statement};
use crate::provider::{Answered, execution, native, state};
use crate::provider_keys::{fresh_key, import, notes};

async fn state_when_admitted(service: &Service, api_key: &str, body: &[u8]) -> Answered {
    loop {
        let answer = state(service, api_key, body.to_vec()).await;
        // Faster than the rate of one key: that is not what is asked here.
        if answer.status != StatusCode::TOO_MANY_REQUESTS || answer.retry_after.is_some_and(|wait| wait > 5) {
            return answer;
        }
        tokio::task::yield_now().await;
    }
}

/// C4: import, statements and revocation at once. A statement holds exactly if its entry stands after the one that
/// introduced the key and not after the one that revoked it.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_races_the_state_at_the_entrys_place_decides() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    let key = fresh_key();
    let api_key = deployment.api_key.secret.reveal();
    let statements: Vec<Vec<u8>> = (0..60)
        .map(|_| native(execution(project, fresh_action(), Digest::of(b"a decision")), &key))
        .collect();

    let stating = join_all(statements.chunks(4).map(|few| {
        let service = &service;
        async move {
            let mut answers = Vec::new();
            for said in few {
                answers.push(state(service, api_key, said.clone()).await);
            }
            answers
        }
    }));
    let owning = async {
        let imported = import(setup, project, &notes(), key.public()).await.expect("imported");
        let revoked = setup.revoke_key(project, key.kid(), None, "operator-1").await.expect("revoked");
        (imported[0].seq.expect("an entry"), revoked)
    };
    let (answers, (introduced, revoked)) = tokio::join!(stating, owning);

    for answer in answers.into_iter().flatten() {
        let (seq, holds) = (answer.seq(), answer.received().holds);
        assert_eq!(holds, introduced < seq && seq < revoked, "{introduced} {seq} {revoked}");
    }
    setup.audit(project).await.expect("read").expect("clean");
}

/// C4: whether a key is unused is decided where it is deleted: either a statement proves it, or it goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_never_deleted_after_it_signed() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    for _ in 0..8 {
        let key = fresh_key();
        import(setup, project, &notes(), key.public()).await.expect("imported");
        let said = native(execution(project, fresh_action(), Digest::of(b"a decision")), &key);

        let (answer, deleted) = tokio::join!(
            state(&service, deployment.api_key.secret.reveal(), said),
            setup.delete_provider_key(project, key.kid(), "operator-1"),
        );

        match deleted {
            Ok(seq) => assert!(!answer.received().holds, "{seq}"),
            Err(refused) => {
                assert!(refused.to_string().contains("can only be revoked"), "{refused}");
                assert!(answer.received().holds);
                setup.revoke_key(project, key.kid(), None, "operator-1").await.expect("revoked");
            }
        }
    }
    setup.audit(project).await.expect("read").expect("clean");
}

/// T8: forged statements of one leaked key are taken up to a bound, and neither an honest statement, nor another key,
/// nor another tenant is refused because of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_forged_statements_is_bounded_and_stays_where_it_comes_from() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (setup, project) = (&deployment.setup, deployment.id());
    let other = setup.create_project(&new_project("Second")).await.expect("a project");
    let theirs = setup.create_api_key(other.id, deployment.agent, None).await.expect("a key");
    let second = setup.create_api_key(project, deployment.agent, None).await.expect("a key");
    let (key, forger) = (fresh_key(), fresh_key());
    import(setup, project, &notes(), key.public()).await.expect("imported");
    let judged = Judged::now(&deployment, Verdict::Allow);
    let said = decision(&deployment, &judged);
    let action = said.action;
    let signed = sign(said, &deployment.decision);
    let item = statement(&deployment, signed.bytes(), Some(judged.credential), None);
    recorded(&record(&service, &deployment.token, vec![item]).await.expect("200")[0]);
    let leaked = deployment.api_key.secret.reveal();
    // Even about a real action, and even with a good key about nothing: neither proves anything.
    let forged = |n: usize| match n % 2 {
        0 => native(execution(project, action, signed.digest()), &forger),
        _ => native(execution(project, fresh_action(), Digest::of(b"nothing")), &key),
    };

    for n in 0..200 {
        let answer = state_when_admitted(&service, leaked, &forged(n)).await;
        assert_eq!(answer.status, StatusCode::OK, "{n}: {}", answer.body);
    }
    for n in 200..204 {
        let answer = state_when_admitted(&service, leaked, &forged(n)).await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(answer.retry_after.expect("a wait") > 3000);
    }

    let genuine = native(execution(project, action, signed.digest()), &key);
    let honest = state_when_admitted(&service, leaked, &genuine).await;
    assert!(honest.received().holds);
    assert_eq!(state(&service, second.secret.reveal(), forged(0)).await.status, StatusCode::OK);
    assert_eq!(state(&service, theirs.secret.reveal(), forged(0)).await.status, StatusCode::OK);
}

/// T8: with a leaked key of the provider, one action still takes sixteen statements and then the allowance; what a
/// gateway brings out of results has an allowance of its own.
#[tokio::test(flavor = "multi_thread")]
async fn many_words_about_one_action_are_bounded_too() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let project = deployment.id();
    let key = fresh_key();
    import(&deployment.setup, project, &notes(), key.public()).await.expect("imported");
    let judged = Judged::now(&deployment, Verdict::Allow);
    let said = decision(&deployment, &judged);
    let action = said.action;
    let signed = sign(said, &deployment.decision);
    let item = statement(&deployment, signed.bytes(), Some(judged.credential), None);
    recorded(&record(&service, &deployment.token, vec![item]).await.expect("200")[0]);
    let word = |n: u8| {
        let result = Some(counterfoil_core::nonce::base64url(&[n; 32]).parse().expect("a commitment"));
        let said =
            counterfoil_core::statement::Execution { result, ..execution(project, action, signed.digest()) };
        let text = String::from_utf8(native(said, &key)).expect("JSON");
        let execution = RawValue::from_string(text).expect("JSON");
        Item::Execution(ExecutionItem { project, provider: notes(), execution })
    };
    // One commit sees what stood before it, so the sixteen are filled first.
    let first = record(&service, &deployment.token, (0..16).map(word).collect()).await.expect("200");
    assert!(first.iter().all(|answer| matches!(answer, ItemAnswer::Recorded(_))));

    let more = record(&service, &deployment.token, (16..=220).map(word).collect()).await.expect("200");

    assert!(more[..200].iter().all(|answer| matches!(answer, ItemAnswer::Recorded(_))));
    assert!(more[200..].iter().all(|answer| reason(answer) == RefusedReason::OverCap));
}
