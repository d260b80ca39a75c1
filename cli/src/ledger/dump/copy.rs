//! The text format of COPY: fields between tabs, `\N` for null, backslash escapes, bytea as `\\x…`.

use anyhow::{Context, bail};
use counterfoil_core::id::KeyId;
use uuid::Uuid;

use crate::ledger::{CheckpointRow, DocumentRow, EntryRow, HeadRow, KeyRow, SessionRow};

/// Schema, table and columns of a line `COPY public.entries (project_id, seq) FROM stdin;`.
pub(super) fn block(line: &[u8]) -> Option<(Option<String>, String, Vec<String>)> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (table, rest) = line.strip_prefix("COPY ")?.split_once(" (")?;
    let columns = rest.strip_suffix(") FROM stdin;")?;
    let plain = |name: &str| name.trim().trim_matches('"').to_owned();
    let (schema, table) = match table.rsplit_once('.') {
        Some((schema, table)) => (Some(plain(schema)), table),
        None => (None, table),
    };
    Some((schema, plain(table), columns.split(',').map(plain).collect()))
}

/// One row, by column.
pub(super) struct Fields(Vec<(String, Option<Vec<u8>>)>);

impl Fields {
    pub(super) fn split(columns: &[String], line: &[u8]) -> anyhow::Result<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let values: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        if values.len() != columns.len() {
            bail!("{} columns are named and {} stand there", columns.len(), values.len());
        }
        let fields = columns.iter().cloned().zip(values.into_iter().map(unescape));
        Ok(Self(fields.collect()))
    }

    fn maybe(&self, column: &str) -> anyhow::Result<Option<&[u8]>> {
        let found = self.0.iter().find(|(name, _)| name == column);
        let (_, value) = found.with_context(|| format!("no column {column}"))?;
        Ok(value.as_deref())
    }

    fn maybe_text(&self, column: &str) -> anyhow::Result<Option<String>> {
        let value = self.maybe(column)?.map(|bytes| String::from_utf8(bytes.to_vec()));
        value.transpose().with_context(|| format!("column {column} is not UTF-8"))
    }

    /// A column that older dumps do not have.
    pub(super) fn later_text(&self, column: &str) -> anyhow::Result<Option<String>> {
        if self.0.iter().any(|(name, _)| name == column) { self.maybe_text(column) } else { Ok(None) }
    }

    fn later_number(&self, column: &str) -> anyhow::Result<Option<i64>> {
        if self.0.iter().any(|(name, _)| name == column) { self.maybe_number(column) } else { Ok(None) }
    }

    pub(super) fn text(&self, column: &str) -> anyhow::Result<String> {
        self.maybe_text(column)?.with_context(|| format!("column {column} is null"))
    }

    fn maybe_number(&self, column: &str) -> anyhow::Result<Option<i64>> {
        let value = self.maybe_text(column)?.map(|text| text.parse::<i64>());
        value.transpose().with_context(|| format!("column {column} is not a number"))
    }

    pub(super) fn number(&self, column: &str) -> anyhow::Result<i64> {
        self.maybe_number(column)?.with_context(|| format!("column {column} is null"))
    }

    fn maybe_uuid(&self, column: &str) -> anyhow::Result<Option<Uuid>> {
        let value = self.maybe_text(column)?.map(|text| text.parse::<Uuid>());
        value.transpose().with_context(|| format!("column {column} is not a UUID"))
    }

    pub(super) fn uuid(&self, column: &str) -> anyhow::Result<Uuid> {
        self.maybe_uuid(column)?.with_context(|| format!("column {column} is null"))
    }

    fn maybe_bytes(&self, column: &str) -> anyhow::Result<Option<Vec<u8>>> {
        let value = self
            .maybe(column)?
            .map(|text| unhex(text).with_context(|| format!("column {column} is no bytea")));
        value.transpose()
    }

    fn bytes(&self, column: &str) -> anyhow::Result<Vec<u8>> {
        self.maybe_bytes(column)?.with_context(|| format!("column {column} is null"))
    }

    fn flag(&self, column: &str) -> anyhow::Result<bool> {
        match self.text(column)?.as_str() {
            "t" => Ok(true),
            "f" => Ok(false),
            other => bail!("column {column} is `{other}`, not t or f"),
        }
    }
}

