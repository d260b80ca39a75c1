//! Held calls and answers of people (G5, E4), through the same doors as gateways and operators use.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use counterfoil_core::hold::HoldIs;
use counterfoil_core::id::{HoldId, ProjectId};
use counterfoil_core::record::{ItemAnswer, RefusedReason};
use counterfoil_core::statement::{Decision, Effect, Reason, Say, Verdict};
use counterfoil_evidence::setup::{AnswerError, Setup, SetupError, Shown};
use futures_util::StreamExt as _;
use reqwest::StatusCode;

use crate::answers::{reason, recorded};
use crate::deployment::{Deployment, Service, new_project};
use crate::gateway::{Judged, fresh_uuid, item, record, sign, statement};
use crate::holding::{
    Holding, NOUN, SEALED, commitment, hold, hold_for, parked, parking_item, row, send, settled, told,
};

fn refused<T: std::fmt::Debug>(answered: Result<T, SetupError>) -> AnswerError {
    match answered {
        Err(SetupError::Answer(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

const ONCE: (Say, Option<u32>) = (Say::ApproveOnce, None);
const DENY: (Say, Option<u32>) = (Say::Deny, None);

/// G5: 1,000 racing answers to 50 holds through two ledgers: each has one winner, and its own call goes out once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_a_thousand_racing_answers_to_fifty_holds_fifty_win_and_fifty_are_dispatched() {
    let deployment = Deployment::new().await;
    let services = [deployment.serve().await, deployment.serve().await];
    let setups = [
        Setup::open(&deployment.config).await.expect("one ledger"),
        Setup::open(&deployment.config).await.expect("another ledger"),
    ];
    let mut holds: Vec<Holding> = Vec::new();
    for number in 0..50 {
        holds.push(hold(&deployment, &services[number % 2]).await);
    }

    let racing = (0..1000).map(|number: usize| {
        let (holding, setup) = (&holds[number / 20], &setups[number % 2]);
        async move {
            let answered =
                setup.answer_hold(deployment_id(holding), holding.hold, holding.seen(), ONCE, "operator-1");
            match answered.await {
                Ok(done) => Some((holding.hold, done.answer)),
                Err(SetupError::Answer(AnswerError::Gone(HoldIs::Approved))) => None,
                Err(other) => panic!("neither won nor gone: {other}"),
            }
        }
    });
    // All twenty of ten holds at a time: eight connections a ledger take the rest in turn, and who waits for one too long is
    // turned away, which is another promise than this one.
    let racing = futures_util::stream::iter(racing).buffer_unordered(200);
    let won: Vec<_> = racing.collect::<Vec<_>>().await.into_iter().flatten().collect();

    assert_eq!(won.len(), 50);
    let won: BTreeMap<HoldId, _> = won.into_iter().collect();
    assert_eq!(won.len(), 50, "one winner a hold");
    let dispatching = holds.iter().flat_map(|holding| {
        let answer = won[&holding.hold];
        (0..4).map(move |try_| (holding, answer, try_))
    });
    let sent = dispatching.map(|(holding, answer, number)| {
        let (deployment, service) = (&deployment, &services[number % 2]);
        async move { send(deployment, service, holding.goes(deployment, answer)).await }
    });
    let fates = futures_util::future::join_all(sent).await;
    let went = fates.iter().filter(|fate| matches!(fate, ItemAnswer::Recorded(_))).count();
    assert_eq!(went, 50, "of 200 decisions by 50 answers");
    assert!(
        fates
            .iter()
            .filter(|fate| !matches!(fate, ItemAnswer::Recorded(_)))
            .all(|fate| { reason(fate) == RefusedReason::HoldGone })
    );
    for holding in &holds {
        assert_eq!(row(&deployment, holding.hold).await, ("dispatched".to_owned(), None, None));
    }
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

fn deployment_id(holding: &Holding) -> ProjectId {
    holding.said.project
}

/// G5: answered, told to the gateway that waits, dispatched: the hold's own story.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_waits_learns_what_a_person_said() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let open = told(&deployment, &service, held.hold, 0).await;
    let sealed = open.sealed.is_some();
    assert_eq!(
        (open.is, sealed, open.answered),
        (HoldIs::Open, true, None),
        "a repeat of the call joins by it"
    );
    assert_eq!((open.decision, open.action), (held.digest, held.said.action));

    let began = Instant::now();
    let waiting = told(&deployment, &service, held.hold, 20_000);
    let approving = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        held.approve(&deployment).await
    };
    let (approved, answer) = tokio::join!(waiting, approving);

    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!((approved.is, approved.sealed.as_deref()), (HoldIs::Approved, Some(SEALED)));
    let answered = approved.answered.expect("an answer");
    assert_eq!((answered.answer, answered.say), (answer, Say::ApproveOnce));
    assert_eq!(answered.until, Some(held.card.expires_at));
    recorded(&send(&deployment, &service, held.goes(&deployment, answer)).await);
    let gone = told(&deployment, &service, held.hold, 0).await;
    assert_eq!((gone.is, gone.sealed), (HoldIs::Dispatched, None));
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// E4: an answer names what was seen; whatever else it names is refused, and the hold stays open.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_another_decision_or_card_is_refused() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (held, other) = (hold(&deployment, &service).await, hold(&deployment, &service).await);
    let (decision, card) = held.seen();
    let answer = async |seen, said| {
        deployment.setup.answer_hold(deployment.id(), held.hold, seen, said, "operator-1").await
    };

    assert!(matches!(refused(answer((other.digest, card), ONCE).await), AnswerError::OtherDecision));
    assert!(matches!(refused(answer((decision, other.card.digest()), ONCE).await), AnswerError::OtherCard));
    for minutes in [0, 4, 43_201] {
        let said = (Say::ApproveFor, Some(minutes));
        assert!(matches!(refused(answer((decision, card), said).await), AnswerError::Minutes), "{minutes}");
    }
    assert!(matches!(refused(answer((decision, card), (Say::ApproveFor, None)).await), AnswerError::Minutes));
    assert!(matches!(refused(answer((decision, card), (Say::Deny, Some(30))).await), AnswerError::Minutes));
    let nothing = HoldId::from_uuid(fresh_uuid());
    let unknown =
        deployment.setup.answer_hold(deployment.id(), nothing, held.seen(), ONCE, "operator-1").await;
    assert!(matches!(refused(unknown), AnswerError::NoSuchHold));

    assert_eq!(row(&deployment, held.hold).await.0, "open");
    answer((decision, card), DENY).await.expect("denied");
    assert!(matches!(refused(answer((decision, card), ONCE).await), AnswerError::Gone(HoldIs::Denied)));
    assert_eq!(row(&deployment, held.hold).await, ("denied".to_owned(), None, None));
}

/// T1: a hold of one project is none in another, whoever answers.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_another_project_is_no_hold() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");

    let answered = deployment.setup.answer_hold(other.id, held.hold, held.seen(), ONCE, "operator-1").await;

    assert!(matches!(refused(answered), AnswerError::NoSuchHold));
    assert!(deployment.setup.hold(other.id, held.hold).await.expect("asked").is_none());
    assert!(deployment.setup.holds(other.id, Shown::All, 10).await.expect("asked").is_empty());
    assert_eq!(row(&deployment, held.hold).await.0, "open");
}

/// G5: of two decisions by one approval the first goes out, in one batch and after it.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_used_once() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let answer = held.approve(&deployment).await;
    let items = [held.goes(&deployment, answer), held.goes(&deployment, answer)].map(|said| {
        let signed = sign(said, &deployment.decision);
        statement(&deployment, signed.bytes(), Some(deployment.api_key.id), None)
    });

    let fates = record(&service, &deployment.token, items.into()).await.expect("200");

    recorded(&fates[0]);
    assert_eq!(reason(&fates[1]), RefusedReason::HoldGone);
    let again = send(&deployment, &service, held.goes(&deployment, answer)).await;
    assert_eq!(reason(&again), RefusedReason::HoldGone);
}

