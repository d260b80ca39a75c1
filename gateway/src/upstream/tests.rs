use super::*;
use crate::testing::provider;

const SOON: Duration = Duration::from_secs(5);

fn start(folder: &tempfile::TempDir) -> Start {
    Start {
        provider: "notes".into(),
        command: provider::command(),
        env: [provider::environment(&folder.path().join("log"))].into_iter().collect(),
        folder: None,
        sharing: Sharing::Key,
        site: None,
    }
}

fn key(last: u8) -> KeyId {
    format!("key_019355a0c00070008000000000000{last:03x}").parse().expect("an id")
}

async fn ask(connection: &Connection, tool: &str, within: Duration) -> Outcome {
    let params = format!(r#"{{"name":"{tool}","arguments":{{}}}}"#);
    connection.ask("tools/call", &params, within, &CancellationToken::new()).await
}

#[tokio::test]
async fn answers_come_back_to_who_asked_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let connection = fleet.connect(key(1), &start(&folder)).await.expect("a child");
    let slow = tokio::spawn({
        let connection = connection.clone();
        async move { ask(&connection, "slow", SOON).await }
    });

    assert_eq!(ask(&connection, "note_read", SOON).await, Outcome::Returned(provider::RESULT.into()));

    assert_eq!(slow.await.expect("ended"), Outcome::Returned(r#"{"content":[]}"#.into()));
    assert_eq!(connection.instructions(), Some("\"be kind\""));
    fleet.stop().await;
}

#[tokio::test]
async fn all_pages_of_the_list_are_read_and_kept_as_they_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let connection = fleet.connect(key(1), &start(&folder)).await.expect("a child");

    let catalogue = connection.catalogue().await.expect("a list");

    let listed: Vec<String> = provider::tools().iter().map(ToString::to_string).collect();
    let texts: Vec<&str> = catalogue.tools().iter().map(|tool| tool.text.as_str()).collect();
    assert_eq!(texts, listed);
    let again = connection.catalogue().await.expect("a list");
    assert!(Arc::ptr_eq(&catalogue, &again));
    fleet.stop().await;
}

#[tokio::test]
async fn a_child_that_dies_is_started_again_but_not_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let start = start(&folder);
    let connection = fleet.connect(key(1), &start).await.expect("a child");

    assert_eq!(ask(&connection, "die", SOON).await, Outcome::Gone);

    assert!(connection.is_gone());
    assert_eq!(ask(&connection, "note_read", SOON).await, Outcome::Unsent);
    let mut rested = false;
    let next = loop {
        match fleet.connect(key(1), &start).await {
            Ok(next) => break next,
            Err(Away::Resting) => rested = true,
            Err(other) => panic!("{other}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(matches!(ask(&next, "note_read", SOON).await, Outcome::Returned(_)));
    // The start took longer than the first rest on a busy machine; then there was nothing to wait for.
    assert!(rested || rest(1) < Duration::from_secs(1));
    fleet.stop().await;
}

#[tokio::test]
async fn a_call_given_up_before_it_is_written_is_never_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let connection = fleet.connect(key(1), &start(&folder)).await.expect("a child");
    let given_up = CancellationToken::new();
    given_up.cancel();

    let mut unsent = 0;
    for _ in 0..50 {
        let outcome = connection.ask("tools/call", r#"{"name":"note_read"}"#, SOON, &given_up).await;
        match outcome {
            Outcome::Unsent => unsent += 1,
            // The writer, or the answer, was faster; both are the truth.
            Outcome::Cancelled | Outcome::Returned(_) => {}
            other => panic!("{other:?}"),
        }
    }

    fleet.stop().await;
    let log = std::fs::read_to_string(folder.path().join("log")).expect("a log");
    let written = log.lines().filter(|line| line.contains("note_read")).count();
    assert_eq!(written, 50 - unsent);
}

#[tokio::test]
async fn an_idle_child_ends_and_one_in_use_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::with_patience(Duration::from_millis(100));
    let start = start(&folder);
    let used = fleet.connect(key(1), &start).await.expect("a child");
    let idle = Arc::downgrade(&fleet.connect(key(2), &start).await.expect("a child"));
    tokio::time::sleep(Duration::from_millis(200)).await;

    fleet.sweep().await;

    assert!(!used.is_gone());
    assert!(matches!(ask(&used, "note_read", SOON).await, Outcome::Returned(_)));
    for _ in 0..500 {
        if idle.upgrade().is_none() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(idle.upgrade().is_none());
    // Its death was not its own doing: it is there again at once.
    let again = fleet.connect(key(2), &start).await.expect("a child");
    assert!(!again.is_gone());
    fleet.stop().await;
}

// G4: a decision does not wait for a provider that reads nothing.
#[tokio::test]
async fn a_call_whose_turn_comes_too_late_is_never_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let (read, out) = (folder.path().join("read"), folder.path().join("out"));
    let script = format!(
        r#"read line; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25"}}}}'; read line
           while ! [ -e {0} ]; do sleep 0.05; done; cat > {1}"#,
        read.display(),
        out.display()
    );
    let deaf = Start { command: vec!["sh".into(), "-c".into(), script], ..start(&folder) };
    let connection = fleet.connect(key(1), &deaf).await.expect("a child");
    // More than a pipe holds.
    let large = tokio::spawn({
        let connection = connection.clone();
        let params = format!(r#"{{"name":"large","arguments":{{"x":"{}"}}}}"#, "x".repeat(1 << 20));
        async move { connection.ask("tools/call", &params, SOON, &CancellationToken::new()).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;

    let (params, by) = (r#"{"name":"late"}"#, std::time::Instant::now() + Duration::from_millis(200));
    let outcome = connection.ask_by(("tools/call", params), by, SOON, &CancellationToken::new()).await;

    assert_eq!(outcome, Outcome::Unsent);
    std::fs::write(&read, "").expect("written");
    assert_eq!(large.await.expect("ended"), Outcome::TimedOut);
    fleet.stop().await;
    let written = std::fs::read_to_string(out).expect("lines");
    assert!(written.contains("large") && !written.contains("late"));
}

// G2: whoever hangs up while a changed list is read does not bring back the list before.
#[tokio::test]
async fn a_list_whose_reader_hung_up_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let script = r#"answer() { echo "{\"jsonrpc\":\"2.0\",\"id\":$1,\"result\":$2}"; }
        read line; answer 1 '{"protocolVersion":"2025-11-25"}'; read line
        read line; answer 2 '{"tools":[{"name":"before"}]}'
        echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        read line; read line; answer 4 '{"tools":[{"name":"after"}]}'; read line"#;
    let changing = Start { command: vec!["sh".into(), "-c".into(), script.into()], ..start(&folder) };
    let connection = fleet.connect(key(1), &changing).await.expect("a child");
    assert!(connection.catalogue().await.expect("a list").tool("before").is_some());
    tokio::time::sleep(Duration::from_millis(200)).await;

    let hung_up = tokio::time::timeout(Duration::from_millis(200), connection.catalogue()).await;

    assert!(hung_up.is_err());
    let read = connection.catalogue().await.expect("a list");
    assert!(read.tool("after").is_some() && read.tool("before").is_none());
    fleet.stop().await;
}

// T8
#[tokio::test]
async fn callers_that_hang_up_do_not_start_child_after_child() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let starts = folder.path().join("starts");
    let script = format!("echo >> {}; sleep 9", starts.display());
    let slow = Start { command: vec!["sh".into(), "-c".into(), script], ..start(&folder) };

    for _ in 0..50 {
        let hung_up = tokio::time::timeout(Duration::from_millis(10), fleet.connect(key(1), &slow)).await;
        assert!(!matches!(hung_up, Ok(Ok(_))));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    // A second: at 0, 200, 600 and 1400 ms; some more where the machine is slow.
    let count = std::fs::read_to_string(starts).unwrap_or_default().len();
    assert!(count <= 6, "{count}");
    fleet.stop().await;
}

#[tokio::test]
async fn a_stopped_fleet_leaves_no_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    // A child that ignores the end of its input and TERM, and has a child of its own.
    let pids = folder.path().join("pids");
    let script = format!(
        r#"trap "" TERM; sleep 600 & echo $! >> {0}; echo $$ >> {0}
           read line
           echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-11-25"}}}}'
           while :; do sleep 1; done"#,
        pids.display()
    );
    let stubborn = Start { command: vec!["sh".into(), "-c".into(), script], ..start(&folder) };
    fleet.connect(key(1), &stubborn).await.expect("a child");

    fleet.stop().await;

    tokio::time::sleep(Duration::from_millis(200)).await;
    let pids = std::fs::read_to_string(pids).expect("pids");
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(status.is_empty() || status.contains(") Z "), "{status}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_or_does_not_introduce_itself_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let fleet = Fleet::empty();
    let with = |command: &[&str]| Start {
        command: command.iter().map(|part| (*part).to_owned()).collect(),
        ..start(&folder)
    };
    let other =
        r#"read line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}'; sleep 9"#;

    let absent = fleet.connect(key(1), &with(&["/no/such/program"])).await;
    let silent = fleet.connect(key(2), &with(&["true"])).await;
    let foreign = fleet.connect(key(3), &with(&["sh", "-c", other])).await;

    assert_eq!(absent.map(|_| ()), Err(Away::NotStarted));
    assert_eq!(silent.map(|_| ()), Err(Away::NotIntroduced));
    assert_eq!(foreign.map(|_| ()), Err(Away::NotIntroduced));
    fleet.stop().await;
}

// C3: what a provider could read of our environment is what it may know.
#[tokio::test]
async fn a_child_sees_its_own_environment_and_little_of_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("env");
    let script = format!("env > {}", out.display());
    let mut curious = start(&folder);
    curious.command = vec!["sh".into(), "-c".into(), script];
    let _ = Fleet::empty().connect(key(1), &curious).await;

    let seen = std::fs::read_to_string(out).expect("written");
    let names: Vec<&str> = seen.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    let allowed = ["PATH", "HOME", "LANG", "TMPDIR", "USER", "COUNTERFOIL_PROVIDER_LOG"];
    // The shell adds these three by itself.
    let shell = ["PWD", "SHLVL", "_", "OLDPWD"];
    for name in &names {
        assert!(allowed.contains(name) || shell.contains(name), "{name}");
    }
    assert!(names.contains(&"COUNTERFOIL_PROVIDER_LOG"));
}

#[test]
fn rests_grow_and_end() {
    let rests: Vec<u128> = (0..12).map(|lives| rest(lives).as_millis()).collect();
    assert_eq!(rests, [0, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000]);
}
