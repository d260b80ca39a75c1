//! Grants: born from an answer, in what gateways follow, and gone when somebody takes them away (G3, G5).

use counterfoil_core::control::Snapshot;
use counterfoil_core::hold::HoldIs;
use counterfoil_core::record::RefusedReason;
use counterfoil_core::statement::{Reason, Say, Verdict};
use counterfoil_evidence::setup::{AnswerError, GrantChange, GrantError, SetupError, WhichGrants};

use crate::answers::{reason, recorded};
use crate::deployment::{BY, Deployment, Service, connect, now};
use crate::gateway::{Judged, decision};
use crate::holding::{Holding, NOUN, hold, row, send};

async fn followed(deployment: &Deployment, service: &Service) -> Snapshot {
    let url = format!("{}/internal/v1/control?project={}", service.internal, deployment.id());
    let answer = service.http.get(url).bearer_auth(&deployment.token).send().await.expect("an answer");
    answer.json().await.expect("a snapshot")
}

async fn grant(deployment: &Deployment, held: &Holding, minutes: u32) {
    let said = (Say::ApproveFor, Some(minutes));
    let setup = &deployment.setup;
    setup.answer_hold(deployment.id(), held.hold, held.seen(), said, "operator-1").await.expect("granted");
}

fn none_stands<T: std::fmt::Debug>(changed: Result<T, SetupError>) -> bool {
    matches!(changed, Err(SetupError::Grant(GrantError::NoneStands)))
}

/// G3, G5: an answer gives it, time or a person takes it away; giving leaves the floor, taking moves it.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_stands_for_a_time_and_what_takes_it_away_moves_the_floor() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let before = followed(&deployment, &service).await;
    let held = hold(&deployment, &service).await;
    let change = async |change| {
        let which = WhichGrants::Agent(deployment.agent);
        deployment.setup.change_grants(deployment.id(), which, change, (None, "operator-1")).await
    };

    grant(&deployment, &held, 30).await;

    let given = followed(&deployment, &service).await;
    assert_ne!(given.version, before.version);
    assert_eq!((given.control, given.floor), (before.control + 1, before.floor));
    let [text] = given.grants.grants.as_slice() else { panic!("{:?}", given.grants) };
    assert_eq!((text.agent, text.noun.value.as_str()), (deployment.agent, NOUN));
    assert_eq!(text.fields, held.card.class.as_ref().expect("a class").fields);
    let left = text.until.millis() - now().millis();
    assert!((29 * 60_000..=30 * 60_000).contains(&left), "{left}");

    let longer = change(GrantChange::Shorten { minutes: 60 }).await;
    assert!(matches!(longer, Err(SetupError::Grant(GrantError::NotShorter))), "{longer:?}");
    change(GrantChange::Renew { minutes: 600 }).await.expect("renewed");
    let renewed = followed(&deployment, &service).await;
    assert_eq!((renewed.control, renewed.floor), (given.control + 1, given.floor));
    assert!(renewed.grants.grants[0].until > text.until);
    change(GrantChange::Shorten { minutes: 10 }).await.expect("shortened");
    let shortened = followed(&deployment, &service).await;
    assert_eq!((shortened.control, shortened.floor), (given.control + 2, given.control + 2));
    change(GrantChange::Remove).await.expect("removed");
    let removed = followed(&deployment, &service).await;
    assert_eq!((removed.control, removed.floor), (given.control + 3, given.control + 3));
    assert!(removed.grants.grants.is_empty());
    assert!(none_stands(change(GrantChange::Remove).await));

    // Judged while the grant stood, recorded after it went: stale.
    let mut said = decision(&deployment, &Judged::now(&deployment, Verdict::Allow));
    (said.reason, said.control) = (Reason::Grant, given.control);
    assert_eq!(reason(&send(&deployment, &service, said).await), RefusedReason::Stale);
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// G5: an answer for a time lets its own call go too, and the grant does not outlive the entry that took it.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_a_time_also_lets_its_own_call_go() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let said = (Say::ApproveFor, Some(30));
    let setup = &deployment.setup;
    let done = setup.answer_hold(deployment.id(), held.hold, held.seen(), said, "operator-1").await;
    let done = done.expect("granted");
    assert_eq!(done.grants.len(), 1);

    recorded(&send(&deployment, &service, held.goes(&deployment, done.answer)).await);

    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// A group goes in one commit, and nobody else's with it.
