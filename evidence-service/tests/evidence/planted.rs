//! Entries and lists that other parts of the service write, put there as its own database role: what a page shows is
//! looked at without waiting for what fills it.

use counterfoil_core::envelope::Signed;
use counterfoil_core::key::{Ledger, SigningKey};
use serde::Serialize;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::deployment::{Deployment, connect, random_seed};

pub struct Planter {
    client: Client,
    project: Uuid,
    signer: SigningKey<Ledger>,
}

impl Planter {
    pub async fn new(deployment: &Deployment) -> Self {
        let client = connect(&deployment.config, "counterfoil_app").await;
        let project = deployment.id().uuid();
        let enter = format!("set counterfoil.project = '{project}'");
        client.batch_execute(&enter).await.expect("entered");
        Self { client, project, signer: SigningKey::from_seed(&random_seed()) }
    }

    /// An entry beyond the head, with a body of its own; the digest of that body.
    pub async fn entry<T: Serialize>(&self, seq: i64, kind: &str, body: T, action: Option<Uuid>) -> Vec<u8> {
        let signed = Signed::sign(body, &self.signer);
        let digest = signed.digest().bytes().to_vec();
        let insert = "insert into entries (project_id, seq, at, kind, body_digest, prev, hash, body, path, \
                      checkpoint_size, action) \
                      values ($1, $2, 1764500000000 + $2, $3, $4, $4, $4, $5, '', $2 + 1, $6)";
        self.run(insert, &[&self.project, &seq, &kind, &digest, &signed.bytes(), &action]).await;
        digest
    }

    /// A row of the list of findings.
    pub async fn finding(&self, row: FindingRow<'_>) {
        let insert = "insert into findings (project_id, seq, digest, code, action, about, apart, cleared, resolved) \
                      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let FindingRow { seq, digest, code, action, about, apart, cleared, resolved } = row;
        let parameters: [&(dyn ToSql + Sync); 9] =
            [&self.project, &seq, &digest, &code, &action, &about, &apart, &cleared, &resolved];
        self.run(insert, &parameters).await;
    }

    pub async fn run(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) {
        self.client
            .execute(statement, parameters)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    }
}

#[derive(Clone, Copy)]
pub struct FindingRow<'a> {
    pub seq: i64,
    pub digest: &'a [u8],
    pub code: &'a str,
    pub action: Option<Uuid>,
    pub about: Option<i64>,
    pub apart: bool,
    pub cleared: Option<i64>,
    pub resolved: Option<i64>,
}
