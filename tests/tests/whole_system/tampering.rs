//! Somebody who owns the database edits it, triggers out of the way. `fsck` and `verify --dump` say BROKEN and where.

use super::world::World;
use counterfoil_tests::repository::program;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A ledger with some calls in it, its services stopped, and what an auditor keeps: keys and a checkpoint.
struct Scene {
    world: World,
    database: postgres::Client,
    jwks: PathBuf,
    held: PathBuf,
    /// Seq of the first allowed decision.
    allowed: i64,
    size: i64,
}

/// What a table looked like before, to be put back after each edit.
const TABLES: [&str; 5] = ["entries", "checkpoints", "heads", "signing_keys", "documents"];

impl Scene {
    fn open() -> Self {
        let mut world = World::start();
        let agent = world.deployment.agent("scripted");
        let mut database = world.deployment.database().expect("a database");
        for (nth, tool) in ["echo", "fails", "nothing_of_this_name", "echo", "echo"].iter().enumerate() {
            if nth == 3 {
                database.batch_execute("create table earlier_heads as table heads").expect("a superuser may");
            }
            agent.call(&world.deployment.http, tool, "{}").expect("an answer");
        }
        let jwks = world.deployment.folder().join("pinned.json");
        std::fs::write(&jwks, world.deployment.jwks().expect("a key set")).expect("written");
        // The gateway first: what it still holds is recorded before the evidence service goes.
        world.deployment.gateway.take().expect("runs").stop().expect("stopped");
        world.deployment.evidence.take().expect("runs").stop().expect("stopped");
        let number = |database: &mut postgres::Client, sql: &str| -> i64 {
            database.query_one(sql, &[]).expect("one row").get(0)
        };
        let allowed = number(&mut database, "select min(seq) from entries where verdict = 'ALLOW'");
        let size = number(&mut database, "select size from heads");
        let note: String = database.query_one("select checkpoint from heads", &[]).expect("a head").get(0);
        let held = world.deployment.folder().join("held.checkpoint");
        std::fs::write(&held, note).expect("written");
        for table in TABLES {
            let sql = format!(
                "alter table {table} disable trigger all; create table honest_{table} as table {table};"
            );
            database.batch_execute(&sql).expect("a superuser may");
        }
        let sql = "alter table entries drop constraint entries_check";
        database.batch_execute(sql).expect("checkpoint_size > seq, in the way of whoever moves rows");
        Self { world, database, jwks, held, allowed, size }
    }

    /// Edits the database and returns where fsck says that it is broken.
    fn place_after(&mut self, edit: &str) -> String {
        self.edit(edit);
        let (code, said) = self.fsck(&[]);
        let place =
            format!("{} {}", said["outcome"].as_str().unwrap_or(""), said["place"].as_str().unwrap_or(""));
        assert_eq!(code, Some(if said["outcome"] == "BROKEN" { 40 } else { 0 }), "{edit}: {said}");
        self.put_back();
        place
    }

    fn edit(&mut self, edit: &str) {
        let edit = edit.replace("$N", &self.allowed.to_string());
        self.database.batch_execute(&edit).unwrap_or_else(|error| panic!("{edit}: {error}"));
    }

    fn put_back(&mut self) {
        for table in TABLES {
            let sql = format!("truncate {table} cascade;");
            self.database.batch_execute(&sql).expect("a superuser may");
        }
        for table in TABLES {
            let sql = format!("insert into {table} select * from honest_{table};");
            self.database.batch_execute(&sql).expect("a superuser may");
        }
    }

    fn fsck(&self, more: &[&str]) -> (Option<i32>, Value) {
        let config = self.world.deployment.folder().join("evidence.toml");
        let mut command = Command::new(program("counterfoil").expect("built"));
        command.args(["fsck", "--json", "--database"]).arg(config).arg("--trust").arg(&self.jwks).args(more);
        answer(command)
    }

    /// The same question to a dump, with no database at hand.
    fn verify_dump(&self) -> (Option<i32>, Value) {
        let dump = self.world.deployment.folder().join("dump.sql");
        self.world.deployment.postgres.dump("counterfoil", &dump).expect("a dump");
        let mut command = Command::new(program("counterfoil").expect("built"));
        command.args(["verify", "--json", "--dump"]).arg(dump).arg("--trust").arg(&self.jwks);
        answer(command)
    }

