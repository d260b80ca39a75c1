//! The snapshot that gateways judge by.

use std::time::{Duration, Instant};

use counterfoil_core::control::{Documents, Grants, Snapshot, SnapshotKeys};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProjectId;
use counterfoil_core::key::Purpose;
use counterfoil_core::statement::PublishedType;

use super::store;
use crate::clock;
use crate::database::{DatabaseError, ProjectTx};
use crate::grants;
use crate::keys;
use crate::ledger::head::Head;
use crate::ledger::store::{read_head, unreadable};
use crate::ledger::{AppendError, Ledger, Project};

/// How often a waiting gateway's project is looked at: a kill must be followed within two seconds.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The snapshot as soon as its version is not the `known` one, or after `wait` as it then is.
pub(crate) async fn follow(
    ledger: &Ledger,
    project: ProjectId,
    known: Option<Digest>,
    wait: Duration,
) -> Result<Snapshot, AppendError> {
    let began = Instant::now();
    let mut last = None;
    loop {
        let (stamp, snapshot) = look(ledger, project, last).await?;
        if let Some(snapshot) = snapshot {
            let news = known != Some(snapshot.version);
            if news || began.elapsed() >= wait {
                return Ok(snapshot);
            }
        } else if began.elapsed() >= wait {
            // Unchanged since the last look; read it once more for the answer.
            last = None;
            continue;
        }
        last = Some(stamp);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The stamp, and the snapshot if the stamp is not `last`.
async fn look(
    ledger: &Ledger,
    id: ProjectId,
    last: Option<store::Stamp>,
) -> Result<(store::Stamp, Option<Snapshot>), AppendError> {
    let project = ledger.project(id).await?;
    let mut client = ledger.database().app().await?;
    let tx = client.begin(id).await?;
    let stamp = store::stamp(&tx, clock::now()).await?.ok_or(AppendError::NoSuchProject)?;
    if last == Some(stamp) {
        return Ok((stamp, None));
    }
    let head = read_head(&tx).await?.ok_or(AppendError::NoSuchProject)?;
    Ok((stamp, Some(read(&tx, &project, &head).await?)))
}

async fn read(tx: &ProjectTx<'_>, project: &Project, head: &Head) -> Result<Snapshot, DatabaseError> {
    let rows = keys::all(tx).await?;
    let now = clock::now();
    let snapshot = Snapshot {
        v: 1,
        version: Digest::of(b""),
        ledger_time: now,
        project: project.id,
        iss: project.issuer.clone(),
        env: project.env,
        control: head.control,
        floor: head.floor,
        generation: head.generation,
        killed: head.killed,
        stopped: head.stopped.iter().cloned().collect(),
        breakglass_until: head.breakglass_until.filter(|until| *until > now),
        shadow_until: head.shadow_until.filter(|until| *until > now),
        base_verdict: project.base_verdict,
        policy: head.documents.policy,
        documents: documents(tx, head).await?,
        grants: Grants {
            v: 1,
            nonce: project.grants_nonce.parse().map_err(unreadable)?,
            grants: grants::store::standing(tx, clock::now()).await?,
        },
        disclosure_key: serde_json::from_str(&project.disclosure_key).map_err(unreadable)?,
        credentials: store::credentials(tx).await?,
        keys: SnapshotKeys {
            log: keys::in_force(&rows, Purpose::Log),
            ledger: keys::in_force(&rows, Purpose::Ledger),
            decision: keys::in_force(&rows, Purpose::Decision),
            capability: keys::in_force(&rows, Purpose::Capability),
        },
    };
    Ok(snapshot.with_version())
}

async fn documents(tx: &ProjectTx<'_>, head: &Head) -> Result<Option<Documents>, DatabaseError> {
    let (Some(registry), Some(rules)) = (head.documents.registry, head.documents.rules) else {
        return Ok(None);
    };
    Ok(Some(Documents {
        registry: store::document(tx, PublishedType::Registry, registry).await?,
        rules: store::document(tx, PublishedType::Rules, rules).await?,
    }))
}
