//! What is taken away stays away, and everything else goes on; a copy in other hands notices when it does not.

use super::world::World;
use counterfoil_tests::deployment::counterfoil;
use counterfoil_tests::mcp::Agent;
use counterfoil_tests::repository::program;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const PERSON: &str = "u-marked-person";
const ARGUMENTS: &str = r#"{"text":"marked-argument"}"#;

/// An API key of that person, once the gateway has heard of it.
fn agent_of(world: &World, principal: &str) -> Agent {
    let folder = world.deployment.folder().to_owned();
    let words = ["keys", "new", "--principal", principal];
    let said = counterfoil(&words, &[("--dir", &folder)]).expect("a key");
    let key = String::from_utf8(said).expect("text").lines().last().expect("the key").to_owned();
    let agent = Agent::new(world.deployment.mcp_url("scripted"), &key);
    let began = Instant::now();
    while agent.list(&world.deployment.http).expect("an answer").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(10), "the gateway follows within two seconds");
    }
    agent
}

fn dump(world: &World, name: &str) -> PathBuf {
    let file = world.deployment.folder().join(name);
    world.deployment.postgres.dump("counterfoil", &file).expect("a dump");
    file
}

fn contains(file: &Path, marked: &str) -> bool {
    let bytes = std::fs::read(file).expect("a dump");
    // Bodies are bytea: as hex in a dump.
    let hex: String = marked.bytes().map(|byte| format!("{byte:02x}")).collect();
    let found = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    found(marked) || found(&hex)
}

fn ask(words: &[&str], paths: &[(&str, &Path)], key: &str) -> Output {
    let mut command = Command::new(program("counterfoil").expect("built"));
    command.args(words).env("COUNTERFOIL_KEY", key);
    for (name, path) in paths {
        command.arg(name).arg(path);
    }
    command.output().expect("it runs")
}

fn clean(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let said: Value = serde_json::from_str(&text).expect("JSON");
    said[0].clone()
}

// Upholds T5, T4, P6: one command; nothing of the person is in any dump, and everything left verifies.
#[test]
fn a_forgotten_person_is_in_no_dump_and_the_rest_verifies() {
    let world = World::start();
    let (http, folder) = (&world.deployment.http, world.deployment.folder().to_owned());
    let (theirs, other) = (agent_of(&world, PERSON), agent_of(&world, "u-other-person"));
    let kept =
        theirs.call_for_receipt(http, "echo", ARGUMENTS).expect("an answer").receipt().expect("a receipt");
    for _ in 0..3 {
        theirs.call(http, "echo", ARGUMENTS).expect("an answer");
        other.call(http, "echo", ARGUMENTS).expect("an answer");
    }
    let mut database = world.deployment.database().expect("a database");
    let began = Instant::now();
    let count = |database: &mut postgres::Client, sql: &str| {
        database.query_one(sql, &[]).expect(sql).get::<_, i64>(0)
    };
    while count(&mut database, "select count(*) from openings") < 7 {
        assert!(began.elapsed() < Duration::from_secs(20), "openings ride in the next batch");
    }
    let before = dump(&world, "before.sql");
    assert!(contains(&before, PERSON) && !contains(&before, "marked-argument"));

    let disclosure = folder.join("disclosure-key.jwk");
    let words = ["forget", "--principal", PERSON, "--yes"];
    counterfoil(&words, &[("--dir", &folder), ("--disclosure-key", &disclosure)]).expect("forgotten");

    let after = dump(&world, "after.sql");
    assert!(!contains(&after, PERSON) && contains(&after, "u-other-person"));
    assert_eq!(count(&mut database, "select count(*) from openings"), 3, "the other person's");
    assert_eq!(
        count(&mut database, "select count(*) from entries where body is null and kind = 'decision'"),
        4
    );
    let began = Instant::now();
    while theirs.call(http, "echo", ARGUMENTS).expect("an answer").status != 401 {
        assert!(began.elapsed() < Duration::from_secs(10), "the key opens nothing any more");
    }
    assert!(other.call(http, "echo", ARGUMENTS).expect("an answer").status == 200);

    world.receipt_verifies(&kept["receipt"]);
    let pinned = folder.join("pinned.json");
    std::fs::write(&pinned, world.deployment.jwks().expect("a key set")).expect("written");
    let evidence = folder.join("evidence.toml");
    let live = clean(&ask(&["fsck", "--json"], &[("--database", &evidence), ("--trust", &pinned)], ""));
    assert!(live["erased"].as_u64() >= Some(8), "each decision and each observation: {live}");
    clean(&ask(&["verify", "--json"], &[("--dump", &after), ("--trust", &pinned)], ""));
    a_day_is_archived_and_not_erased_before_it_is_over(&folder);
}

