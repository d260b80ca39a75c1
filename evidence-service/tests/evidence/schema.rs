//! What the database itself refuses, to every role.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use crate::deployment::{Deployment, connect, new_project};

async fn enter(client: &Client, deployment: &Deployment) {
    let uuid = deployment.id().uuid();
    client.batch_execute(&format!("begin; set local counterfoil.project = '{uuid}'")).await.expect("begun");
}

fn code(error: &Error) -> &SqlState {
    error.code().unwrap_or_else(|| panic!("no answer of the database: {error}"))
}

/// E5: as the app, as the owner, as the sweeper, and as a superuser that steps around ordinary triggers.
#[tokio::test(flavor = "multi_thread")]
async fn entries_refuse_update_delete_and_truncate_to_every_role() {
    let deployment = Deployment::new().await;
    let changes = [
        "update entries set kind = 'x'",
        "update entries set body = null",
        "delete from entries",
        "truncate entries",
    ];
    for role in [
        "counterfoil_app",
        "counterfoil_migrator",
        "counterfoil_sweeper",
        "counterfoil_reader",
        "counterfoil_auditor",
    ] {
        let client = connect(&deployment.config, role).await;
        for change in changes {
            enter(&client, &deployment).await;
            let refused = client.batch_execute(change).await.expect_err(change);
            let code = code(&refused).clone();
            let known = [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::RESTRICT_VIOLATION];
            assert!(known.contains(&code), "{role}: {change}: {refused}");
            client.batch_execute("rollback").await.expect("rolled back");
        }
    }
    let superuser = connect(&deployment.config, "postgres").await;
    superuser.batch_execute("set session_replication_role = replica").await.expect("set");
    for change in changes {
        let refused = superuser.batch_execute(change).await.expect_err(change);
        assert_eq!(code(&refused), &SqlState::RESTRICT_VIOLATION, "{change}");
    }
}

/// T1: the net under every query.
#[tokio::test(flavor = "multi_thread")]
async fn one_project_neither_sees_nor_writes_rows_of_another() {
    let deployment = Deployment::new().await;
    let other = deployment.setup.create_project(&new_project("Second")).await.expect("a project");
    for role in ["counterfoil_app", "counterfoil_migrator"] {
        let client = connect(&deployment.config, role).await;
        enter(&client, &deployment).await;

        let rows = client.query("select distinct project_id from entries", &[]).await.expect("rows");
        assert_eq!(
            rows.iter().map(|row| row.get::<_, uuid::Uuid>(0)).collect::<Vec<_>>(),
            [deployment.id().uuid()]
        );
        let seen = client
            .query("select 1 from heads where project_id = $1", &[&other.id.uuid()])
            .await
            .expect("rows");
        assert!(seen.is_empty());
        let insert = "insert into audits (project_id, at, size) values ($1, 0, 0)";
        let refused = client.execute(insert, &[&other.id.uuid()]).await.expect_err("another project's row");
        assert_eq!(code(&refused), &SqlState::INSUFFICIENT_PRIVILEGE);
        client.batch_execute("rollback").await.expect("rolled back");
    }
}

/// T1: no tenant named means an error, never all rows and never none.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_project_nothing_is_answered() {
    let deployment = Deployment::new().await;
    let client = connect(&deployment.config, "counterfoil_app").await;

    client.query("select 1 from entries", &[]).await.expect_err("never set");
    enter(&client, &deployment).await;
    client.query("select 1 from entries", &[]).await.expect("set for this transaction");
    client.batch_execute("commit").await.expect("committed");
    client.query("select 1 from entries", &[]).await.expect_err("set no longer");
}

