//! Ledgers in a plain-text `pg_dump`: the rows between `COPY public.entries (…) FROM stdin;` and `\.`.
//!
//! Promised: no database is needed and nothing in the file is run. The file is read once to find the rows, then each
//! row where it lies; a table that stands there twice is refused. Not promised: custom, directory or `--inserts` dumps,
//! which are refused; nor what statements beside the COPY blocks would do to a database that ran them.

mod copy;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, bail};
use counterfoil_core::audit::StoredTombstone;
use counterfoil_core::id::ProjectId;
use uuid::Uuid;

use super::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, ProjectRow, SessionRow, Stored};
use copy::{Fields, block};

/// The tables of a ledger, and the column that orders the rows of each.
const TABLES: [(&str, Option<&str>); 8] = [
    ("projects", None),
    ("heads", None),
    ("entries", Some("seq")),
    ("checkpoints", Some("size")),
    ("signing_keys", Some("introduced")),
    ("documents", Some("seq")),
    ("tombstones", Some("seq")),
    (SESSIONS, None),
];
/// Dumps from before sessions were counted have no such table.
const SESSIONS: &str = "sessions";

pub struct Dump {
    file: BufReader<File>,
    tables: BTreeMap<&'static str, Table>,
    project: Option<Uuid>,
    entries: usize,
    checkpoints: usize,
}

/// Where the rows of a table lie in the file: by project, in the order of the key.
#[derive(Default)]
struct Table {
    columns: Vec<String>,
    rows: BTreeMap<Uuid, Vec<(i64, u64)>>,
}

impl Dump {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("`{}`", path.display()))?;
        let mut file = BufReader::new(file);
        if file.fill_buf()?.starts_with(b"PGDMP") {
            bail!("`{}` is a custom dump; make a plain one: pg_dump --format=plain", path.display());
        }
        let tables = find(&mut file).with_context(|| format!("`{}`", path.display()))?;
        for (name, _) in TABLES {
            if !tables.contains_key(name) && name != SESSIONS {
                bail!("`{}` has no COPY block of table {name}: is it a plain pg_dump?", path.display());
            }
        }
        Ok(Self { file, tables, project: None, entries: 0, checkpoints: 0 })
    }

    fn rows(&mut self, table: &'static str) -> anyhow::Result<Vec<Fields>> {
        let project = self.project.context("no project was entered")?;
        let count = self.tables.get(table).and_then(|table| table.rows.get(&project)).map_or(0, Vec::len);
        (0..count).filter_map(|nth| self.row(table, project, nth).transpose()).collect()
    }

    fn row(&mut self, name: &'static str, project: Uuid, nth: usize) -> anyhow::Result<Option<Fields>> {
        let table = &self.tables[name];
        let Some((_, offset)) = table.rows.get(&project).and_then(|rows| rows.get(nth)) else {
            return Ok(None);
        };
        let here = self.file.stream_position()?;
        let forward = i64::try_from(*offset)? - i64::try_from(here)?;
        self.file.seek_relative(forward)?;
        let mut line = Vec::new();
        self.file.read_until(b'\n', &mut line)?;
        Fields::split(&table.columns, &line).with_context(|| format!("table {name}, byte {offset}")).map(Some)
    }
}

/// One pass over the file.
fn find(file: &mut BufReader<File>) -> anyhow::Result<BTreeMap<&'static str, Table>> {
    let mut tables = BTreeMap::new();
    let (mut line, mut offset) = (Vec::new(), 0u64);
    let mut open: Option<Begun> = None;
    loop {
        line.clear();
        let read = file.read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        match &mut open {
            Some(_) if line.trim_ascii_end() == b"\\." => {
                if let Some((name, _, table)) = open.take()
                    && tables.insert(name, table).is_some()
                {
                    bail!("has more than one COPY block of table {name}: a database would read them all");
                }
            }
            Some((name, key, table)) => {
                table.note(*key, &line, offset).with_context(|| format!("table {name}, byte {offset}"))?;
            }
            None => open = begin(&line)?,
        }
        offset += read as u64;
    }
    if let Some((name, ..)) = open {
        bail!("ends in the middle of table {name}");
    }
    for table in tables.values_mut() {
        table.rows.values_mut().for_each(|rows| rows.sort_unstable());
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(tables)
}

type Begun = (&'static str, Option<&'static str>, Table);