fn a_day_is_archived_and_not_erased_before_it_is_over(folder: &Path) {
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let listed = text(&ask(&["epochs", "list"], &[("--dir", folder)], ""));
    // The newest day of the list, before the line that says how long days are kept.
    let day = listed.lines().rev().nth(1).and_then(|line| line.split(' ').next()).expect("a day").to_owned();
    let archive = folder.join("archive");
    let words = ["epochs", "archive", &day, "--keep"];
    let archived = ask(&words, &[("--dir", folder), ("--to", &archive)], "");
    assert!(text(&archived).starts_with("WHOLE"), "{archived:?}");
    let file = std::fs::read_dir(&archive).expect("a folder").next().expect("a file").expect("a file").path();
    let checked = ask(&["epochs", "check", &file.display().to_string()], &[], "");
    assert!(checked.status.success() && text(&archived).contains(text(&checked).trim()), "{checked:?}");

    let erased = ask(&["epochs", "erase", &day, "--yes"], &[("--dir", folder)], "");
    assert!(String::from_utf8_lossy(&erased.stderr).contains("is not over"), "{erased:?}");
}

/// A copy that somebody keeps with the project's key.
fn follow(world: &World, copy: &Path) -> (Option<i32>, String) {
    let pinned = world.deployment.folder().join("pinned.json");
    std::fs::write(&pinned, world.deployment.jwks().expect("a key set")).expect("written");
    let url = world.deployment.evidence_url();
    let copy = copy.display().to_string();
    let words = ["export", "follow", &copy, "--once", "--evidence", &url];
    let output = ask(&words, &[("--trust", &pinned)], &world.deployment.api_key);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

// Upholds P5: whoever keeps a copy sees a record that was cut short, and has both signed notes.
#[test]
fn a_copy_that_somebody_keeps_stops_where_the_record_contradicts_itself() {
    let world = World::start();
    let (http, agent) = (&world.deployment.http, world.deployment.agent("scripted"));
    let copy = world.deployment.folder().join("copy");
    let mut database = world.deployment.database().expect("a database");
    agent.call(http, "echo", "{}").expect("an answer");
    database.batch_execute("create table earlier_heads as table heads").expect("a superuser may");
    agent.call(http, "echo", "{}").expect("an answer");
    let (code, said) = follow(&world, &copy);
    assert_eq!(code, Some(0), "{said}");
    agent.call(http, "echo", "{}").expect("an answer");
    let (code, said) = follow(&world, &copy);
    assert_eq!(code, Some(0), "{said}");
    let kept = std::fs::read_to_string(copy.join("checkpoint")).expect("kept");

    // As an owner of the database would: back to an older state, every signature in it genuine.
    let cut = "alter table heads disable trigger all; alter table entries disable trigger all;
               alter table checkpoints disable trigger all;
               truncate heads cascade; insert into heads select * from earlier_heads;
               delete from checkpoints where size > (select size from heads);
               delete from entries where seq >= (select size from heads);";
    database.batch_execute(cut).expect("a superuser may");
    let (code, said) = follow(&world, &copy);

    assert_eq!(code, Some(30), "{said}");
    assert!(said.contains("SHRUNK"), "{said}");
    assert_eq!(std::fs::read_to_string(copy.join("checkpoint")).expect("kept"), kept);
    let contradiction = std::fs::read_to_string(copy.join("contradiction")).expect("kept");
    assert!(contradiction.contains("checkpoint"), "{contradiction}");
    let (code, said) = follow(&world, &copy);
    assert_eq!(code, Some(1), "it does not go on as if nothing had been: {said}");
}
