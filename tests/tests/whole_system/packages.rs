//! Packages made by a running service, judged by the program as an auditor runs it, and tampered with on the way.

use super::world::World;
use counterfoil_core::package::zip::{Archive, Writer};
use counterfoil_core::package::{Source as _, name};
use counterfoil_tests::foreign::verify_package;
use counterfoil_tests::repository::program;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Scene {
    world: World,
    folder: tempfile::TempDir,
    trust: PathBuf,
}

impl Scene {
    fn open() -> Self {
        let world = World::start();
        let folder = tempfile::tempdir().expect("a folder");
        let trust = folder.path().join("trust.json");
        std::fs::write(&trust, world.deployment.jwks().expect("a key set")).expect("written");
        let scene = Self { world, folder, trust };
        scene.call(&["echo", "nothing_of_this_name", "fails"]);
        scene
    }

    fn call(&self, tools: &[&str]) {
        let agent = self.world.deployment.agent("scripted");
        for tool in tools {
            agent.call(&self.world.deployment.http, tool, "{}").expect("an answer");
        }
        // Observations follow in a batch of their own.
        let mut database = self.world.deployment.database().expect("a database");
        loop {
            let open: i64 = database.query_one("select count(*) from open_calls", &[]).expect("a row").get(0);
            if open == 0 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    fn package(&self, file: &str, more: &[&str]) -> PathBuf {
        let out = self.folder.path().join(file);
        let mut command = Command::new(program("counterfoil").expect("built"));
        command.arg("package").arg(&out).args(more);
        command.args(["--evidence", &self.world.deployment.evidence_url()]);
        command.env("COUNTERFOIL_KEY", &self.world.deployment.api_key);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    }

    /// Looks at the log as cron would: the exit code.
    fn watch(&self, state: &Path, trust: &[&str]) -> Option<i32> {
        let deployment = &self.world.deployment;
        let page = format!("{}{}", deployment.evidence_url(), deployment.page());
        let mut command = Command::new(program("counterfoil").expect("built"));
        command.arg("watch").arg(page).arg("--state").arg(state).args(trust);
        command.output().expect("it runs").status.code()
    }

    /// Looks until a checkpoint of more entries is published, which happens at most once a second.
    fn watch_beyond(&self, state: &Path, trust: &[&str], size: u64) {
        loop {
            assert_eq!(self.watch(state, trust), Some(0));
            let note = std::fs::read_to_string(state).expect("kept");
            let shown: u64 = note.lines().nth(1).and_then(|line| line.parse().ok()).expect("a size");
            if shown > size {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }

    /// Exit code, and what was said as JSON.
    fn verify(&self, package: &Path, more: &[&str]) -> (i32, Value) {
        verify(package, &self.trust, more)
    }
}

fn verify(package: &Path, trust: &Path, more: &[&str]) -> (i32, Value) {
    let mut command = Command::new(program("counterfoil").expect("built"));
    command.arg("verify").arg(package).arg("--trust").arg(trust).arg("--json").args(more);
    let output = command.output().expect("it runs");
    let said = serde_json::from_slice(&output.stdout);
    let said = said.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().expect("an end of its own"), said)
}

type Members = BTreeMap<String, Vec<u8>>;

fn members(package: &Path) -> Members {
    let archive = Archive::open(std::fs::read(package).expect("a file")).expect("a zip");
    let read = |name: &str| {
        let mut bytes = Vec::new();
        archive.open(name).expect("readable").expect("there").read_to_end(&mut bytes).expect("whole");
        (name.to_owned(), bytes)
    };
    archive.names().map(read).collect()
}

fn pack(members: &Members, to: &Path) {
    let mut writer = Writer::new(Cursor::new(Vec::new()), 1 << 30);
    for (name, bytes) in members {
        (writer, _) = writer.whole(name, bytes).expect("room");
    }
    std::fs::write(to, writer.finish().expect("room").into_inner()).expect("written");
}

fn swap(members: &mut Members, name: &str, old: &str, new: &str) {
    let text = String::from_utf8(members[name].clone()).expect("text");
    assert!(text.contains(old), "{old} in {name}");
    members.insert(name.to_owned(), text.replacen(old, new, 1).into_bytes());
}

// Upholds P5, P7.
#[test]
fn every_class_of_tampering_has_its_exit_code() {
    let scene = Scene::open();
    let honest = scene.package("honest.zip", &[]);
    let size = scene.verify(&honest, &[]).1["size"].as_u64().expect("a size");
    let original = members(&honest);
    let changed = scene.folder.path().join("changed.zip");
    for (what, expected, change) in CLASSES {
        let mut members = original.clone();
        change(&mut members);
        pack(&members, &changed);
        let (code, said) = scene.verify(&changed, &[]);
        assert_eq!(code, *expected, "{what}: {said}");
        // A program written from docs/formats alone, in another language, comes to the same.
        let foreign = verify_package(&changed, &scene.trust).expect("it runs");
        assert_eq!(foreign.0, Some(*expected), "{what}: {}", foreign.1);
        if *expected == 10 {
            assert_eq!((said["verified"].as_u64(), said["size"].as_u64()), (Some(size), Some(size)));
        }
    }

    // Keys that the holder did not pin count for nothing, whatever the package says.
    let mut set: Value = serde_json::from_slice(&std::fs::read(&scene.trust).expect("a file")).expect("JSON");
    for purpose in ["log", "ledger"] {
        let mut fewer = set.clone();
        let keys = fewer["keys"].as_array_mut().expect("keys");
        keys.retain(|key| key["purpose"] != purpose);
        let path = scene.folder.path().join("fewer.json");
        std::fs::write(&path, fewer.to_string()).expect("written");
        assert_eq!(verify(&honest, &path, &[]).0, 50, "no {purpose} key");
    }
    set["iss"] = Value::from("https://gw.example/p/7-k3m9q2v8");
    std::fs::write(&scene.trust, set.to_string()).expect("written");
    assert_eq!(scene.verify(&honest, &[]).0, 40, "it is of another log than the one that was pinned");
}

// Upholds P5: what was kept shows a package that is shorter, and one of another history.
#[test]
fn what_was_kept_shows_a_record_that_was_shortened_or_rewritten() {
    let mut scene = Scene::open();
    let short = scene.package("short.zip", &[]);
    let kept = scene.folder.path().join("kept.checkpoint");
    let trust = scene.trust.display().to_string();
    let pinned = ["--trust", trust.as_str()];
    assert_eq!(scene.watch(&kept, &[]), Some(2), "no key is trusted because it is there");
    assert_eq!(scene.watch(&kept, &pinned), Some(0));
    let mode = std::fs::metadata(&kept).expect("kept").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    stop(&mut scene.world);
    let mut database = scene.world.deployment.database().expect("a database");
    let tables = ["entries", "checkpoints", "heads", "open_calls", "idempotency"];
    for table in tables {
        let copy = format!("create table earlier_{table} as table {table}");
        database.batch_execute(&copy).expect("a superuser may");
    }
    start(&mut scene.world);
    scene.call(&["echo", "echo"]);
    let before = scene.verify(&short, &[]).1["size"].as_u64().expect("a size");
    scene.watch_beyond(&kept, &pinned, before);
    let receipts = scene.folder.path().join("receipts");
    std::fs::create_dir(&receipts).expect("a folder");
    let long = scene.package("long.zip", &[]);
    let size = scene.verify(&long, &[]).1["size"].as_u64().expect("a size");
    let receipt = scene.world.deployment.receipt(size - 1).expect("a receipt");
    std::fs::write(receipts.join("last.json"), receipt).expect("written");
    let later = scene.package("later.zip", &["--from", &(size - 1).to_string()]);

    let since = ["--since", kept.to_str().expect("text")];
    let held = ["--held", receipts.to_str().expect("text")];
    assert_eq!(scene.verify(&long, &since).0, 10);
    assert_eq!(scene.verify(&long, &held).0, 10);
    assert_eq!(scene.verify(&later, &[]).0, 10);
    assert_eq!(scene.verify(&short, &since).0, 20, "shorter than the checkpoint that was kept");
    assert_eq!(scene.verify(&short, &held).0, 20, "shorter than the receipt that was kept");

    // The operator puts back an older state, without what would have told the service, and goes on from there.
    stop(&mut scene.world);
    for table in tables {
        let back = format!(
            "alter table {table} disable trigger all; truncate {table} cascade; \
             insert into {table} select * from earlier_{table}; alter table {table} enable trigger all"
        );
        database.batch_execute(&back).expect("a superuser may");
    }
    std::fs::remove_file(scene.world.deployment.folder().join("evidence-heads.json")).expect("removed");
    start(&mut scene.world);
    scene.call(&["echo", "fails", "echo"]);
    let rewritten = scene.package("rewritten.zip", &[]);

    assert_eq!(scene.verify(&rewritten, &[]).0, 10, "alone it looks right");
    for kept in [since, held] {
        let (code, said) = scene.verify(&rewritten, &kept);
        assert_eq!((code, &said["outcome"]), (30, &Value::from("FORKED")));
        let notes = said["notes"].as_array().expect("both notes");
        assert!(notes.len() == 2 && notes[0] != notes[1]);
    }
    assert_eq!(scene.watch(&kept, &pinned), Some(30), "from cron, too");
    for end in ["fork-kept", "fork-shown"] {
        assert!(scene.folder.path().join(format!("kept.checkpoint.{end}")).is_file());
    }
}

// Upholds P8.
#[test]
fn every_decision_of_a_running_gateway_evaluates_again_to_what_it_says() {
    let scene = Scene::open();
    scene.call(&["echo", "odd", "nothing_of_this_name"]);
    let mut database = scene.world.deployment.database().expect("a database");
    let decided = "select count(*) from entries where kind = 'decision'";
    let opened = "select count(distinct decision) from openings";
    let mut count = |sql: &str| -> i64 { database.query_one(sql, &[]).expect("a row").get(0) };
    while count(decided) != count(opened) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let decisions = count(decided);
    let package = scene.package("rules.zip", &["--with-rules"]);
    let key = scene.world.deployment.folder().join("disclosure-key.jwk");
    let key = ["--replay", "--disclosure-key", key.to_str().expect("text")];

    let (code, said) = scene.verify(&package, &key);
    assert_eq!((code, said["replay"]["agreed"].as_i64()), (10, Some(decisions)), "{said}");
    assert_eq!(said["replay"]["unopened"], 0);
    // The package tells what the registry promises: nothing is left unchecked for want of it.
    assert!(!said["not_checked"].to_string().contains("registry"), "{said}");

    // Other rules, on the facts of then.
    let none = scene.folder.path().join("none.cedar");
    std::fs::write(&none, "").expect("written");
    let mut simulate = Command::new(program("counterfoil").expect("built"));
    simulate.args(["policy", "simulate"]).arg(&none).arg("--package").arg(&package);
    simulate.args(&key[1..]).arg("--trust").arg(&scene.trust);
    let output = simulate.output().expect("it runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let changed = printed.lines().filter(|line| line.contains("/echo: ALLOW rule")).count();
    assert!(changed >= 2 && printed.contains("would be STEP_UP no_rule"), "{printed}");
    assert!(printed.lines().last().is_some_and(|line| line.contains("would change")), "{printed}");

    let plain = scene.package("plain.zip", &[]);
    let (code, said) = scene.verify(&plain, &key);
    assert_eq!(code, 20, "{said}");
    assert!(said["why"].as_str().expect("why").contains("without rules and openings"));
}

fn stop(world: &mut World) {
    world.deployment.gateway.take().expect("runs").stop().expect("stopped");
    world.deployment.evidence.take().expect("runs").stop().expect("stopped");
}

fn start(world: &mut World) {
    world.deployment.start_evidence().expect("ready");
    world.deployment.start_gateway().expect("ready");
}

/// What is done to a package by somebody who cannot sign its manifest again, and the exit code. What the operator could
/// do is in docs/vectors/packages.
type Change = fn(&mut Members);
const CLASSES: &[(&str, i32, Change)] = &[
    ("nothing", 10, |_| ()),
    ("a verdict", 40, |m| swap(m, name::STATEMENTS, "\"verdict\":\"DENY\"", "\"verdict\":\"ALLOW\"")),
    ("an entry", 40, flip_an_entry),
    ("a body is gone", 40, |m| lines(m, |line| absent(line, "observation/v1"))),
    ("a key's body is gone", 40, |m| lines(m, |line| absent(line, "\"seq\":0,"))),
    ("the last line is gone", 20, drop_the_last_line),
    ("a file is gone", 20, |m| drop(m.remove(name::JWKS))),
    ("the manifest is of other files", 40, |m| swap(m, name::PROVIDER_KEYS, "{\"keys\":", "{ \"keys\":")),
    ("the checkpoint's signature", 40, flip_the_checkpoint),
    ("a key that nobody knows", 50, add_a_key),
];

fn flip_an_entry(members: &mut Members) {
    let entries = members.get_mut(name::ENTRIES).expect("there");
    let place = entries.len() - 20;
    entries[place] ^= 1;
}

fn lines(members: &mut Members, change: impl Fn(&str) -> String) {
    let text = String::from_utf8(members[name::STATEMENTS].clone()).expect("text");
    let changed: Vec<String> = text.lines().map(|line| format!("{}\n", change(line))).collect();
    assert_ne!(changed.concat(), text);
    members.insert(name::STATEMENTS.to_owned(), changed.concat().into_bytes());
}

fn absent(line: &str, which: &str) -> String {
    let (seq, _) = line.split_once(',').expect("a seq");
    if line.contains(which) { format!("{seq},\"absent\":true}}") } else { line.to_owned() }
}

fn drop_the_last_line(members: &mut Members) {
    let statements = members.get_mut(name::STATEMENTS).expect("there");
    let end = statements[..statements.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("lines");
    statements.truncate(end + 1);
}

fn flip_the_checkpoint(members: &mut Members) {
    let note = String::from_utf8(members[name::NEW_CHECKPOINT].clone()).expect("text");
    let start = note.trim_end().strip_suffix('=').expect("base64 of 68 bytes");
    let last = if start.ends_with('A') { 'Q' } else { 'A' };
    let flipped = format!("{}{last}=\n", &start[..start.len() - 1]);
    members.insert(name::NEW_CHECKPOINT.to_owned(), flipped.into_bytes());
}

/// A key of docs/vectors, which this project never introduced.
fn add_a_key(members: &mut Members) {
    let key = "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"0EqyMnQrtKs6E2i9RhXk5tAiSrcaAWuvhSCjMsl3hzc\",\
               \"kid\":\"vaJPtef-vPnGAIWE19qlMPDYWGaER3zeeJM_3r1WO7E\",\"use\":\"sig\",\"alg\":\"Ed25519\",\
               \"purpose\":\"decision\"},";
    swap(members, name::JWKS, "\"keys\":[", &format!("\"keys\":[{key}"));
}