#[tokio::test(flavor = "multi_thread")]
async fn grants_of_a_service_go_together() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    for _ in 0..3 {
        grant(&deployment, &hold(&deployment, &service).await, 30).await;
    }
    let remove = async |service: &str| {
        let which = WhichGrants::Service(service.parse().expect("a service"));
        let said = (Some("The week is over."), "operator-1");
        deployment.setup.change_grants(deployment.id(), which, GrantChange::Remove, said).await
    };

    assert!(none_stands(remove("mail").await));
    assert_eq!(remove("notes").await.expect("removed").grants.len(), 3);

    assert!(deployment.setup.grants(deployment.id()).await.expect("grants").is_empty());
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// G5, G7: a kill takes them in its own commit; what is parked by a decision from before it is never opened.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_takes_every_hold_and_every_grant() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    grant(&deployment, &hold(&deployment, &service).await, 30).await;
    let (open, approved) = (hold(&deployment, &service).await, hold(&deployment, &service).await);
    let answer = approved.approve(&deployment).await;

    deployment.setup.kill(deployment.id(), BY).await.expect("killed");

    for held in [&open, &approved] {
        assert_eq!(row(&deployment, held.hold).await, ("swept".to_owned(), None, None));
    }
    let snapshot = followed(&deployment, &service).await;
    assert!(snapshot.killed && snapshot.grants.grants.is_empty());
    assert!(deployment.setup.grants(deployment.id()).await.expect("grants").is_empty());
    let late = hold(&deployment, &service).await;
    assert_eq!(row(&deployment, late.hold).await, ("swept".to_owned(), None, None));
    for held in [&open, &late] {
        let once = (Say::ApproveOnce, None);
        let setup = &deployment.setup;
        let answered = setup.answer_hold(deployment.id(), held.hold, held.seen(), once, "operator-1").await;
        let Err(SetupError::Answer(error)) = answered else { panic!("answered under a kill: {answered:?}") };
        assert!(matches!(error, AnswerError::Killed | AnswerError::Gone(HoldIs::Swept)), "{error}");
    }
    let fate = send(&deployment, &service, approved.goes(&deployment, answer)).await;
    assert_eq!(reason(&fate), RefusedReason::Killed);
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

async fn page(deployment: &Deployment, service: &Service, wanted: &str) -> String {
    let url = format!("{}{}", service.public, deployment.project.issuer.page_path());
    let mut shown = String::new();
    for _ in 0..100 {
        shown = service.http.get(&url).send().await.expect("page").text().await.expect("page");
        if shown.contains(wanted) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    shown
}

/// The page counts what stands now, and says of whom nothing more is known.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_counts_grants_that_stand_and_says_which_answers_are_local() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let shown = page(&deployment, &service, "No grant").await;
    assert!(shown.contains("No grant of a person stands"), "{shown}");
    assert!(shown.contains("No person has answered"), "{shown}");
    for _ in 0..2 {
        grant(&deployment, &hold(&deployment, &service).await, 30).await;
    }

    let shown = page(&deployment, &service, "2 grants").await;

    assert!(shown.contains("2 grants of people stand beside the rules"), "{shown}");
    assert!(shown.contains("2 answers of people") && shown.contains("2 are local"), "{shown}");
    assert!(!shown.contains(NOUN), "{shown}");
    let which = WhichGrants::Agent(deployment.agent);
    let change = GrantChange::Remove;
    deployment
        .setup
        .change_grants(deployment.id(), which, change, (None, "operator-1"))
        .await
        .expect("removed");
    let shown = page(&deployment, &service, "No grant").await;
    assert!(shown.contains("No grant of a person stands"), "{shown}");
}

/// P2, G5: a row that no entry says is found, whoever may write rows.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_or_a_hold_that_was_changed_by_hand_is_found() {
    for (edit, place) in [
        ("update grants set ended = null", "list of grants"),
        ("update grants set ended = null, until = until + 86400000", "list of grants"),
        ("update grants set document = replace(document, 'ann-of', 'bob-of')", "list of grants"),
        ("update grants set agent = grant_id", "list of grants"),
        ("delete from grants", "list of grants"),
        (
            "insert into grants select project_id, 3, gen_random_uuid(), agent, service, verb, digest, document, until \
             from grants",
            "list of grants",
        ),
        (
            "update holds set state = 'approved', answer = decision, said = 'approve_once', until = expires_at \
             where state = 'open'",
            "list of holds",
        ),
        ("update holds set decision = card_digest", "list of holds"),
    ] {
        let deployment = Deployment::new().await;
        let before = deployment.serve().await;
        grant(&deployment, &hold(&deployment, &before).await, 30).await;
        hold(&deployment, &before).await;
        let which = WhichGrants::Agent(deployment.agent);
        let remove =
            deployment.setup.change_grants(deployment.id(), which, GrantChange::Remove, (None, "operator-1"));
        remove.await.expect("removed");
        let admin = connect(&deployment.config, "postgres").await;
        admin.batch_execute(edit).await.unwrap_or_else(|error| panic!("{edit}: {error}"));

        let service = deployment.serve().await;
        let shown = page(&deployment, &service, place).await;

        assert!(shown.contains("BROKEN_CHAIN") && shown.contains(place), "{edit}: {shown}");
    }
}
