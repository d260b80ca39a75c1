//! Days that lie in the past, against a real Postgres and as its own roles.

mod past;

use counterfoil_core::digest::Digest;
use counterfoil_core::receipt::Trust;
use counterfoil_core::statement::{Removal, RetentionDays, Statement};
use counterfoil_core::time::Timestamp;

use super::days::Day;
use super::{Archived, Forget, Swept};
use crate::clock;
use crate::ledger::AppendError;
use past::Past;

const DAY_MILLIS: i64 = 24 * 3600 * 1000;

/// Noon, so many days ago.
fn ago(days: i64) -> Timestamp {
    Day::of(clock::now()).start().plus_millis(DAY_MILLIS / 2 - days * DAY_MILLIS)
}

async fn statement(past: &Past, seq: u64) -> Statement {
    let mut client = past.ledger.database().app().await.unwrap();
    let tx = client.begin(past.project).await.unwrap();
    let stored = crate::ledger::store::stored(&tx, &[seq]).await.unwrap().remove(&seq);
    stored.expect("an entry with a body").statement
}

/// P6, T5: whole days go, the rest stays and verifies, and what is gone is visible.
#[tokio::test(flavor = "multi_thread")]
async fn days_older_than_their_retention_are_emptied_and_the_rest_verifies() {
    let past = Past::since(ago(100)).await;
    let first = past.calls(3, ago(100)).await;
    let second = past.calls(2, ago(99)).await;
    let third = past.calls(2, ago(90)).await;
    let kept = past.ledger.receipt(past.project, first[0]).await.unwrap().expect("a receipt");

    let swept = past.ledger.sweep(past.project, clock::now()).await.unwrap();

    assert_eq!(swept, Swept { bodies: 10, tombstones: 2 });
    let clean = past.clean().await;
    assert_eq!(clean.erased, 10, "each decision and each observation of two days, no key and no epoch");
    for seq in first.iter().chain(&second) {
        assert!(past.ledger.receipt(past.project, *seq).await.unwrap().is_none());
    }
    assert!(past.ledger.receipt(past.project, third[0]).await.unwrap().is_some());
    assert_eq!(past.count("select count(*) from openings where project_id = $1").await, 2);
    let Statement::Tombstone(tombstone) = statement(&past, clean.size - 1).await else {
        panic!("a tombstone")
    };
    assert_eq!((tombstone.removal, &*tombstone.behalf), (Removal::Retention, "retention"));
    assert_eq!(tombstone.epoch, Day::of(ago(99)).to_string());

    // A receipt that somebody kept stands by itself.
    let trust = trust(&past);
    let verified = counterfoil_core::receipt::verify(&kept, &trust).expect("verified");
    assert_eq!(verified.entry.seq, first[0]);
    let again = past.ledger.sweep(past.project, clock::now()).await.unwrap();
    assert_eq!(again, Swept::default(), "nothing is erased twice, and no tombstone is written for nothing");
    assert_eq!(past.clean().await, clean);
}

fn trust(past: &Past) -> Trust {
    let set = past.jwks();
    Trust::from_jwks(set.as_bytes()).expect("a key set")
}

/// T5: the sweep goes on where it stopped, in commits of a bounded size.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_day_is_emptied_in_several_commits() {
    let past = Past::since(ago(100)).await;
    past.calls(400, ago(100)).await;
    past.calls(1, ago(1)).await;

    let swept = past.ledger.sweep(past.project, clock::now()).await.unwrap();

    assert_eq!(swept, Swept { bodies: 800, tombstones: 2 });
    assert_eq!(past.clean().await.erased, 800);
    assert_eq!(past.count("select upto from swept where project_id = $1").await, 803);
}

/// T5: two services sweep at the same hour.
#[tokio::test(flavor = "multi_thread")]
async fn two_sweeps_at_once_erase_each_body_once() {
    let past = Past::since(ago(100)).await;
    for day in 0..6 {
        past.calls(40, ago(100 - day)).await;
    }
    let other = crate::setup::open_ledger(&past.config).await.unwrap();

    let mut bodies = 0;
    while bodies < 480 {
        let (one, two) = tokio::join!(
            past.ledger.sweep(past.project, clock::now()),
            other.sweep(past.project, clock::now())
        );
        // Whoever was slower gives up, and is right about what it did before.
        for swept in [one, two] {
            assert!(matches!(swept, Ok(_) | Err(AppendError::Unavailable(_))), "{swept:?}");
        }
        bodies = past.count("select count(*) from entries where project_id = $1 and body is null").await;
    }

    assert_eq!(past.clean().await.erased, 480);
    let twice = "select count(*) from tombstones t join tombstones u on t.seq < u.seq and t.first_seq <= u.last_seq \
                 and u.first_seq <= t.last_seq where t.project_id = $1";
    assert_eq!(past.count(twice).await, 0, "no two tombstones cover the same entry");
}