fn unescape(field: &[u8]) -> Option<Vec<u8>> {
    if field == b"\\N" {
        return None;
    }
    let mut value = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied();
    while let Some(byte) = bytes.next() {
        let plain = match byte {
            b'\\' => match bytes.next() {
                Some(b'b') => 8,
                Some(b'f') => 12,
                Some(b'n') => b'\n',
                Some(b'r') => b'\r',
                Some(b't') => b'\t',
                Some(b'v') => 11,
                Some(other) => other,
                None => b'\\',
            },
            other => other,
        };
        value.push(plain);
    }
    Some(value)
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text.strip_prefix(b"\\x")?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

pub(super) fn entry(row: &Fields) -> anyhow::Result<EntryRow> {
    Ok(EntryRow {
        seq: row.number("seq")?,
        at: row.number("at")?,
        kind: row.text("kind")?,
        body_digest: row.bytes("body_digest")?,
        prev: row.bytes("prev")?,
        hash: row.bytes("hash")?,
        body: row.maybe_bytes("body")?,
        path: row.bytes("path")?,
        checkpoint_size: row.number("checkpoint_size")?,
        action: row.maybe_uuid("action")?,
        decision: row.maybe_bytes("decision")?,
        agent: row.maybe_uuid("agent")?,
        verdict: row.maybe_text("verdict")?,
        reason: row.maybe_text("reason")?,
        provider: row.maybe_text("provider")?,
        tool: row.maybe_text("tool")?,
        status: row.maybe_text("status")?,
    })
}

pub(super) fn checkpoint(row: &Fields) -> anyhow::Result<CheckpointRow> {
    let (size, root) = (row.number("size")?, row.bytes("root")?);
    Ok(CheckpointRow { size, root, at: row.number("at")?, note: row.text("note")? })
}

pub(super) fn document(row: &Fields) -> anyhow::Result<DocumentRow> {
    let (seq, kind) = (row.number("seq")?, row.text("kind")?);
    Ok(DocumentRow { seq, kind, digest: row.bytes("digest")?, text: row.text("text")? })
}

pub(super) fn session(row: &Fields) -> anyhow::Result<SessionRow> {
    Ok(SessionRow { key: KeyId::from_uuid(row.uuid("key_id")?), running: row.text("running")? })
}

pub(super) fn key(row: &Fields) -> anyhow::Result<KeyRow> {
    Ok(KeyRow {
        thumbprint: row.text("thumbprint")?,
        purpose: row.text("purpose")?,
        provider: row.maybe_text("provider")?,
        x: row.text("x")?,
        introduced: row.number("introduced")?,
        introduced_at: row.number("introduced_at")?,
        ended: row.maybe_number("ended")?,
        ended_at: row.maybe_number("ended_at")?,
        revoked: row.flag("revoked")?,
    })
}

pub(super) fn head(row: &Fields) -> anyhow::Result<HeadRow> {
    Ok(HeadRow {
        size: row.number("size")?,
        root: row.bytes("root")?,
        frontier: row.bytes("frontier")?,
        last_hash: row.bytes("last_hash")?,
        last_at: row.number("last_at")?,
        epoch_first: row.number("epoch_first")?,
        epoch_counts: row.text("epoch_counts")?,
        control: row.number("control")?,
        floor: row.number("floor")?,
        generation: row.number("gen")?,
        killed: row.flag("killed")?,
        policy: row.maybe_bytes("policy")?,
        registry: row.maybe_bytes("registry")?,
        rules: row.maybe_bytes("rules")?,
        checkpoint: row.text("checkpoint")?,
        stopped: row.later_text("stopped")?.unwrap_or_default(),
        breakglass_until: row.later_number("breakglass_until")?,
        shadow_until: row.later_number("shadow_until")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_as_postgres_wrote_it() {
        let header = b"COPY public.documents (project_id, seq, \"text\", digest) FROM stdin;\n";
        let (schema, table, columns) = block(header).expect("a COPY line");
        assert_eq!((schema.as_deref(), table.as_str(), columns.len()), (Some("public"), "documents", 4));

        let line = b"0192f2a4-0000-7000-8000-000000000001\t7\ta\\tb\\\\n\\n\\N\t\\\\x00ff\n";
        let row = Fields::split(&columns, line).expect("four fields");

        assert_eq!(row.number("seq").expect("a number"), 7);
        assert_eq!(row.text("text").expect("a text"), "a\tb\\n\nN");
        assert_eq!(row.bytes("digest").expect("a bytea"), [0, 255]);
        assert!(row.uuid("project_id").is_ok());
    }

    #[test]
    fn null_is_not_an_empty_text() {
        let columns = ["a".to_owned(), "b".to_owned()];
        let row = Fields::split(&columns, b"\\N\t\n").expect("two fields");
        assert_eq!(row.maybe_text("a").expect("there"), None);
        assert_eq!(row.maybe_text("b").expect("there"), Some(String::new()));
        assert!(row.text("a").is_err());
        assert!(Fields::split(&columns, b"one\n").is_err());
    }
}