    fn named(&self, column: &str, after: i64) -> String {
        format!("BROKEN entry {}, column {column}", self.allowed + after)
    }
}

fn answer(mut command: Command) -> (Option<i32>, Value) {
    let output = command.output().expect("it runs");
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), said[0].clone())
}

const SWAP: &str = "update entries set seq = 1000000 where seq = $N;
                    update entries set seq = $N where seq = $N + 1;
                    update entries set seq = $N + 1 where seq = 1000000;";

const INSERT: &str = "update entries set seq = seq + 1000000 where seq > $N;
                      update entries set seq = seq - 999999 where seq > $N;
                      insert into entries select project_id, $N + 1, at, kind, body_digest, prev, hash, body, path,
                          checkpoint_size, action, decision, agent, verdict, reason, provider, tool, status
                          from entries where seq = $N;";

const REORDER: &str = "update entries set seq = seq + 1000000 where seq between $N and $N + 2;
                       update entries set seq = $N + (seq - 1000000 - $N + 1) % 3 where seq >= 1000000;";

/// The record as it was some commits earlier, head and all: every signature in it is genuine.
const CUT: &str = "truncate heads cascade;
                   insert into heads select * from earlier_heads;
                   delete from checkpoints where size > (select size from heads);
                   delete from entries where seq >= (select size from heads);
                   delete from sessions;";

// Upholds P2.
#[test]
fn an_edit_by_the_owner_of_the_database_is_found_and_its_place_is_named() {
    let mut scene = Scene::open();
    assert_eq!(scene.place_after(""), "CLEAN ");
    let columns = [
        ("at", "update entries set at = at + 1 where seq = $N"),
        ("kind", "update entries set kind = 'probe' where seq = $N"),
        ("body_digest", "update entries set body_digest = sha256(body_digest) where seq = $N"),
        ("prev", "update entries set prev = sha256(prev) where seq = $N"),
        ("hash", "update entries set hash = sha256(hash) where seq = $N"),
        (
            "body",
            "update entries set body = replace(convert_from(body, 'UTF8'), 'ALLOW', 'DENY')::bytea where seq = $N",
        ),
        ("body", "update entries set body = null where seq = $N"),
        ("path", "update entries set path = substr(path, 33) where seq = $N"),
        ("checkpoint_size", "update entries set checkpoint_size = checkpoint_size + 1 where seq = $N"),
        ("action", "update entries set action = gen_random_uuid() where seq = $N"),
        ("decision", "update entries set decision = body_digest where seq = $N"),
        ("agent", "update entries set agent = null where seq = $N"),
        ("verdict", "update entries set verdict = 'DENY' where seq = $N"),
        ("reason", "update entries set reason = 'no_rule' where seq = $N"),
        ("provider", "update entries set provider = 'files' where seq = $N"),
        ("tool", "update entries set tool = null where seq = $N"),
        ("status", "update entries set status = 'returned' where seq = $N"),
        ("seq", "delete from entries where seq = $N"),
        ("prev", SWAP),
        ("prev", REORDER),
    ];
    for (column, edit) in columns {
        assert_eq!(scene.place_after(edit), scene.named(column, 0), "{edit}");
    }
    assert_eq!(scene.place_after(INSERT), scene.named("prev", 1));
    let last = format!("BROKEN entry {}, column seq", scene.size - 1);
    assert_eq!(scene.place_after("delete from entries where seq = (select max(seq) from entries)"), last);
}

// Upholds P2: what hangs on the entries must follow from them too.
#[test]
fn an_edit_of_checkpoints_head_keys_or_documents_is_found() {
    let mut scene = Scene::open();
    let size = scene.size;
    let edits = [
        (
            format!("checkpoint of size {size}, column root"),
            "update checkpoints set root = sha256(root) where size = (select size from heads)",
        ),
        (
            format!("checkpoint of size {size}, column size"),
            "delete from checkpoints where size = (select size from heads)",
        ),
        ("head, column root".to_owned(), "update heads set root = sha256(root)"),
        ("head, column control".to_owned(), "update heads set control = control + 1"),
        ("head, column floor".to_owned(), "update heads set floor = 0"),
        ("head, column gen".to_owned(), "update heads set gen = gen + 1"),
        ("head, column killed".to_owned(), "update heads set killed = true"),
        ("head, column stopped".to_owned(), "update heads set stopped = 'test'"),
        ("head, column shadow_until".to_owned(), "update heads set shadow_until = 1"),
        ("head, column policy".to_owned(), "update heads set policy = sha256(policy)"),
        ("head, column epoch_counts".to_owned(), "update heads set epoch_counts = '{}'"),
        (
            "document of entry 4, column text".to_owned(),
            "update documents set text = text || ' ' where seq = 4",
        ),
        ("document of entry 5, column seq".to_owned(), "delete from documents where seq = 5"),
    ];
    for (place, edit) in edits {
        assert_eq!(scene.place_after(edit), format!("BROKEN {place}"), "{edit}");
    }
    let stranger = "insert into signing_keys select project_id, repeat('A', 43), purpose, null, x, introduced, introduced_at \
                    from signing_keys where purpose = 'decision'";
    let place = scene.place_after(stranger);
    assert!(place.starts_with("BROKEN signing key `AAAA"), "{place}");
}

