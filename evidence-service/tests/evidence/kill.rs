//! Kills, resumptions and windows, as the record transaction sees them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use counterfoil_core::control::Snapshot;
use counterfoil_core::record::{Item, ItemAnswer, RefusedReason};
use counterfoil_core::statement::{Decision, Effect, Environment, Mark, Reason, Scope, Verdict};
use counterfoil_evidence::setup::{Attested, InForce, Setup, SetupError, Turn, Window};

use crate::deployment::{BY, Deployment, Service, connect};
use crate::gateway::{Judged, decision, item, record, sign, statement};

const WHY: Attested<'static> = Attested { behalf: "operator-1", reason: Some("the rotation is under way") };

/// An ALLOW judged under what is in force, with a change of the test's own.
fn under(deployment: &Deployment, now: InForce, change: impl FnOnce(&mut Decision)) -> Item {
    let judged = Judged {
        control: now.control,
        generation: now.generation,
        ..Judged::now(deployment, Verdict::Allow)
    };
    let mut decision = decision(deployment, &judged);
    change(&mut decision);
    let signed = sign(decision, &deployment.decision);
    statement(deployment, signed.bytes(), Some(judged.credential), None)
}

async fn fates(deployment: &Deployment, service: &Service, items: Vec<Item>) -> Vec<Option<RefusedReason>> {
    let answers = record(service, &deployment.token, items).await.expect("200");
    let fate = |answer: &ItemAnswer| match answer {
        ItemAnswer::Recorded(_) => None,
        ItemAnswer::Refused { reason, .. } => Some(*reason),
        other => panic!("{other:?}"),
    };
    answers.iter().map(fate).collect()
}

async fn snapshot(deployment: &Deployment, service: &Service) -> Snapshot {
    let url = format!("{}/internal/v1/control?project={}", service.internal, deployment.id());
    let answer = service.http.get(url).bearer_auth(&deployment.token).send().await.expect("answer");
    answer.json().await.expect("a snapshot")
}

fn in_words(refused: Result<impl std::fmt::Debug, SetupError>) -> String {
    refused.expect_err("refused").to_string()
}

/// G7: one agent, one connection, one environment; nobody else's calls, and the kill generation stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_of_one_agent_connection_or_environment_stops_that_and_no_other() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (ours, key) = (Scope::Agent(deployment.agent), Scope::Connection(deployment.api_key.id));
    let elsewhere = [Scope::Agent(Setup::fresh_agent()), Scope::Environment(Environment::Test)];

    for scope in elsewhere {
        deployment.setup.kill_in(deployment.id(), Some(scope), BY).await.expect("killed");
    }
    for scope in [ours, key, Scope::Environment(Environment::Live)] {
        let killed =
            deployment.setup.kill_in(deployment.id(), Some(scope.clone()), BY).await.expect("killed");
        assert_eq!((killed.floor, killed.generation), (killed.control, 0));
        let denied = |d: &mut Decision| d.verdict = Verdict::Deny;
        let items = vec![under(&deployment, killed, |_| ()), under(&deployment, killed, denied)];
        assert_eq!(fates(&deployment, &service, items).await, [Some(RefusedReason::Killed), None], "{scope}");
        assert!(snapshot(&deployment, &service).await.stopped.contains(&scope));

        let resumed =
            deployment.setup.resume(deployment.id(), Some(scope.clone()), WHY).await.expect("resumed");
        assert_eq!((resumed.control, resumed.floor), (killed.control + 1, killed.floor));
        let items = vec![under(&deployment, resumed, |_| ())];
        assert_eq!(fates(&deployment, &service, items).await, [None], "{scope}");
    }

    let left = snapshot(&deployment, &service).await;
    assert_eq!((left.stopped.len(), left.killed), (2, false));
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// G7: what was judged before a kill of anything is judged again, so a kill and its resumption let nothing slip through.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_judged_before_a_kill_is_stale_after_its_resumption() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let before = item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1;
    let scope = Some(Scope::Agent(deployment.agent));

    deployment.setup.kill_in(deployment.id(), scope.clone(), BY).await.expect("killed");
    let resumed = deployment.setup.resume(deployment.id(), scope, BY).await.expect("resumed");

    let items = vec![before, under(&deployment, resumed, |_| ())];
    assert_eq!(fates(&deployment, &service, items).await, [Some(RefusedReason::Stale), None]);
}

