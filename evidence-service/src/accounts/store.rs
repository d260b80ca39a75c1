//! SQL of API keys, service tokens and operators.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, KeyId, ProjectId};
use counterfoil_core::key::Thumbprint;
use counterfoil_core::statement::AnsweredBy;
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

use super::{Operator, ServiceToken};
use crate::database::{DatabaseError, DirectoryClient, ProjectTx, statements};
use crate::ledger::store::{digest, unreadable};

statements! {
    SERVICE_TOKEN = "select digest, projects, kids from directory_service_token($1)";
    OPERATOR = "select digest, project_id, behalf, role, local from directory_operator($1)";
    API_KEY = "select digest, project_id, key_id from directory_api_key($1)";
    IS_LIVE = "select true from credentials where project_id = $1 and key_id = $2 and revoked_at is null";
    INSERT_CREDENTIAL = "insert into credentials (project_id, key_id, digest, agent, principal, created_at) \
                         values ($1, $2, $3, $4, $5, $6)";
    REVOKE_CREDENTIAL = "update credentials set revoked_at = $3 \
                         where project_id = $1 and key_id = $2 and revoked_at is null";
}

pub(super) async fn service_token(
    directory: &DirectoryClient<'_>,
    asked: Digest,
) -> Result<Option<(Digest, ServiceToken)>, DatabaseError> {
    let Some(row) = directory.ask(SERVICE_TOKEN, &[&asked.bytes().as_slice()]).await? else {
        return Ok(None);
    };
    let projects: Vec<Uuid> = row.try_get("projects")?;
    let kids: Vec<&str> = row.try_get("kids")?;
    let kids: Result<Vec<Thumbprint>, _> = kids.iter().map(|kid| kid.parse()).collect();
    let token = ServiceToken {
        projects: projects.into_iter().map(ProjectId::from_uuid).collect(),
        kids: kids.map_err(unreadable)?,
    };
    Ok(Some((digest(row.try_get("digest")?)?, token)))
}

pub(super) async fn api_key(
    directory: &DirectoryClient<'_>,
    asked: Digest,
) -> Result<Option<(Digest, ProjectId, KeyId)>, DatabaseError> {
    let Some(row) = directory.ask(API_KEY, &[&asked.bytes().as_slice()]).await? else { return Ok(None) };
    let project = ProjectId::from_uuid(row.try_get("project_id")?);
    let key = KeyId::from_uuid(row.try_get("key_id")?);
    Ok(Some((digest(row.try_get("digest")?)?, project, key)))
}

pub(super) async fn operator(
    directory: &DirectoryClient<'_>,
    asked: Digest,
) -> Result<Option<(Digest, Operator)>, DatabaseError> {
    let Some(row) = directory.ask(OPERATOR, &[&asked.bytes().as_slice()]).await? else { return Ok(None) };
    let operator = Operator {
        project: ProjectId::from_uuid(row.try_get("project_id")?),
        behalf: row.try_get("behalf")?,
        role: row.try_get::<_, &str>("role")?.parse().map_err(unreadable)?,
        by: if row.try_get("local")? { AnsweredBy::Local } else { AnsweredBy::Login },
    };
    Ok(Some((digest(row.try_get("digest")?)?, operator)))
}

pub(super) async fn is_live(tx: &ProjectTx<'_>, key: KeyId) -> Result<bool, DatabaseError> {
    Ok(tx.maybe_row(IS_LIVE, &[&tx.project().uuid(), &key.uuid()]).await?.is_some())
}

pub(crate) async fn insert_credential(
    tx: &ProjectTx<'_>,
    key: KeyId,
    secret: Digest,
    agent: AgentId,
    principal: Option<&str>,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 6] = [
        &tx.project().uuid(),
        &key.uuid(),
        &secret.bytes().as_slice(),
        &agent.uuid(),
        &principal,
        &at.millis(),
    ];
    tx.change(1, INSERT_CREDENTIAL, &parameters).await
}

pub(crate) async fn revoke_credential(
    tx: &ProjectTx<'_>,
    key: KeyId,
    at: Timestamp,
) -> Result<(), DatabaseError> {
    tx.change(1, REVOKE_CREDENTIAL, &[&tx.project().uuid(), &key.uuid(), &at.millis()]).await
}