/// G5: the same call, byte for byte, or none.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_lifts_what_was_shown_and_nothing_else() {
    type Change = (&'static str, fn(&mut Decision, &Holding));
    let changes: [Change; 12] = [
        ("other arguments", |said, _| said.args = Some(commitment())),
        ("no arguments", |said, _| said.args = None),
        ("another principal", |said, _| said.principal = Some(commitment())),
        ("another noun", |said, _| {
            said.class.as_mut().expect("a class").nouns[0].commit = commitment();
        }),
        ("no class", |said, _| said.class = None),
        ("another tool", |said, _| said.tool = Some("note_delete".parse().expect("a tool"))),
        ("another definition", |said, _| said.pin = Some(counterfoil_core::digest::Digest::of(b"other"))),
        ("another provider", |said, _| said.provider = Some("other".parse().expect("a provider"))),
        ("another action", |said, _| said.action = crate::gateway::fresh_action()),
        ("another answer", |said, held| said.answers.as_mut().expect("answers").answer = held.digest),
        ("another hold", |said, other| said.answers.as_mut().expect("answers").hold = other.hold),
        ("no answer", |said, _| said.answers = None),
    ];
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (held, other) = (hold(&deployment, &service).await, hold(&deployment, &service).await);
    let answer = held.approve(&deployment).await;
    other.approve(&deployment).await;
    for (what, change) in changes {
        let mut said = held.goes(&deployment, answer);
        change(&mut said, &other);

        let fate = send(&deployment, &service, said).await;

        assert_eq!(reason(&fate), RefusedReason::HoldGone, "{what}");
    }
    let mut advisory = held.goes(&deployment, answer);
    (advisory.verdict, advisory.effect, advisory.args) = (Verdict::StepUp, Effect::Advisory, None);
    // No window makes an answer advisory.
    assert_eq!(reason(&send(&deployment, &service, advisory).await), RefusedReason::Stale);
    recorded(&send(&deployment, &service, held.goes(&deployment, answer)).await);
}

