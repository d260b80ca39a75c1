//! Every statement that the service can run, prepared against the migrated schema.

use crate::cluster::{Binaries, Cluster, Running};
use crate::config::{Config, DatabaseConfig, PackagesConfig, Rate};
use crate::database::Sql;
use crate::setup::{migrate, prepare_database};
use crate::{
    accounts, catalogs, control, coverage, database, declared, definitions, executions, export, grants,
    health, holds, keys, ledger, packages, public, reconciliation, retention, settings, setup,
};

fn all() -> Vec<&'static [(&'static str, Sql)]> {
    let mut all = vec![
        accounts::store::ALL,
        catalogs::store::ALL,
        control::store::ALL,
        coverage::ALL,
        database::store::ALL,
        declared::store::ALL,
        definitions::store::ALL,
        export::ALL,
        executions::store::ALL,
        grants::store::ALL,
        health::ALL,
        holds::store::ALL,
        keys::store::ALL,
        packages::ALL,
        public::ALL,
        retention::store::ALL,
        retention::store::OPERATORS,
        settings::store::ALL,
        setup::DIRECTORY_STATEMENTS,
    ];
    all.extend(ledger::store::ALL);
    all.extend(reconciliation::ALL);
    all
}

/// Roles and a database on a throw-away cluster; no keys, no listeners.
pub(crate) fn config(running: &Running, database: &str) -> Config {
    let nowhere = std::path::PathBuf::new();
    Config {
        host: "counterfoil.localhost".parse().unwrap(),
        mode: counterfoil_jwks::Mode::Dev,
        listen_public: "127.0.0.1:0".parse().unwrap(),
        listen_internal: "127.0.0.1:0".parse().unwrap(),
        listen_console: None,
        keys: nowhere.clone(),
        kek_file: None,
        heads_file: nowhere,
        hosts: Vec::new(),
        rate: Rate::default(),
        lease_seconds: 30,
        packages: PackagesConfig::default(),
        database: DatabaseConfig {
            host: running.socket_folder().to_str().unwrap().to_owned(),
            port: running.port(),
            name: database.to_owned(),
            app_user: "counterfoil_app".to_owned(),
            reader_user: "counterfoil_reader".to_owned(),
            sweeper_user: "counterfoil_sweeper".to_owned(),
            migrator_user: "counterfoil_migrator".to_owned(),
            password_file: None,
            connections: 1,
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_prepares_against_the_schema() {
    let cluster = Cluster::throw_away(&Binaries::find(None).unwrap()).unwrap();
    let running = cluster.start(&[("fsync", "off")]).unwrap();
    prepare_database(&running.admin("postgres"), "statements").await.unwrap();
    let config = config(&running, "statements");
    migrate(&config).await.unwrap();
    migrate(&config).await.expect("a second time changes nothing");
    let (client, driver) = running.admin("statements").connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(driver);

    let mut count = 0;
    for (name, sql) in all().into_iter().flatten() {
        // `lock table` cannot be prepared; it is run by every test that makes a project.
        if !sql.text().starts_with("lock table") {
            client.prepare(sql.text()).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        }
        count += 1;
    }
    assert!(count > 40, "{count}");
    appends_read_by_index(&client).await;
}

/// Plans are made while a ledger is nearly empty and stay when it is not: none may be one that reads a whole project.
async fn appends_read_by_index(client: &tokio_postgres::Client) {
    client.batch_execute("set plan_cache_mode = force_generic_plan").await.unwrap();
    let mut seen = 0;
    for (name, sql) in all().into_iter().flatten() {
        if !["FACTS", "OPEN", "CLOSE", "EARLY", "NAMED", "PLACES", "ISSUED"].contains(name) {
            continue;
        }
        let nothing = vec!["null"; client.prepare(sql.text()).await.unwrap().params().len()].join(", ");
        client.batch_execute(&format!("prepare planned as {}", sql.text())).await.unwrap();
        let explain = format!("explain (costs off) execute planned ({nothing})");
        let plan = client.simple_query(&explain).await.unwrap();
        let lines = plan.iter().filter_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        let plan: Vec<&str> = lines.map(str::trim).collect();
        let of_whole = plan.iter().any(|line| {
            let large =
                ["entries", "open_calls", "idempotency", "matters", "declared_places", "issued_hashes"];
            let seq = large.iter().any(|table| line.contains(&format!("Seq Scan on {table}")));
            seq || *line == "Index Cond: (project_id = $1)"
        });
        assert!(!of_whole, "{name} reads a whole project:\n{}", plan.join("\n"));
        assert!(plan.iter().any(|line| line.starts_with("Index Cond")), "{name}: {plan:?}");
        client.batch_execute("deallocate planned").await.unwrap();
        seen += 1;
    }
    assert_eq!(seen, 7);
}

/// A `statements!` that the list above does not know would never be prepared.
#[test]
fn every_statements_block_is_in_the_list() {
    fn blocks(folder: &std::path::Path, found: &mut usize) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                blocks(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                *found += text.lines().filter(|line| line.starts_with("statements! {")).count();
            }
        }
    }
    let mut found = 0;
    blocks(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert_eq!(found, all().len());
}
