//! Ledgers in Postgres, read by the auditor role in one read-only REPEATABLE READ transaction: head, entries and
//! checkpoints are of the same moment, however long the reading takes.

mod store;

use std::collections::VecDeque;
use std::path::Path;

use anyhow::{Context, bail};
use counterfoil_core::audit::StoredTombstone;
use counterfoil_core::id::ProjectId;
use counterfoil_evidence::config::Config;
use postgres::{Client, IsolationLevel, NoTls, Transaction};

use super::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, ProjectRow, SessionRow, Stored};

const AUDITOR: &str = "counterfoil_auditor";

/// Rows fetched at once. A body is at most 1.5 MiB, most are one or two KiB.
const PAGE: i64 = 256;

/// Opens what an operator names: an evidence.toml, or a connection string such as `host=/run/postgresql dbname=…`.
pub fn connect(database: &str) -> anyhow::Result<Client> {
    if Path::new(database).is_file() {
        return connect_as_auditor(&Config::from_file(Path::new(database))?);
    }
    if !database.contains('=') && !database.contains("://") {
        bail!("`{database}` is neither a file nor a connection string");
    }
    Client::connect(database, NoTls).context("the database does not answer")
}

fn connect_as_auditor(config: &Config) -> anyhow::Result<Client> {
    let database = &config.database;
    let mut client = postgres::Config::new();
    client.host(&database.host).port(database.port).dbname(&database.name).user(AUDITOR);
    if let Some(path) = &database.password_file {
        let password = std::fs::read_to_string(path).with_context(|| format!("`{}`", path.display()))?;
        client.password(password.trim_end());
    }
    client.connect(NoTls).context("the database does not answer")
}

pub struct Database<'c> {
    tx: Transaction<'c>,
    project: Option<ProjectId>,
    entries: Pages<EntryRow>,
    checkpoints: Pages<CheckpointRow>,
}

/// Rows that were fetched and not yet asked for, and the key of the last one fetched.
struct Pages<T> {
    waiting: VecDeque<T>,
    last: i64,
    ended: bool,
}

impl<T> Pages<T> {
    fn after(last: i64) -> Self {
        Self { waiting: VecDeque::new(), last, ended: false }
    }

    fn next(
        &mut self,
        fetch: impl FnOnce(i64) -> anyhow::Result<Vec<T>>,
        key: impl Fn(&T) -> i64,
    ) -> anyhow::Result<Option<T>> {
        if self.waiting.is_empty() && !self.ended {
            self.waiting = fetch(self.last)?.into();
            self.ended = self.waiting.is_empty();
        }
        let next = self.waiting.pop_front();
        self.last = next.as_ref().map_or(self.last, key);
        Ok(next)
    }
}

impl<'c> Database<'c> {
    pub fn open(client: &'c mut Client) -> anyhow::Result<Self> {
        let start =
            client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
        let mut tx = start.start()?;
        tx.batch_execute(store::PATIENT)?;
        Ok(Self { tx, project: None, entries: Pages::after(-1), checkpoints: Pages::after(-1) })
    }

    /// Entries from `seq` on instead of from the first.
    pub fn skip_to(&mut self, seq: i64) {
        self.entries = Pages::after(seq - 1);
    }

    fn project(&self) -> anyhow::Result<uuid::Uuid> {
        self.project.map(|id| id.uuid()).context("no project was entered")
    }
}

impl Stored for Database<'_> {
    fn projects(&mut self) -> anyhow::Result<Vec<ProjectRow>> {
        let mut found = Vec::new();
        let mut after = i64::MIN;
        while let Some(row) = self.tx.query_opt(store::NEXT_PROJECT, &[&after])? {
            after = row.try_get(0)?;
            let id = ProjectId::from_uuid(row.try_get(1)?);
            self.tx.execute(store::ENTER, &[&id.uuid().to_string()])?;
            found.push(store::project(&mut self.tx, id, after)?);
        }
        Ok(found)
    }

    fn enter(&mut self, project: &ProjectRow) -> anyhow::Result<()> {
        self.tx.execute(store::ENTER, &[&project.id.uuid().to_string()])?;
        self.project = Some(project.id);
        (self.entries, self.checkpoints) = (Pages::after(-1), Pages::after(-1));
        Ok(())
    }

    fn tombstones(&mut self) -> anyhow::Result<Vec<StoredTombstone>> {
        let project = self.project()?;
        store::tombstones(&mut self.tx, project)
    }

    fn keys(&mut self) -> anyhow::Result<Vec<KeyRow>> {
        let project = self.project()?;
        store::keys(&mut self.tx, project)
    }

    fn documents(&mut self) -> anyhow::Result<Vec<DocumentRow>> {
        let project = self.project()?;
        store::documents(&mut self.tx, project)
    }

    fn sessions(&mut self) -> anyhow::Result<Vec<SessionRow>> {
        let project = self.project()?;
        store::sessions(&mut self.tx, project)
    }

    fn head(&mut self) -> anyhow::Result<Option<HeadRow>> {
        let project = self.project()?;
        store::head(&mut self.tx, project)
    }

    fn next_entry(&mut self) -> anyhow::Result<Option<EntryRow>> {
        let project = self.project()?;
        let tx = &mut self.tx;
        self.entries.next(|last| store::entries(tx, project, last, PAGE), |row| row.seq)
    }

    fn next_checkpoint(&mut self) -> anyhow::Result<Option<CheckpointRow>> {
        let project = self.project()?;
        let tx = &mut self.tx;
        self.checkpoints.next(|last| store::checkpoints(tx, project, last, PAGE), |row| row.size)
    }
}