/// T5, P4: retention cannot be cut short to keep a finding from being made.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_may_still_owe_is_not_erased_under_its_feet() {
    let past = Past::since(ago(40)).await;
    past.calls(1, ago(40)).await;
    past.calls(1, ago(10)).await;
    past.setup.keep_for(past.project, RetentionDays::new(1).unwrap(), "operator").await.unwrap();

    let swept = past.ledger.sweep(past.project, clock::now()).await.unwrap();
    assert_eq!(swept.bodies, 2, "after 32 days nothing waits any more; before, everything not compared does");
    let early = past.ledger.erase_epoch(past.project, Day::of(ago(10)), Removal::Archive, "operator").await;
    assert!(matches!(early, Err(AppendError::Refused(_))), "{early:?}");

    past.compared().await;
    let swept = past.ledger.sweep(past.project, clock::now()).await.unwrap();
    assert_eq!(swept.bodies, 2);
    assert_eq!(past.clean().await.erased, 4);
}

/// P6: one day of many, by an operator's hand; a day that is not over is not erased.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_epoch_is_erased_and_is_visibly_absent() {
    let past = Past::since(ago(50)).await;
    past.calls(2, ago(50)).await;
    past.calls(3, ago(45)).await;
    past.calls(2, ago(40)).await;
    let day = Day::of(ago(45));
    let rows = past.ledger.epochs(past.project).await.unwrap();
    let row = rows.iter().find(|row| row.day == day).unwrap();
    let archived = past.ledger.archived(past.project, row.first, row.last).await.unwrap();
    let whole = |one: &&Archived| one.body.as_deref().map(Digest::of) == Some(one.entry.body);
    assert_eq!(archived.iter().filter(whole).count(), 7, "the epoch entry and six statements");
    assert_eq!(archived.iter().map(|one| one.openings.len()).sum::<usize>(), 3);

    let erased = past.ledger.erase_epoch(past.project, day, Removal::Archive, "operator").await.unwrap();

    assert_eq!((erased.bodies, erased.tombstones), (6, 1));
    let epochs = past.ledger.epochs(past.project).await.unwrap();
    let seen = |day| epochs.iter().find(|epoch| epoch.day == day).map(|epoch| (epoch.bodies, epoch.erased));
    assert_eq!(seen(day), Some((0, 6)));
    assert_eq!(seen(Day::of(ago(50))), Some((4, 0)));
    assert_eq!(past.clean().await.erased, 6);
    for (day, why) in [(Day::of(clock::now()), "is not over"), (Day::of(ago(44)), "has no entry")] {
        let refused = past.ledger.erase_epoch(past.project, day, Removal::Archive, "operator").await;
        assert!(matches!(&refused, Err(AppendError::Refused(text)) if text.contains(why)), "{refused:?}");
    }
    // The sweep passes over what is gone.
    let swept = past.ledger.sweep(past.project, clock::now().plus_millis(200 * DAY_MILLIS)).await.unwrap();
    assert_eq!(swept.bodies, 8);
    assert_eq!(past.clean().await.erased, 14);
}

/// T5: what came late goes too.
#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_came_after_its_body_went_is_deleted() {
    let past = Past::since(ago(100)).await;
    let decisions = past.calls(1, ago(100)).await;
    past.ledger.sweep(past.project, clock::now()).await.unwrap();
    past.late_opening(decisions[0]).await;
    assert_eq!(past.count("select count(*) from openings where project_id = $1").await, 1);

    let later = clock::now().plus_millis(91 * DAY_MILLIS);
    past.ledger.sweep(past.project, later).await.unwrap();

    assert_eq!(past.count("select count(*) from openings where project_id = $1").await, 0);
}

/// T5: one request, and nothing of a person is left but numbers; others keep everything.
#[tokio::test(flavor = "multi_thread")]
async fn a_principal_is_forgotten_in_one_request() {
    let past = Past::since(ago(30)).await;
    let agent = crate::setup::Setup::fresh_agent();
    let theirs = past.setup.create_api_key(past.project, agent, Some("u-marked")).await.unwrap();
    let other = past.setup.create_api_key(past.project, agent, Some("u-other")).await.unwrap();
    let gone = past.calls_by(theirs.id, 3, ago(30)).await;
    let kept = past.calls_by(other.id, 2, ago(30)).await;
    let gone_later = past.calls_by(theirs.id, 2, ago(1)).await;

    let what = Forget { principal: Some("u-marked".to_owned()), ..Forget::default() };
    let forgotten = past.setup.forget(past.project, &what, "operator").await.unwrap();

    assert_eq!((forgotten.actions, forgotten.bodies, forgotten.tombstones), (5, 10, 2));
    assert_eq!(forgotten.keys.iter().collect::<Vec<_>>(), [&theirs.id]);
    assert_eq!(past.clean().await.erased, 10);
    for seq in gone.iter().chain(&gone_later) {
        assert!(past.ledger.receipt(past.project, *seq).await.unwrap().is_none());
    }
    for seq in &kept {
        assert!(past.ledger.receipt(past.project, *seq).await.unwrap().is_some());
    }
    assert_eq!(past.count("select count(*) from openings where project_id = $1").await, 2);
    let named = "select count(*) from credentials where project_id = $1 and principal = 'u-marked'";
    assert_eq!(past.count(named).await, 0);
    let live = "select count(*) from credentials where project_id = $1 and revoked_at is null";
    assert_eq!(past.count(live).await, 1);
    let again = past.setup.forget(past.project, &what, "operator").await.unwrap();
    assert_eq!((again.actions, again.bodies), (0, 0));
}