/// G5: a hold that nobody approved lifts nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_open_or_denied_lets_nothing_go() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let made_up = counterfoil_core::digest::Digest::of(b"an answer");
    let open = send(&deployment, &service, held.goes(&deployment, made_up)).await;
    assert_eq!(reason(&open), RefusedReason::HoldGone);
    let denied = deployment.setup.answer_hold(deployment.id(), held.hold, held.seen(), DENY, "operator-1");
    let denied = denied.await.expect("denied");

    let fate = send(&deployment, &service, held.goes(&deployment, denied.answer)).await;

    assert_eq!(reason(&fate), RefusedReason::HoldGone);
}

/// G5: silence is no, an entry says so, and nothing of the call is kept.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_answers_expires_and_is_wiped() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let silent = hold_for(&deployment, &service, Reason::NoRule, 1_500).await;
    let approved = hold_for(&deployment, &service, Reason::NoRule, 1_500).await;
    let answer = approved.approve(&deployment).await;

    let state = settled(&deployment, &service, silent.hold).await;

    assert_eq!((state.is, state.answered), (HoldIs::Expired, None));
    assert_eq!(row(&deployment, silent.hold).await, ("expired".to_owned(), None, None));
    let late =
        deployment.setup.answer_hold(deployment.id(), silent.hold, silent.seen(), ONCE, "operator-1").await;
    assert!(matches!(refused(late), AnswerError::Gone(HoldIs::Expired)));
    // Approved and not dispatched in time.
    let fate = send(&deployment, &service, approved.goes(&deployment, answer)).await;
    assert_eq!(reason(&fate), RefusedReason::HoldGone);
    for _ in 0..100 {
        if row(&deployment, approved.hold).await.0 != "approved" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(row(&deployment, approved.hold).await, ("expired".to_owned(), None, None));
    let client = crate::deployment::connect(&deployment.config, "postgres").await;
    let said = "select count(*) from entries where kind = 'hold' and action = $1";
    for (held, entries) in [(&silent, 1_i64), (&approved, 0)] {
        let found: i64 = client.query_one(said, &[&held.said.action.uuid()]).await.expect("a count").get(0);
        assert_eq!(found, entries);
    }
    deployment.setup.audit(deployment.id()).await.expect("audited").expect("clean");
}

/// G5: whatever is not known can be approved for one call, never ahead.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_once_only_grants_nothing_ahead() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    for reason in [Reason::UnknownTool, Reason::NounMissing, Reason::DefinitionChanged] {
        let held = hold_for(&deployment, &service, reason, 3_600_000).await;
        let said = (Say::ApproveFor, Some(30));

        let answered =
            deployment.setup.answer_hold(deployment.id(), held.hold, held.seen(), said, "operator-1");

        assert!(matches!(refused(answered.await), AnswerError::OnceOnly), "{reason}");
        held.approve(&deployment).await;
    }
    assert!(deployment.setup.grants(deployment.id()).await.expect("grants").is_empty());
}