/// G7: resuming is an act of its own, of exactly what was killed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_killed_is_not_resumed() {
    let deployment = Deployment::new().await;
    let (setup, id) = (&deployment.setup, deployment.id());
    let agent = Scope::Agent(deployment.agent);

    let nothing = in_words(setup.resume(id, None, BY).await);
    setup.kill_in(id, Some(agent.clone()), BY).await.expect("killed");
    let other = in_words(setup.resume(id, None, BY).await);
    let killed = setup.kill(id, BY).await.expect("killed");
    let resumed = setup.resume(id, None, WHY).await.expect("resumed");
    let twice = in_words(setup.resume(id, None, BY).await);

    assert_eq!(nothing, "this project is not killed, and nothing else in it is");
    assert_eq!(other, format!("this project is not killed; what is: `{agent}`"));
    assert_eq!((killed.generation, resumed.generation), (1, 1));
    assert_eq!(twice, other);
}

/// G8: a window is needed, has a reason and an end, and a kill of the project closes it.
#[tokio::test(flavor = "multi_thread")]
async fn what_leans_on_a_window_is_recorded_while_it_stands_and_no_longer() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (setup, id) = (&deployment.setup, deployment.id());
    let start = deployment.published;
    let start = InForce { seq: start.seq, control: start.control, floor: start.floor, generation: 0 };
    let advisory = |d: &mut Decision| (d.verdict, d.effect) = (Verdict::Deny, Effect::Advisory);
    let unknown = |d: &mut Decision| {
        (d.verdict, d.effect, d.reason) = (Verdict::StepUp, Effect::Advisory, Reason::UnknownTool);
    };
    let broken = |d: &mut Decision| (d.reason, d.marks) = (Reason::BreakGlass, vec![Mark::BreakGlass]);
    let unmarked = |d: &mut Decision| d.reason = Reason::BreakGlass;
    let all = |now: InForce| {
        vec![
            under(&deployment, now, advisory),
            under(&deployment, now, broken),
            under(&deployment, now, unknown),
            under(&deployment, now, unmarked),
        ]
    };
    let (stale, killed) = (Some(RefusedReason::Stale), Some(RefusedReason::Killed));

    assert_eq!(fates(&deployment, &service, all(start)).await, [stale; 4]);
    let (shadow, until) =
        setup.turn_window(id, Window::Shadow, Turn::Open { minutes: 5 }, WHY).await.expect("open");
    assert_eq!(shadow.floor, start.floor);
    assert_eq!(fates(&deployment, &service, all(shadow)).await, [None, stale, stale, stale]);
    let open = Turn::Open { minutes: 60 };
    let (both, _) = setup.turn_window(id, Window::Breakglass, open, WHY).await.expect("open");
    assert_eq!(fates(&deployment, &service, all(both)).await, [None, None, stale, None]);
    let seen = snapshot(&deployment, &service).await;
    assert_eq!(seen.shadow_until, Some(until));
    assert!(seen.breakglass_until > seen.shadow_until);

    let (closed, _) = setup.turn_window(id, Window::Shadow, Turn::Close, WHY).await.expect("closed");
    assert_eq!(closed.floor, closed.control);
    assert_eq!(fates(&deployment, &service, all(closed)).await, [stale, None, stale, None]);
    let ended = setup.kill(id, BY).await.expect("killed");
    assert_eq!(fates(&deployment, &service, all(ended)).await, [killed; 4]);
    let resumed = setup.resume(id, None, BY).await.expect("resumed");
    assert_eq!(fates(&deployment, &service, all(resumed)).await, [stale; 4]);
    assert_eq!(snapshot(&deployment, &service).await.breakglass_until, None);
    setup.audit(id).await.expect("read").expect("clean");
}

/// G8: nobody has to do anything for a window to end.
#[tokio::test(flavor = "multi_thread")]
async fn a_window_ends_by_time_alone() {
    let deployment = Deployment::new().await;
    let service = deployment.serve().await;
    let (setup, id) = (&deployment.setup, deployment.id());
    let open = Turn::Open { minutes: 1 };
    let (now, _) = setup.turn_window(id, Window::Shadow, open, WHY).await.expect("open");
    let past = "alter table heads disable trigger all; update heads set shadow_until = last_at";
    connect(&deployment.config, "postgres").await.batch_execute(past).await.expect("moved");

    let advisory = |d: &mut Decision| (d.verdict, d.effect) = (Verdict::Deny, Effect::Advisory);
    let items = vec![under(&deployment, now, advisory)];

    assert_eq!(fates(&deployment, &service, items).await, [Some(RefusedReason::Stale)]);
    assert_eq!(snapshot(&deployment, &service).await.shadow_until, None);
    assert_eq!(
        in_words(setup.turn_window(id, Window::Shadow, Turn::Close, WHY).await),
        "no shadow window is open"
    );
}

