//! No statement of a page reads more because there are more entries.

use counterfoil_core::id::ProjectId;
use serde_json::Value;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};
use uuid::Uuid;

use super::store;
use crate::cluster::{Binaries, Cluster, Running};
use crate::database::Sql;
use crate::setup::{migrate, prepare_database};
use crate::statements_test::config;

const ENTRIES: i64 = 60_000;
/// The largest lists: a thousand uncompared entries, or a thousand and one findings.
const MOST_ROWS: f64 = 2_100.0;

async fn connect(running: &Running, role: &str) -> Client {
    let mut connection = running.admin("plans");
    connection.user(role);
    let (client, driver) = connection.connect(NoTls).await.unwrap();
    tokio::spawn(driver);
    client
}

async fn filled(running: &Running) -> Uuid {
    prepare_database(&running.admin("postgres"), "plans").await.unwrap();
    migrate(&config(running, "plans")).await.unwrap();
    let project = ProjectId::from_uuid(Uuid::from_u128(7)).uuid();
    let client = connect(running, "postgres").await;
    let made = "insert into projects (project_id, slot, public_id, issuer, name, env, base_verdict, disclosure_key, \
                grants_nonce, created_at) values ($1, 0, 'aaaaaaaa', '', 'plans', 'live', 'DENY', '', '', 0)";
    client.execute(made, &[&project]).await.unwrap();
    let body = vec![b'x'; 900];
    let values: [&(dyn ToSql + Sync); 8] = [&project, &0_i64, &ENTRIES, &body, &body, &body, &body, &"act"];
    client.execute(include_str!("../../tests/synthetic.sql"), &values).await.unwrap();
    let notes = "insert into checkpoints (project_id, size, root, at, note) \
                 select $1, s, sha256(int8send(s)), 0, '' from generate_series(1, $2::bigint) as s";
    client.execute(notes, &[&project, &ENTRIES]).await.unwrap();
    client.batch_execute("vacuum analyze").await.unwrap();
    project
}

/// Rows that scans looked at, and the tables that were read from one end to the other.
fn looked_at(plan: &Value, tables: &mut Vec<String>) -> f64 {
    let number = |name: &str| plan[name].as_f64().unwrap_or(0.0);
    let kind = plan["Node Type"].as_str().unwrap_or_default();
    let removed = number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
    let own =
        if kind.contains("Scan") { (number("Actual Rows") + removed) * number("Actual Loops") } else { 0.0 };
    if kind == "Seq Scan" {
        tables.push(plan["Relation Name"].as_str().unwrap_or_default().to_owned());
    }
    let below = plan["Plans"].as_array().into_iter().flatten();
    own + below.map(|plan| looked_at(plan, tables)).sum::<f64>()
}

async fn explain(client: &Client, sql: Sql, values: &[&(dyn ToSql + Sync)]) -> (f64, Vec<String>, Value) {
    let asked = format!("explain (analyze, format json) {}", sql.text());
    let row =
        client.query_one(&asked, values).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.text()));
    let plan: Value = row.get(0);
    let mut tables = Vec::new();
    (looked_at(&plan[0]["Plan"], &mut tables), tables, plan)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_reads_more_because_there_are_more_entries() {
    let cluster = Cluster::throw_away(&Binaries::find(None).unwrap()).unwrap();
    let running = cluster.start(&[("fsync", "off")]).unwrap();
    let project = filled(&running).await;
    let reader = connect(&running, "counterfoil_reader").await;
    reader.batch_execute(&format!("set counterfoil.project = '{project}'")).await.unwrap();
    let (end, middle, lists, counted, far) = (i64::MAX, ENTRIES / 2, 26_i64, 1001_i64, i64::MAX / 2);
    let (seqs, action) = (vec![10_i64, 20, 30], Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_2710));
    let (actions, each) = (vec![action], 6_i64);
    type Values<'v> = Vec<&'v (dyn ToSql + Sync)>;
    let asked: Vec<(Sql, Values<'_>)> = vec![
        (store::NEWEST, vec![&project, &end, &lists]),
        (store::NEWEST, vec![&project, &middle, &lists]),
        (store::FROM, vec![&project, &middle, &256_i64]),
        (store::BODIES, vec![&project, &seqs]),
        (store::RECEIPT, vec![&project, &middle]),
        (store::DAYS, vec![&project, &0_i64, &1000_i64]),
        (store::KEYS, vec![&project, &500_i64]),
        (store::COVERAGE, vec![&project]),
        (store::PROBES, vec![&project, &400_i64]),
        (store::ANSWERS, vec![&project, &lists]),
        (store::STANDING_GRANTS, vec![&project, &far, &counted]),
        (store::RULES, vec![&project, &far, &20_i64]),
        (store::REGISTRY, vec![&project, &far, &1_i64]),
        (store::HEAD, vec![&project]),
        (store::CHECKPOINT, vec![&project]),
        (store::SIZE, vec![&project]),
        (store::AT, vec![&project, &seqs]),
        (store::AUDIT, vec![&project]),
        (store::ACTION, vec![&project, &action, &0_i64, &51_i64]),
        (store::ABOUT, vec![&project, &actions, &each]),
        (store::RECONCILED, vec![&project]),
        (store::CALLS, vec![&project, &end, &lists, &ENTRIES]),
        (store::CALLS, vec![&project, &end, &lists, &0_i64]),
        (store::CALLS, vec![&project, &middle, &lists, &ENTRIES]),
        (store::TALLIES, vec![&project]),
        (store::CALL_TALLIES, vec![&project]),
        (store::OPEN_FINDINGS, vec![&project, &end, &lists]),
        (store::APART_FINDINGS, vec![&project, &end, &lists]),
        (store::CLEARED_FINDINGS, vec![&project, &end, &lists]),
        (store::COUNT_OPEN, vec![&project, &counted]),
        (store::COUNT_APART, vec![&project, &counted]),
        (store::FINDINGS_OF, vec![&project, &action, &50_i64]),
        (store::UNSORTED_FINDINGS, vec![&project, &lists]),
    ];
    let unasked = store::ALL.iter().filter(|(name, sql)| {
        *name != "PROJECT" && !asked.iter().any(|(asked, _)| asked.text() == sql.text())
    });
    assert_eq!(unasked.map(|(name, _)| *name).collect::<Vec<_>>(), Vec::<&str>::new(), "asked for no plan");

    for (sql, values) in &asked {
        let (rows, whole, plan) = explain(&reader, *sql, values).await;

        assert!(rows <= MOST_ROWS, "{rows} rows: {}\n{plan:#}", sql.text());
        let grows = ["entries", "matters", "checkpoints"];
        assert!(!whole.iter().any(|table| grows.contains(&table.as_str())), "{whole:?}: {}", sql.text());
    }
}
