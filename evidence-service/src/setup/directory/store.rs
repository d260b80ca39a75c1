//! SQL of the directory's owner, and of making a database.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{KeyId, ProjectId};
use counterfoil_core::issuer::PublicId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::time::Timestamp;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::clock;
use crate::database::{DatabaseError, statements};
use crate::ledger::store::{time, unreadable};
use crate::setup::operators::{Kept, ListedOperator, Role};

statements! {
    // One at a time: two projects must not get one slot, and no number may stay unused.
    LOCK_SLOTS = "lock table slots in exclusive mode";
    TAKE_SLOT = "insert into slots (slot, public_id, project_id, created_at) \
                 select coalesce(max(slot) + 1, 0), $1, $2, $3 from slots returning slot";
    INSERT_API_KEY = "insert into api_key_digests (digest, project_id, key_id) values ($1, $2, $3)";
    INSERT_SERVICE_TOKEN = "insert into service_tokens (digest, token_id, projects, kids, created_at) \
                            values ($1, $2, $3, $4, $5)";
    INSERT_OPERATOR = "insert into operators (digest, project_id, behalf, role, local, created_at) \
                       values ($1, $2, $3, $4, $5, $6) on conflict do nothing";
    OPERATORS = "select behalf, role, local, created_at, revoked_at from operators where project_id = $1 \
                 order by created_at, behalf";
    REVOKE_OPERATOR = "update operators set revoked_at = $3 \
                       where project_id = $1 and behalf = $2 and revoked_at is null";
    PROJECTS = "select project_id from slots order by slot";
    LOCK_MIGRATIONS = "select pg_advisory_lock(7165060201)";
    DATABASE_EXISTS = "select true from pg_database where datname = $1";
    ROLE_EXISTS = "select true from pg_roles where rolname = $1";
}

pub(in crate::setup) async fn lock_migrations(client: &Client) -> Result<(), DatabaseError> {
    client.query_one(LOCK_MIGRATIONS.text(), &[]).await?;
    Ok(())
}

/// `name` is plain: the caller checked it, because names cannot be parameters.
pub(in crate::setup) async fn make_roles_and_database(
    client: &Client,
    name: &str,
) -> Result<(), DatabaseError> {
    lock_migrations(client).await?;
    for role in counterfoil_migrations::ROLES {
        if client.query_opt(ROLE_EXISTS.text(), &[&role]).await?.is_none() {
            let make = format!(
                "create role {role} login nosuperuser nobypassrls nocreatedb nocreaterole noreplication"
            );
            client.batch_execute(&make).await?;
        }
    }
    if client.query_opt(DATABASE_EXISTS.text(), &[&name]).await?.is_none() {
        client.batch_execute(&format!("create database {name} owner counterfoil_migrator")).await?;
        client.batch_execute(&format!("revoke all on database {name} from public")).await?;
        let connect =
            format!("grant connect on database {name} to {}", counterfoil_migrations::ROLES.join(", "));
        client.batch_execute(&connect).await?;
    }
    Ok(())
}

pub(super) async fn take_slot(
    client: &Client,
    project: ProjectId,
    public_id: &PublicId,
    at: Timestamp,
) -> Result<u64, DatabaseError> {
    client.batch_execute("begin").await?;
    client.batch_execute(LOCK_SLOTS.text()).await?;
    let row =
        client.query_one(TAKE_SLOT.text(), &[&public_id.to_string(), &project.uuid(), &at.millis()]).await?;
    client.batch_execute("commit").await?;
    u64::try_from(row.try_get::<_, i64>(0)?).map_err(unreadable)
}

pub(super) async fn insert_api_key(
    client: &Client,
    secret: Digest,
    project: ProjectId,
    key: KeyId,
) -> Result<(), DatabaseError> {
    let secret = secret.bytes().as_slice();
    client.execute(INSERT_API_KEY.text(), &[&secret, &project.uuid(), &key.uuid()]).await?;
    Ok(())
}

pub(super) async fn insert_service_token(
    client: &Client,
    secret: Digest,
    projects: &[ProjectId],
    kids: &[Thumbprint],
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let projects: Vec<Uuid> = projects.iter().map(ProjectId::uuid).collect();
    let kids: Vec<&str> = kids.iter().map(Thumbprint::as_str).collect();
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&secret.bytes().as_slice(), &clock::fresh_uuid(), &projects, &kids, &at.millis()];
    client.execute(INSERT_SERVICE_TOKEN.text(), &parameters).await?;
    Ok(())
}

pub(super) async fn insert_operator(
    client: &Client,
    secret: Digest,
    project: ProjectId,
    (behalf, role, kept): (&str, Role, Kept),
    at: Timestamp,
) -> Result<bool, DatabaseError> {
    let local = kept == Kept::OnThisMachine;
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] =
        [&secret.bytes().as_slice(), &project.uuid(), &behalf, &role.as_str(), &local, &at.millis()];
    Ok(client.execute(INSERT_OPERATOR.text(), &parameters).await? == 1)
}

pub(super) async fn operators(
    client: &Client,
    project: ProjectId,
) -> Result<Vec<ListedOperator>, DatabaseError> {
    let rows = client.query(OPERATORS.text(), &[&project.uuid()]).await?;
    rows.iter()
        .map(|row| {
            Ok(ListedOperator {
                behalf: row.try_get("behalf")?,
                role: row.try_get("role")?,
                kept: if row.try_get("local")? { Kept::OnThisMachine } else { Kept::Apart },
                created_at: time(row.try_get("created_at")?)?,
                revoked_at: row.try_get::<_, Option<i64>>("revoked_at")?.map(time).transpose()?,
            })
        })
        .collect()
}

pub(super) async fn revoke_operator(
    client: &Client,
    project: ProjectId,
    behalf: &str,
    at: Timestamp,
) -> Result<bool, DatabaseError> {
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&project.uuid(), &behalf, &at.millis()];
    Ok(client.execute(REVOKE_OPERATOR.text(), &parameters).await? == 1)
}

pub(super) async fn projects(client: &Client) -> Result<Vec<ProjectId>, DatabaseError> {
    let rows = client.query(PROJECTS.text(), &[]).await?;
    rows.iter().map(|row| Ok(ProjectId::from_uuid(row.try_get(0)?))).collect()
}