fn begin(line: &[u8]) -> anyhow::Result<Option<Begun>> {
    let Some((schema, named, columns)) = block(line) else { return Ok(None) };
    let Some((name, key)) = TABLES.into_iter().find(|(name, _)| *name == named) else { return Ok(None) };
    if schema.is_some_and(|schema| schema != "public") {
        bail!("has a table {name} of another schema than public");
    }
    Ok(Some((name, key, Table { columns, rows: BTreeMap::new() })))
}

impl Table {
    fn note(&mut self, key: Option<&str>, line: &[u8], offset: u64) -> anyhow::Result<()> {
        let fields = Fields::split(&self.columns, line)?;
        let key = key.map_or(Ok(0), |key| fields.number(key))?;
        self.rows.entry(fields.uuid("project_id")?).or_default().push((key, offset));
        Ok(())
    }
}

impl Stored for Dump {
    fn projects(&mut self) -> anyhow::Result<Vec<ProjectRow>> {
        let ids: Vec<Uuid> = self.tables["projects"].rows.keys().copied().collect();
        let mut found = Vec::new();
        for id in ids {
            let row = self.row("projects", id, 0)?.context("a project that was found has a row")?;
            found.push(ProjectRow {
                id: ProjectId::from_uuid(id),
                issuer: row.text("issuer")?,
                slot: row.number("slot")?,
                public_id: row.text("public_id")?,
                retention_days: row.later_text("retention_days")?,
                visibility: row.later_text("visibility")?,
            });
        }
        Ok(found)
    }

    fn enter(&mut self, project: &ProjectRow) -> anyhow::Result<()> {
        (self.project, self.entries, self.checkpoints) = (Some(project.id.uuid()), 0, 0);
        Ok(())
    }

    fn tombstones(&mut self) -> anyhow::Result<Vec<StoredTombstone>> {
        let rows = self.rows("tombstones")?;
        let read = |row: &Fields| -> anyhow::Result<StoredTombstone> {
            let (seq, first) = (row.number("seq")?, row.number("first_seq")?);
            Ok(StoredTombstone { seq, first, last: row.number("last_seq")? })
        };
        rows.iter().map(read).collect()
    }

    fn keys(&mut self) -> anyhow::Result<Vec<KeyRow>> {
        self.rows("signing_keys")?.iter().map(copy::key).collect()
    }

    fn documents(&mut self) -> anyhow::Result<Vec<DocumentRow>> {
        self.rows("documents")?.iter().map(copy::document).collect()
    }

    fn sessions(&mut self) -> anyhow::Result<Vec<SessionRow>> {
        self.rows(SESSIONS)?.iter().map(copy::session).collect()
    }

    fn head(&mut self) -> anyhow::Result<Option<HeadRow>> {
        self.rows("heads")?.first().map(copy::head).transpose()
    }

    fn next_entry(&mut self) -> anyhow::Result<Option<EntryRow>> {
        let project = self.project.context("no project was entered")?;
        let row = self.row("entries", project, self.entries)?;
        self.entries += 1;
        row.as_ref().map(copy::entry).transpose()
    }

    fn next_checkpoint(&mut self) -> anyhow::Result<Option<CheckpointRow>> {
        let project = self.project.context("no project was entered")?;
        let row = self.row("checkpoints", project, self.checkpoints)?;
        self.checkpoints += 1;
        row.as_ref().map(copy::checkpoint).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(copies: &[&str]) -> anyhow::Result<Dump> {
        let file = tempfile::NamedTempFile::new()?;
        let rows = "0192f2a4-0000-7000-8000-000000000001\t7\n\\.\n";
        let key =
            |name: &str| TABLES.iter().find(|(table, _)| name.ends_with(table)).and_then(|(_, key)| *key);
        let block = |name: &&str| {
            format!("COPY {name} (project_id, {}) FROM stdin;\n{rows}", key(name).unwrap_or("n"))
        };
        std::fs::write(file.path(), copies.iter().map(block).collect::<String>())?;
        Dump::open(file.path())
    }

    #[test]
    fn a_dump_has_one_reading() {
        let tables = TABLES.map(|(name, _)| format!("public.{name}"));
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        assert!(opened(&tables).is_ok());

        for (second, why) in [("public.entries", "more than one"), ("shadow.entries", "schema")] {
            let twice: Vec<&str> = tables.iter().copied().chain([second]).collect();
            let refused = opened(&twice).err().map(|error| format!("{error:#}")).unwrap_or_default();
            assert!(refused.contains(why), "{second}: {refused}");
        }
    }
}
