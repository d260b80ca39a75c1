//! What never changes about a project.

use counterfoil_core::id::ProjectId;
use counterfoil_core::statement::{Environment, Verdict};

use super::read::unreadable;
use crate::database::{DatabaseError, DirectoryClient, ProjectTx, statements};
use crate::ledger::project::Project;

statements! {
    NEXT_PROJECT = "select slot, project_id from directory_next_project($1)";
    PROJECT = "select issuer, name, env, base_verdict, disclosure_key, grants_nonce from projects \
               where project_id = $1";
    INSERT_PROJECT = "insert into projects (project_id, slot, public_id, issuer, name, env, base_verdict, \
                      disclosure_key, grants_nonce, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
}

pub(crate) async fn read_project(tx: &ProjectTx<'_>) -> Result<Option<Project>, DatabaseError> {
    let Some(row) = tx.maybe_row(PROJECT, &[&tx.project().uuid()]).await? else { return Ok(None) };
    let base_verdict = match row.try_get("base_verdict")? {
        "STEP_UP" => Verdict::StepUp,
        _ => Verdict::Deny,
    };
    let env = match row.try_get("env")? {
        "live" => Environment::Live,
        _ => Environment::Test,
    };
    Ok(Some(Project {
        id: tx.project(),
        issuer: row.try_get::<_, &str>("issuer")?.parse().map_err(unreadable)?,
        name: row.try_get("name")?,
        env,
        base_verdict,
        disclosure_key: row.try_get("disclosure_key")?,
        grants_nonce: row.try_get("grants_nonce")?,
    }))
}

/// A project that nobody has seen yet.
pub(crate) async fn insert_project(
    tx: &ProjectTx<'_>,
    project: &Project,
    created_at: i64,
) -> Result<(), DatabaseError> {
    let slot = i64::try_from(project.issuer.slot()).map_err(unreadable)?;
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 10] = [
        &project.id.uuid(),
        &slot,
        &project.issuer.public_id().to_string(),
        &project.issuer.to_string(),
        &project.name,
        &project.env.as_str(),
        &project.base_verdict.as_str(),
        &project.disclosure_key,
        &project.grants_nonce,
        &created_at,
    ];
    tx.change(1, INSERT_PROJECT, &parameters).await
}

/// Every project, by slot.
pub(crate) async fn all_projects(directory: &DirectoryClient<'_>) -> Result<Vec<ProjectId>, DatabaseError> {
    let mut last = BEFORE_THE_FIRST;
    projects_after(directory, &mut last).await
}

/// Comes before every slot.
pub(crate) const BEFORE_THE_FIRST: i64 = -1;

/// The projects after a slot, which becomes that of the last one. Asked one by one: the directory answers with one row.
pub(crate) async fn projects_after(
    directory: &DirectoryClient<'_>,
    last: &mut i64,
) -> Result<Vec<ProjectId>, DatabaseError> {
    let mut projects = Vec::new();
    while let Some(row) = directory.ask(NEXT_PROJECT, &[&*last]).await? {
        *last = row.try_get(0)?;
        projects.push(ProjectId::from_uuid(row.try_get(1)?));
    }
    Ok(projects)
}