// Upholds P2, P7: the same without a database, from a dump.
#[test]
fn a_dump_of_an_edited_database_is_broken_where_the_database_is() {
    let mut scene = Scene::open();
    let (code, said) = scene.verify_dump();
    assert_eq!((code, said["outcome"].as_str()), (Some(0), Some("CLEAN")), "{said}");
    let (_, of_database) = scene.fsck(&[]);
    assert_eq!(said, of_database);

    for edit in
        ["update entries set verdict = 'DENY' where seq = $N", "delete from entries where seq = $N", SWAP]
    {
        scene.edit(edit);
        let (code, said) = scene.verify_dump();
        assert_eq!(code, Some(40), "{said}");
        assert_eq!(said, scene.fsck(&[]).1, "{edit}");
        scene.put_back();
    }
}

// Upholds P5.
#[test]
fn a_record_that_was_cut_short_is_caught_by_a_checkpoint_kept_elsewhere() {
    let mut scene = Scene::open();
    let held = scene.held.display().to_string();
    let (code, said) = scene.fsck(&["--held", &held]);
    assert_eq!(code, Some(0), "{said}");

    scene.edit(CUT);

    // Alone it is beyond reproach.
    let (code, said) = scene.fsck(&[]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = scene.fsck(&["--held", &held]);
    assert_eq!((code, said["place"].as_str()), (Some(40), Some("head, column size")), "{said}");
}

// Upholds P1: another deployment's keys judge nothing here.
#[test]
fn a_ledger_of_another_issuer_is_unpinned() {
    let scene = Scene::open();
    let text = std::fs::read_to_string(&scene.jwks).expect("a file");
    std::fs::write(&scene.jwks, text.replacen("/p/0-", "/p/7-", 1)).expect("written");

    let config = scene.world.deployment.folder().join("evidence.toml");
    let mut command = Command::new(program("counterfoil").expect("built"));
    command.args(["fsck", "--database"]).arg(config).arg("--trust").arg(&scene.jwks);
    let output = command.output().expect("it runs");

    assert_eq!(output.status.code(), Some(50));
}

// Upholds P5: an owner's copy goes on where it stopped, and its checkpoint still counts.
#[test]
fn an_export_goes_on_after_an_interruption_and_holds_the_record_to_its_checkpoint() {
    let scene = Scene::open();
    let out = scene.world.deployment.folder().join("chain.ndjson");
    let export = || {
        let config = scene.world.deployment.folder().join("evidence.toml");
        let mut command = Command::new(program("counterfoil").expect("built"));
        command.args(["export", "chain", "--project", &scene.world.deployment.project, "--database"]);
        command.arg(config).arg("--out").arg(&out).status().expect("it runs").success()
    };
    assert!(export());
    let whole = std::fs::read(&out).expect("a file");
    assert_eq!(
        whole.iter().filter(|byte| **byte == b'\n').count(),
        usize::try_from(scene.size).expect("small")
    );

    std::fs::write(&out, &whole[..whole.len() * 2 / 3]).expect("written");
    assert!(export());
    assert_eq!(std::fs::read(&out).expect("a file"), whole);

    let checkpoint = format!("{}.checkpoint", out.display());
    let (code, said) = scene.fsck(&["--held", &checkpoint]);
    assert_eq!(code, Some(0), "{said}");
    let text = String::from_utf8(whole).expect("text");
    std::fs::write(&out, text.replacen("\"seq\":1,", "\"seq\":2,", 1)).expect("written");
    assert!(!export(), "a copy of something else was continued");
}
