//! What stands in a world.

use super::*;

impl World {
    /// Every entry: number, time, body.
    pub(in crate::reconciliation::tests) async fn bodies(&self) -> Vec<Statement> {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let read =
            crate::reconciliation::store::entries::batch(&tx, 0, i64::MAX, i64::MAX.unsigned_abs()).await;
        let all: Vec<u64> = read.unwrap().iter().map(|entered| entered.entry.seq).collect();
        let read = crate::reconciliation::store::entries::at(&tx, &all).await.unwrap();
        read.into_iter().map(|entered| entered.statement.expect("a body")).collect()
    }

    /// Past row-level security, to look at all rows.
    pub(in crate::reconciliation::tests) async fn superuser(
        &self,
    ) -> (
        tokio_postgres::Client,
        tokio_postgres::Connection<tokio_postgres::Socket, tokio_postgres::tls::NoTlsStream>,
    ) {
        cluster().await.admin("compared").connect(tokio_postgres::NoTls).await.unwrap()
    }

    /// Every finding that stands, cleared or not: code, and what it is about.
    pub(in crate::reconciliation::tests) async fn findings(&self) -> Vec<(String, Digest)> {
        let findings = self.bodies().await.into_iter().filter_map(|statement| match statement {
            Statement::Finding(said) => Some((said.code.as_str().to_owned(), said.statement.unwrap())),
            _ => None,
        });
        findings.collect()
    }

    /// Clearances: code, and what came.
    pub(in crate::reconciliation::tests) async fn clearances(&self) -> Vec<(String, Digest)> {
        let cleared = self.bodies().await.into_iter().filter_map(|statement| match statement {
            Statement::Clearance(said) => Some((said.code.as_str().to_owned(), said.statement)),
            _ => None,
        });
        cleared.collect()
    }

    /// Account and status of a call as it was last compared, and when that may change.
    pub(in crate::reconciliation::tests) async fn stands(&self, call: Call) -> (String, String, Option<i64>) {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let named = [(call.action, call.decision)];
        let kept = crate::reconciliation::store::matters::named(&tx, &named).await.unwrap().remove(0);
        (kept.account, kept.status, kept.again_after.map(Timestamp::millis))
    }

    /// The sums are the sums of the rows, there is a row for every decision, and every finding has one.
    pub(in crate::reconciliation::tests) async fn assert_sums(&self) {
        let (client, driver) = self.superuser().await;
        tokio::spawn(driver);
        let id = self.id().uuid();
        let sums =
            "select account, status, count(*) from matters where project_id = $1 group by 1, 2 order by 1, 2";
        let kept =
            "select account, status, calls from tallies where project_id = $1 and calls > 0 order by 1, 2";
        let read = async |sql: &str| -> Vec<(String, String, i64)> {
            let rows = client.query(sql, &[&id]).await.unwrap();
            rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
        };
        assert_eq!(read(sums).await, read(kept).await);
        let apart = "select (select count(*) from entries where project_id = $1 and kind = 'decision'), \
                     (select count(*) from matters where project_id = $1), \
                     (select count(*) from entries where project_id = $1 and kind = 'finding'), \
                     (select count(*) from findings where project_id = $1)";
        let row = client.query_one(apart, &[&id]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), row.get::<_, i64>(1), "a row for every decision");
        assert_eq!(row.get::<_, i64>(2), row.get::<_, i64>(3), "a row for every finding");
    }

    /// Size and root of the record.
    pub(in crate::reconciliation::tests) async fn head(&self) -> (u64, counterfoil_core::tree::Hash) {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        let head = crate::ledger::store::read_head(&tx).await.unwrap().unwrap();
        (head.size(), head.root())
    }

    /// How far it was compared.
    pub(in crate::reconciliation::tests) async fn upto(&self) -> u64 {
        let mut client = self.ledger.database().app().await.unwrap();
        let tx = client.begin(self.id()).await.unwrap();
        crate::reconciliation::store::position::read(&tx).await.unwrap().unwrap().upto
    }
}