/// G5: what is parked belongs to a held decision and says what it says; an item that does not is refused alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_parked_is_what_the_decision_says_or_nothing() {
    type Change = fn(&mut Decision, &mut counterfoil_core::hold::Parked);
    let changes: [(&str, Change, RefusedReason); 12] = [
        ("another hold", |_, parked| parked.hold = HoldId::from_uuid(fresh_uuid()), RefusedReason::Malformed),
        ("no hold", |said, _| said.hold = None, RefusedReason::Malformed),
        ("allowed", |said, _| said.verdict = Verdict::Allow, RefusedReason::Malformed),
        ("denied", |said, _| said.verdict = Verdict::Deny, RefusedReason::Malformed),
        ("advisory", |said, _| said.effect = Effect::Advisory, RefusedReason::Malformed),
        ("another action", |said, _| said.action = crate::gateway::fresh_action(), RefusedReason::Malformed),
        (
            "another tool",
            |_, parked| parked.card.tool = "other".parse().expect("a tool"),
            RefusedReason::Malformed,
        ),
        ("another reason", |said, _| said.reason = Reason::Rule, RefusedReason::Malformed),
        (
            "another service",
            |_, parked| {
                parked.card.class.as_mut().expect("a class").service = "mail".parse().expect("a service");
            },
            RefusedReason::Malformed,
        ),
        (
            "for two days",
            |_, parked| {
                parked.card.expires_at = parked.card.asked_at.plus_millis(48 * 3_600_000);
            },
            RefusedReason::Malformed,
        ),
        ("no base64url", |_, parked| parked.sealed = "ä".to_owned(), RefusedReason::Malformed),
        (
            "too large",
            |_, parked| parked.sealed = "a".repeat(counterfoil_core::hold::MAX_SEALED + 1),
            RefusedReason::TooLarge,
        ),
    ];
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (good, good_parked) = parked(&deployment, Reason::NoRule, 3_600_000);
    let taken = good_parked.hold;
    let mut items = Vec::new();
    for (_, change, _) in &changes {
        let (mut said, mut parked) = parked(&deployment, Reason::NoRule, 3_600_000);
        change(&mut said, &mut parked);
        items.push(parking_item(&deployment, &said, parked).1);
    }
    items.push(parking_item(&deployment, &good, good_parked).1);
    let (mut twice, mut twice_parked) = parked(&deployment, Reason::NoRule, 3_600_000);
    twice.hold = Some(taken);
    (twice_parked.hold, twice_parked.card.hold) = (taken, taken);
    items.push(parking_item(&deployment, &twice, twice_parked).1);
    items.push(item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1);

    let fates = record(&service, &deployment.token, items).await.expect("200");

    for ((what, _, why), fate) in changes.iter().zip(&fates) {
        assert_eq!(reason(fate), *why, "{what}");
    }
    recorded(&fates[12]);
    assert_eq!(reason(&fates[13]), RefusedReason::Conflict);
    recorded(&fates[14]);
    assert_eq!(deployment.setup.holds(deployment.id(), Shown::All, 100).await.expect("holds").len(), 1);
}

/// G5: at rest the card is sealed; with the hold's end both are gone from the database, not only from the answer.
#[tokio::test(flavor = "multi_thread")]
async fn call_and_card_are_wiped_with_their_hold() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let (state, sealed, card) = row(&deployment, held.hold).await;
    assert_eq!((state.as_str(), sealed.as_deref()), ("open", Some(SEALED)));
    let card = card.expect("a card");
    assert!(!card.contains(NOUN) && !card.contains("inbox"), "{card}");
    let shown = deployment.setup.hold(deployment.id(), held.hold).await.expect("asked").expect("a hold");
    assert_eq!(shown.card.as_ref(), Some(&held.card));
    assert_eq!(shown.card_digest, held.card.digest());

    let answer = held.approve(&deployment).await;
    recorded(&send(&deployment, &service, held.goes(&deployment, answer)).await);

    assert_eq!(row(&deployment, held.hold).await, ("dispatched".to_owned(), None, None));
    assert!(
        deployment
            .setup
            .hold(deployment.id(), held.hold)
            .await
            .expect("asked")
            .expect("a hold")
            .card
            .is_none()
    );
}

/// G5: the identical call finds its hold while it can be answered or used, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_finds_its_hold_until_it_is_dispatched() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let (project, agent) = (deployment.id(), deployment.agent);
    let asked = async |call: [u8; 32]| {
        let call = counterfoil_core::nonce::base64url(&call);
        let url =
            format!("{}/internal/v1/holds?project={project}&agent={agent}&call={call}", service.internal);
        ask(&service, &url, &deployment.token).await
    };

    assert_eq!(asked([7; 32]).await, Ok((held.hold, HoldIs::Open)));
    assert_eq!(asked([8; 32]).await, Err(StatusCode::NOT_FOUND));
    let answer = held.approve(&deployment).await;
    assert_eq!(asked([7; 32]).await, Ok((held.hold, HoldIs::Approved)));
    recorded(&send(&deployment, &service, held.goes(&deployment, answer)).await);
    assert_eq!(asked([7; 32]).await, Err(StatusCode::NOT_FOUND));
}

async fn ask(service: &Service, url: &str, token: &str) -> Result<(HoldId, HoldIs), StatusCode> {
    let answer = service.http.get(url).bearer_auth(token).send().await.expect("an answer");
    if answer.status() != StatusCode::OK {
        return Err(answer.status());
    }
    let state: counterfoil_core::hold::HoldState = answer.json().await.expect("a hold");
    Ok((state.hold, state.is))
}

/// G5, T5: once the decision that held it is empty, nobody can say what was approved, so nothing goes.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_held_decision_was_erased_does_not_go() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let held = hold(&deployment, &service).await;
    let answer = held.approve(&deployment).await;
    let admin = crate::deployment::connect(&deployment.config, "postgres").await;
    let empty = format!(
        "alter table entries disable trigger all; update entries set body = null where kind = 'decision' and action = '{}'",
        held.said.action.uuid()
    );
    admin.batch_execute(&empty).await.expect("emptied");

    let fate = send(&deployment, &service, held.goes(&deployment, answer)).await;

    assert_eq!(reason(&fate), RefusedReason::HoldGone);
}
