//! C1: of any number of presentations one executes, over stores that several machines share: a real Postgres, a real Redis.
//! Ignored unless asked for: scripts/stores starts both. `scripts/test sdks` asks.

use super::world::*;
use counterfoil_sdk::capability::{
    POSTGRES_TABLE, Params, PostgresStore, PostgresValues, RedisStore, Store, StoreError,
};
use serde_json::{Value, json};
use std::future::Future;
use std::path::Path;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls};

const CAPABILITIES: usize = 50;
const CONNECTIONS: usize = 8;

/// Both end with their standard input, which ends with this.
struct Servers {
    _child: Child,
    postgres: String,
    redis: String,
}

impl Servers {
    async fn start() -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/stores");
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("scripts/stores starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let line = lines.next_line().await.expect("unbroken").expect("Postgres and redis-server are here");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let text = |name: &str| said[name].as_str().expect("a path").to_owned();
        Self { _child: child, postgres: text("postgres"), redis: text("redis") }
    }

    async fn postgres(&self) -> Client {
        let address = format!("host={} user=postgres dbname=postgres", self.postgres);
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await.expect("a connection");
        tokio::spawn(connection);
        client
    }

    async fn redis(&self) -> Redis {
        Redis(Mutex::new(BufReader::new(UnixStream::connect(&self.redis).await.expect("a connection"))))
    }
}

/// As much of a client as the store asks for: one command at a time, and the first line of its answer.
struct Redis(Mutex<BufReader<UnixStream>>);

impl Redis {
    async fn command(&self, words: Vec<String>) -> Result<Option<String>, StoreError> {
        let away = |error: std::io::Error| StoreError(error.to_string());
        let parts: String = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        let mut stream = self.0.lock().await;
        stream.write_all(format!("*{}\r\n{parts}", words.len()).as_bytes()).await.map_err(away)?;
        let mut line = String::new();
        stream.read_line(&mut line).await.map_err(away)?;
        match line.trim_end().split_at_checked(1) {
            Some(("+" | ":", text)) => Ok(Some(text.to_owned())),
            Some(("$", "-1")) => Ok(None),
            _ => Err(StoreError(line)),
        }
    }
}

async fn remember(
    client: &impl tokio_postgres::GenericClient,
    text: &str,
    values: PostgresValues,
) -> Result<u64, StoreError> {
    let PostgresValues { audience, jti, forget_at } = values;
    client.execute(text, &[&audience, &jti, &forget_at]).await.map_err(|error| StoreError(error.to_string()))
}

fn slips() -> Vec<Params> {
    (0..CAPABILITIES).map(|_| params(&call("note_write", &args(), slip("note_write", &args())))).collect()
}

fn args() -> Value {
    json!({ "path": "/notes/a.txt", "text": "x" })
}

fn params(call: &Value) -> Params {
    Params::parse(call.to_string().as_bytes()).expect("one reading")
}

/// Every call four times through each of eight connections: 1,600 presentations.
async fn executed<R: Future<Output = usize> + Send + 'static>(present: impl Fn(Vec<Params>) -> R) -> usize {
    let slips = slips();
    let racing: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let calls = (0..1600 / CONNECTIONS / CAPABILITIES).flat_map(|_| slips.clone()).collect();
            tokio::spawn(present(calls))
        })
        .collect();
    let mut executed = 0;
    for connection in racing {
        executed += connection.await.expect("nothing broke off");
    }
    executed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a Postgres and redis-server"]
async fn of_1600_presentations_of_50_slips_over_postgres_50_run_and_each_in_its_effects_transaction() {
    let servers = std::sync::Arc::new(Servers::start().await);
    let client = servers.postgres().await;
    client.batch_execute(POSTGRES_TABLE).await.expect("a table");
    client.batch_execute("create table effects (jti text not null)").await.expect("a table");

    let ran = executed(|calls| {
        let servers = servers.clone();
        async move {
            let (mut client, guard, mut ran) =
                (servers.postgres().await, builder().build().expect("a guard"), 0);
            for call in calls {
                let effect = client.transaction().await.expect("a transaction");
                let store = PostgresStore::new(|text, values| remember(&effect, text, values));
                let admitted = guard.admit_in(call, None, &store).await;
                drop(store);
                let Ok(admitted) = admitted else { continue };
                let jti = admitted.claims().jti.to_string();
                effect.execute("insert into effects (jti) values ($1)", &[&jti]).await.expect("the effect");
                effect.commit().await.expect("the commit");
                ran += 1;
            }
            ran
        }
    });
    assert_eq!(ran.await, CAPABILITIES);
    let row =
        client.query_one("select count(*), count(distinct jti) from effects", &[]).await.expect("a row");
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (50, 50));

    // Rolled back, the effect leaves its capability unused.
    let mut client = servers.postgres().await;
    let guard = builder().build().expect("a guard");
    let call = slips().remove(0);
    for (is_kept, wanted) in [(false, true), (true, true), (true, false)] {
        let effect = client.transaction().await.expect("a transaction");
        let store = PostgresStore::new(|text, values| remember(&effect, text, values));
        assert_eq!(guard.admit_in(call.clone(), None, &store).await.is_ok(), wanted);
        drop(store);
        if is_kept {
            effect.commit().await.expect("the commit");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a Postgres and redis-server"]
async fn of_1600_presentations_of_50_slips_over_redis_50_run() {
    let servers = std::sync::Arc::new(Servers::start().await);
    let ran = executed(|calls| {
        let servers = servers.clone();
        async move {
            let (client, guard, mut ran) = (servers.redis().await, builder().build().expect("a guard"), 0);
            let store = RedisStore::new(|words| client.command(words));
            for call in calls {
                ran += usize::from(guard.admit_in(call, None, &store).await.is_ok());
            }
            ran
        }
    });
    assert_eq!(ran.await, CAPABILITIES);

    let client = servers.redis().await;
    let store = RedisStore::new(|words| client.command(words));
    assert_eq!(store.consume("a", "j", now() - 5).await, Ok(true));
    let key = ["GET", "counterfoil:used:a:j"].map(str::to_owned).to_vec();
    assert_eq!(client.command(key).await, Ok(None), "what no clock accepts is forgotten");
}