/// G8
#[tokio::test(flavor = "multi_thread")]
async fn a_window_has_a_reason_an_end_and_no_kill_above_it() {
    let deployment = Deployment::new().await;
    let (setup, id) = (&deployment.setup, deployment.id());
    let day = 24 * 60;
    let cases = [
        (
            Window::Breakglass,
            Turn::Open { minutes: 0 },
            WHY,
            "a break-glass window stands for 1 to 1440 minutes, not 0",
        ),
        (
            Window::Breakglass,
            Turn::Open { minutes: day + 1 },
            WHY,
            "a break-glass window stands for 1 to 1440 minutes, not 1441",
        ),
        (
            Window::Shadow,
            Turn::Open { minutes: 30 * day + 1 },
            WHY,
            "a shadow window stands for 1 to 43200 minutes, not 43201",
        ),
        (Window::Shadow, Turn::Open { minutes: 5 }, BY, "a window has a reason"),
        (Window::Shadow, Turn::Close, WHY, "no shadow window is open"),
    ];
    for (window, turn, by, words) in cases {
        assert_eq!(in_words(setup.turn_window(id, window, turn, by).await), words);
    }
    let open = Turn::Open { minutes: day };
    setup.turn_window(id, Window::Breakglass, open, WHY).await.expect("open");
    let twice = in_words(setup.turn_window(id, Window::Breakglass, open, WHY).await);
    assert!(twice.starts_with("a break-glass window is open until "), "{twice}");
    setup.kill(id, BY).await.expect("killed");
    let over = in_words(setup.turn_window(id, Window::Breakglass, open, WHY).await);
    assert_eq!(over, "the project is killed; no break-glass window opens over that");
}

/// G7: an organization is an ordered loop over its projects, each reported.
#[tokio::test(flavor = "multi_thread")]
async fn killing_everything_reports_each_project() {
    let deployment = Deployment::new().await;
    let second =
        deployment.setup.create_project(&crate::deployment::new_project("Second")).await.expect("made");

    let reported = deployment.setup.kill_all(WHY).await.expect("tried");

    let killed: Vec<_> =
        reported.iter().map(|r| (r.project, r.outcome.as_ref().expect("killed").generation)).collect();
    assert_eq!(killed, [(deployment.id(), 1), (second.id, 1)]);
}

/// G7: under load through two services, no ALLOW stands behind the kill, and refusals still do.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_on_two_services_no_allow_stands_after_the_kill() {
    let deployment = Arc::new(Deployment::new().await);
    let services = [deployment.serve().await, deployment.serve().await];
    let (stop, recorded) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let workers: Vec<_> = (0..64)
        .map(|number| {
            let (deployment, stop, recorded) = (deployment.clone(), stop.clone(), recorded.clone());
            let service = services[number % 2].clone();
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let one = item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1;
                    let Ok(answers) = record(&service, &deployment.token, vec![one]).await else { continue };
                    let stands = matches!(answers[0], ItemAnswer::Recorded(_));
                    recorded.fetch_add(usize::from(stands), Ordering::Relaxed);
                }
            })
        })
        .collect();

    until(|| recorded.load(Ordering::Relaxed) > 200).await;
    let killed = deployment.setup.kill(deployment.id(), BY).await.expect("killed");
    let at_the_kill = recorded.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.expect("a worker");
    }

    let database = connect(&deployment.config, "counterfoil_migrator").await;
    let set = format!("set counterfoil.project = '{}'", deployment.id().uuid());
    database.batch_execute(&set).await.expect("entered");
    let count = "select count(*) filter (where seq < $1), count(*) filter (where seq > $1) from entries where verdict = 'ALLOW'";
    let seq = i64::try_from(killed.seq).expect("small");
    let row = database.query_one(count, &[&seq]).await.expect("counted");
    assert!(row.get::<_, i64>(0) >= 200, "the load ran before the kill");
    assert_eq!(row.get::<_, i64>(1), 0, "{at_the_kill} before");
    deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
}

/// G7, T8: a replica that was stopped inside its transaction holds a kill up for no more than three seconds.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_waits_no_longer_than_a_stopped_replica_may_idle() {
    let deployment = Deployment::new().await;
    let stuck = connect(&deployment.config, "counterfoil_app").await;
    let uuid = deployment.id().uuid();
    let begin = format!(
        "begin; select set_config('counterfoil.project', '{uuid}', true), \
         set_config('idle_in_transaction_session_timeout', '2000', true); select 1 from heads for update"
    );
    stuck.batch_execute(&begin).await.expect("locked");

    let began = Instant::now();
    deployment.setup.kill(deployment.id(), BY).await.expect("killed");

    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

async fn until(done: impl Fn() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
