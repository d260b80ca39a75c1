//! What a page costs with a thousand entries and with a million: `scripts/bench page`.
//!
//! Makes a cluster of its own, one project, and synthetic entries as far as a page looks at them; prints medians and
//! their ratio, and fails where a page of a million costs more than one and a half times as much.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::key::{Ledger, Log, SigningKey};
use counterfoil_core::statement::{
    Environment, Epoch, EpochType, Finding, FindingCode, FindingType, Verdict,
};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Hash;
use counterfoil_evidence::cluster::{Binaries, Cluster};
use counterfoil_evidence::ledger::Project;
use counterfoil_evidence::setup::{Attested, DisclosureJwk, NewProject, Setup, migrate, prepare_database};
use counterfoil_evidence::{Config, bind};
use counterfoil_jwks::{Holder, Kek, Store};
use serde_json::Value;
use tokio_postgres::NoTls;

const SIZES: [i64; 2] = [1_000, 1_000_000];
const ALLOWED: f64 = 1.5;
const REQUESTS: usize = 200;
/// Setup makes the first entries itself; synthetic ones begin here.
const FIRST: i64 = 10;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let folder = tempfile::tempdir()?;
    let cluster = Cluster::throw_away(&Binaries::find(None)?)?;
    let running = cluster.start(&[("fsync", "off"), ("max_wal_size", "4GB")])?;
    prepare_database(&running.admin("postgres"), "pages").await?;
    let config = configuration(folder.path(), &running.socket_folder().display().to_string())?;
    migrate(&config).await?;
    make_keys(&config)?;
    let setup = Setup::open(&config).await?;
    let project = setup.create_project(&new_project()).await?;
    let by = Attested { behalf: "operator-1", reason: None };
    setup.publish_registry(project.id, "v = 1\n", by).await?;
    setup.publish_rules(project.id, "", by).await?;
    let bound = bind(config).await?;
    let page = format!("http://{}{}", bound.public_addr()?, project.issuer.page_path());
    tokio::spawn(bound.run(std::future::pending()));
    let (client, driver) = running.admin("pages").connect(NoTls).await?;
    tokio::spawn(driver);

    let mut medians = Vec::new();
    let mut filled = FIRST;
    for size in SIZES {
        fill(&client, &project, filled, size).await.context("synthetic entries")?;
        filled = size;
        let (median, tail) = measure(&page).await?;
        println!("{size:>9} entries: p50 {:.1} ms, p95 {:.1} ms", millis(median), millis(tail));
        medians.push(median);
    }
    let ratio = medians[1].as_secs_f64() / medians[0].as_secs_f64();
    println!("p50 of {} entries is {ratio:.2} times that of {}; {ALLOWED} is allowed", SIZES[1], SIZES[0]);
    Ok(if ratio <= ALLOWED { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure(page: &str) -> anyhow::Result<(Duration, Duration)> {
    let http = reqwest::Client::new();
    let mut took = Vec::with_capacity(REQUESTS);
    // The first few fill caches and prepare statements.
    for request in 0..REQUESTS + 20 {
        let began = Instant::now();
        let answer = http.get(page).send().await?;
        ensure!(answer.status().is_success(), "{}", answer.status());
        let text = answer.text().await?;
        let whole = ["Latest calls", "MISSING_EXECUTION", "returned", "?calls=", "Closed days"];
        ensure!(whole.iter().all(|part| text.contains(part)) || request > 0, "this is not the whole page");
        if request >= 20 {
            took.push(began.elapsed());
        }
    }
    took.sort();
    Ok((took[REQUESTS / 2], took[REQUESTS * 95 / 100]))
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

async fn fill(client: &tokio_postgres::Client, project: &Project, from: i64, to: i64) -> anyhow::Result<()> {
    let id = project.id.uuid();
    let decision = example(include_str!("../../docs/vectors/receipts/decision.json"))?;
    let observation = example(include_str!("../../docs/vectors/receipts/observation.json"))?;
    let action = decision.pointer("/payload/action").and_then(Value::as_str).context("an action")?.to_owned();
    let observation = observation.to_string().replace(
        observation.pointer("/payload/action").and_then(Value::as_str).context("an action")?,
        &action,
    );
    let (decision, observation) = (decision.to_string().into_bytes(), observation.into_bytes());
    let (epoch, finding) = ours(project)?;
    let sql = include_str!("../tests/synthetic.sql");
    // In parts, so that a statement's memory stays small.
    for begin in (from..to).step_by(100_000) {
        let end = to.min(begin + 100_000);
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
            [&id, &begin, &end, &decision, &observation, &epoch, &finding, &action];
        client.execute(sql, &values).await?;
    }
    client.execute("update heads set size = $2 where project_id = $1", &[&id, &to]).await?;
    client.batch_execute("vacuum analyze").await?;
    Ok(())
}

/// The statement of a published case, as it is in its receipt.
fn example(text: &str) -> anyhow::Result<Value> {
    let case: Value = serde_json::from_str(text)?;
    case.pointer("/receipt/statement").or(case.get("statement")).cloned().context("a statement")
}

/// A closed day and a finding, as the ledger writes them.
fn ours(project: &Project) -> anyhow::Result<(Vec<u8>, Vec<u8>)> {
    let key = SigningKey::<Ledger>::from_seed(&[7; 32]);
    let at = Timestamp::from_millis(1_700_000_000_000)?;
    let epoch = Epoch {
        typ: EpochType::V1,
        iss: project.issuer.clone(),
        project: project.id,
        at,
        epoch: at.epoch(),
        first: 0,
        last: 9,
        root: Hash::from_bytes([0; 32]),
        counts: [].into(),
    };
    let finding = Finding {
        typ: FindingType::V1,
        iss: project.issuer.clone(),
        project: project.id,
        at,
        code: FindingCode::MissingExecution,
        action: None,
        statement: Some(Digest::of(b"")),
        seq: Some(12),
    };
    Ok((Signed::sign(epoch, &key).bytes().to_vec(), Signed::sign(finding, &key).bytes().to_vec()))
}

fn configuration(folder: &std::path::Path, socket: &str) -> anyhow::Result<Config> {
    let path = folder.join("evidence.toml");
    let text = format!(
        "host = \"counterfoil.localhost\"\nmode = \"dev\"\nlisten_public = \"127.0.0.1:0\"\n\
         listen_internal = \"127.0.0.1:0\"\nkeys = \"keys.sealed\"\nkek_file = \"kek.hex\"\nheads_file = \"heads.json\"\n\
         [rate]\nper_second = 100000\nburst = 100000\n[database]\nhost = \"{socket}\"\nname = \"pages\"\n"
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
        name: "Synthetic".to_owned(),
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