/// T1, E5: read from the catalogue, so that a table added later is held to it too.
#[tokio::test(flavor = "multi_thread")]
async fn every_tenant_table_is_scoped_and_every_key_starts_with_the_project() {
    let deployment = Deployment::new().await;
    let client = connect(&deployment.config, "postgres").await;
    let outside: Vec<&str> =
        counterfoil_migrations::DIRECTORY.into_iter().chain(["refinery_schema_history"]).collect();

    let open = "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' \
                and not (relrowsecurity and relforcerowsecurity) and relname <> all($1)";
    let open = client.query(open, &[&outside]).await.expect("tables");
    assert!(open.is_empty(), "without forced row-level security: {open:?}");

    let keys = "select conname::text from pg_constraint con join pg_class c on c.oid = con.conrelid \
                join pg_attribute a on a.attrelid = c.oid and a.attnum = con.conkey[1] \
                where c.relnamespace = 'public'::regnamespace and con.contype in ('p', 'u', 'f') \
                and a.attname <> 'project_id' and c.relname <> all($1)";
    let keys = client.query(keys, &[&outside]).await.expect("constraints");
    assert!(keys.is_empty(), "keys that do not start with project_id: {keys:?}");

    let mighty = "select rolname::text from pg_roles where rolname like 'counterfoil%' \
                  and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb)";
    assert!(client.query(mighty, &[]).await.expect("roles").is_empty());
    let normal = "select tgname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid \
                  where c.relnamespace = 'public'::regnamespace and not tgisinternal and tgenabled <> 'A'";
    assert!(client.query(normal, &[]).await.expect("triggers").is_empty());
}

/// T3: the app asks for one row by digest; it cannot list tenants or digests.
#[tokio::test(flavor = "multi_thread")]
async fn the_directory_cannot_be_listed_by_the_app() {
    let deployment = Deployment::new().await;
    for role in ["counterfoil_app", "counterfoil_reader"] {
        let client = connect(&deployment.config, role).await;
        for table in counterfoil_migrations::DIRECTORY {
            let refused = client.query(&format!("select * from {table}"), &[]).await.expect_err(table);
            assert_eq!(code(&refused), &SqlState::INSUFFICIENT_PRIVILEGE);
        }
    }
}

/// E5: a body goes only under a tombstone of the same transaction, and only if its kind may go.
#[tokio::test(flavor = "multi_thread")]
async fn the_sweeper_empties_a_body_only_under_a_tombstone() {
    let deployment = Deployment::new().await;
    let client = connect(&deployment.config, "counterfoil_sweeper").await;
    let id = deployment.id().uuid();
    let entry = |seq: i64, kind: &str| {
        format!(
            "insert into entries (project_id, seq, at, kind, body_digest, prev, hash, body, path, checkpoint_size) \
             select project_id, {seq}, at, '{kind}', body_digest, prev, hash, body, path, {seq} + 1 from entries where seq = 0"
        )
    };
    enter(&client, &deployment).await;
    client.batch_execute(&entry(100, "decision")).await.expect("a body that may go");
    client.batch_execute(&entry(101, "tombstone")).await.expect("its tombstone's entry");
    client.batch_execute("commit").await.expect("committed");
    let cover =
        format!("insert into tombstones (project_id, seq, first_seq, last_seq) values ('{id}', 101, 0, 100)");

    enter(&client, &deployment).await;
    client.batch_execute("update entries set body = null where seq = 100").await.expect_err("no tombstone");
    client.batch_execute("rollback").await.expect("rolled back");
    enter(&client, &deployment).await;
    client.batch_execute(&cover).await.expect("covered");
    client
        .batch_execute("update entries set body = null where seq = 0")
        .await
        .expect_err("a key is never erased");
    client.batch_execute("rollback").await.expect("rolled back");
    enter(&client, &deployment).await;
    client.batch_execute(&cover).await.expect("covered");
    client.batch_execute("update entries set body = null where seq = 100").await.expect("erased");
    client.batch_execute("commit").await.expect("committed");

    enter(&client, &deployment).await;
    client
        .batch_execute("update entries set body = null where seq = 0")
        .await
        .expect_err("an older tombstone");
    client.batch_execute("rollback").await.expect("rolled back");
}
