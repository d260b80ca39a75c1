//! How much dearer a kill is than the plainest change of a head, in one run: `scripts/bench kill`.
//!
//! Makes a cluster of its own that writes to disk as in production, one project, and a console. Prints the p99 of a kill over
//! the console and of a transaction that locks, updates and commits the same row, taken in turns, and their ratio; fails
//! where a kill costs more than five times as much.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use counterfoil_core::key::{Ledger, Log};
use counterfoil_core::statement::{Environment, Verdict};
use counterfoil_core::time::Timestamp;
use counterfoil_evidence::cluster::{Binaries, Cluster};
use counterfoil_evidence::setup::{DisclosureJwk, Kept, NewProject, Role, Setup, migrate, prepare_database};
use counterfoil_evidence::{Config, bind};
use counterfoil_jwks::{Holder, Kek, Store};
use tokio_postgres::NoTls;

const ALLOWED: f64 = 5.0;
const ROUNDS: usize = 1_000;
/// The first few prepare statements and fill caches.
const WARM: usize = 50;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let cluster = Cluster::throw_away(&Binaries::find(None)?)?;
    let running = cluster.start(&[("fsync", "on")])?;
    prepare_database(&running.admin("postgres"), "kills").await?;
    let config = configuration(folder.path(), &running.socket_folder().display().to_string())?;
    migrate(&config).await?;
    make_keys(&config)?;
    let setup = Setup::open(&config).await?;
    let project = setup.create_project(&new_project()).await?.id;
    let token = setup.create_operator(project, "operator-1", (Role::Operator, Kept::Apart)).await?;
    let bound = bind(config).await?;
    let console = format!("http://{}/v1/kill", bound.console_addr()?.context("a console")?);
    tokio::spawn(bound.run(std::future::pending()));
    let (client, driver) = running.admin("kills").connect(NoTls).await?;
    tokio::spawn(driver);
    let http = reqwest::Client::new();

    let (mut plain, mut kills) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + WARM {
        let began = Instant::now();
        client.batch_execute("begin").await?;
        client
            .query_one("select size from heads where project_id = $1 for update", &[&project.uuid()])
            .await?;
        client
            .execute("update heads set last_at = last_at where project_id = $1", &[&project.uuid()])
            .await?;
        client.batch_execute("commit").await?;
        let updated = began.elapsed();
        let began = Instant::now();
        let asked = http.post(&console).bearer_auth(token.secret.reveal()).json(&serde_json::json!({}));
        let answer = asked.send().await?;
        ensure!(answer.status().is_success(), "{}: {}", answer.status(), answer.text().await?);
        if round >= WARM {
            plain.push(updated);
            kills.push(began.elapsed());
        }
        // The console lets one peer ask twenty times a second.
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    let (plain, kills) = (p99(&mut plain), p99(&mut kills));
    let ratio = kills.as_secs_f64() / plain.as_secs_f64();
    println!(
        "p99 of a plain head update {plain:?}, of a kill {kills:?}: {ratio:.2} times; {ALLOWED} is allowed"
    );
    Ok(if ratio <= ALLOWED { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn p99(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

fn configuration(folder: &std::path::Path, socket: &str) -> anyhow::Result<Config> {
    let path = folder.join("evidence.toml");
    let text = format!(
        "host = \"counterfoil.localhost\"\nmode = \"dev\"\nlisten_public = \"127.0.0.1:0\"\n\
         listen_internal = \"127.0.0.1:0\"\nlisten_console = \"127.0.0.1:0\"\nkeys = \"keys.sealed\"\n\
         kek_file = \"kek.hex\"\nheads_file = \"heads.json\"\n[database]\nhost = \"{socket}\"\nname = \"kills\"\n"
    );
    std::fs::write(&path, text)?;
    Ok(Config::from_file(&path)?)
}

fn make_keys(config: &Config) -> anyhow::Result<()> {
    let kek = Kek::mint()?;
    kek.write_new(config.kek_file.as_deref().context("a file for the key")?)?;
    let mut store = Store::create(&config.keys, Holder::Evidence, kek)?;
    let at = Timestamp::from_millis(1_700_000_000_000)?;
    store.mint::<Ledger>(at)?;
    store.mint::<Log>(at)?;
    Ok(())
}

fn new_project() -> NewProject {
    let coordinate = counterfoil_core::nonce::base64url(&[7; 32]);
    NewProject {
        name: "Kills".to_owned(),
        env: Environment::Test,
        base_verdict: Verdict::Deny,
        disclosure_key: DisclosureJwk {
            kty: "EC".to_owned(),
            crv: "P-256".to_owned(),
            x: coordinate.clone(),
            y: coordinate,
        },
        behalf: "operator-1".to_owned(),
    }
}
