//! SQL of findings: an index of the entries that say them.

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::statement::FindingCode;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::database::{DatabaseError, ProjectTx, statements};
use crate::ledger::store::{digest, number, signed, unreadable};

statements! {
    // Two halves, because no index answers `is not distinct from`.
    STANDING = "select f.seq, f.digest, f.code, f.action, f.statement, f.cleared is not null as cleared \
                from unnest($2::uuid[], $3::text[], $4::bytea[]) as n (action, code, statement) \
                join findings f on f.project_id = $1 and f.action = n.action and f.code = n.code \
                and f.statement = n.statement \
                union all \
                select f.seq, f.digest, f.code, f.action, f.statement, f.cleared is not null \
                from unnest($2::uuid[], $3::text[], $4::bytea[]) as n (action, code, statement) \
                join findings f on f.project_id = $1 and f.action is null and n.action is null \
                and f.code = n.code and f.statement = n.statement";
    KEEP = "insert into findings (project_id, seq, digest, code, action, statement, about, apart) \
            select $1, f.* from unnest($2::bigint[], $3::bytea[], $4::text[], $5::uuid[], $6::bytea[], $7::bigint[], \
            $8::boolean[]) as f";
    NOTE = "insert into findings (project_id, seq, digest, code, action, statement, about, apart) \
            select $1, f.* from unnest($2::bigint[], $3::bytea[], $4::text[], $5::uuid[], $6::bytea[], $7::bigint[], \
            $8::boolean[]) as f on conflict do nothing";
    CLEAR = "update findings set cleared = c.seq from unnest($2::bigint[], $3::bigint[]) as c (finding, seq) \
             where project_id = $1 and findings.seq = c.finding and findings.cleared is null";
    NOTE_CLEARED = "update findings set cleared = c.seq from unnest($2::bytea[], $3::bigint[]) as c (digest, seq) \
                    where project_id = $1 and findings.digest = c.digest and findings.cleared is null";
    NOTE_RESOLVED = "update findings set resolved = greatest(coalesce(findings.resolved, 0), r.seq) \
                     from (select u.digest, max(u.seq) as seq from unnest($2::bytea[], $3::bigint[]) as u (digest, seq) \
                     group by u.digest) r where project_id = $1 and findings.digest = r.digest";
    RESOLVE = "update findings set resolved = $3 where project_id = $1 and seq = $2";
    BY_SEQ = "select seq, digest from findings where project_id = $1 and seq = $2";
    BY_DIGEST = "select seq, digest from findings where project_id = $1 and digest = $2";
    LIST = "select f.seq, f.digest, f.code, f.action, f.about, f.apart, f.cleared, f.resolved, e.at \
            from findings f join entries e on e.project_id = f.project_id and e.seq = f.seq \
            where f.project_id = $1 and f.seq < $2 order by f.seq desc limit $3";
}

/// What makes a finding the same as another.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(in crate::reconciliation) struct Name {
    pub(in crate::reconciliation) action: Option<ActionId>,
    pub(in crate::reconciliation) code: FindingCode,
    pub(in crate::reconciliation) statement: Digest,
}

/// A finding that stands.
#[derive(Clone, Debug)]
pub(in crate::reconciliation) struct Standing {
    pub(in crate::reconciliation) name: Name,
    pub(in crate::reconciliation) seq: u64,
    pub(in crate::reconciliation) digest: Digest,
    pub(in crate::reconciliation) cleared: bool,
}

/// A row to be.
#[derive(Clone, Debug)]
pub(in crate::reconciliation) struct NewRow {
    pub(in crate::reconciliation) seq: u64,
    pub(in crate::reconciliation) digest: Digest,
    pub(in crate::reconciliation) code: FindingCode,
    pub(in crate::reconciliation) action: Option<ActionId>,
    pub(in crate::reconciliation) statement: Option<Digest>,
    pub(in crate::reconciliation) about: Option<u64>,
}

/// Findings about forged or foreign statements: capped, and shown by themselves.
pub(in crate::reconciliation) fn is_apart(code: FindingCode) -> bool {
    matches!(
        code,
        FindingCode::ExecutionWithoutDecision
            | FindingCode::InvalidVendorSignature
            | FindingCode::RevokedKey
            | FindingCode::WrongSigner
    )
}

pub(in crate::reconciliation) async fn standing(
    tx: &ProjectTx<'_>,
    names: &[Name],
) -> Result<Vec<Standing>, DatabaseError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let actions: Vec<Option<Uuid>> = names.iter().map(|name| name.action.map(|id| id.uuid())).collect();
    let codes: Vec<&str> = names.iter().map(|name| name.code.as_str()).collect();
    let statements: Vec<&[u8]> = names.iter().map(|name| name.statement.bytes().as_slice()).collect();
    let parameters: [&(dyn ToSql + Sync); 4] = [&tx.project().uuid(), &actions, &codes, &statements];
    let rows = tx.rows(STANDING, &parameters).await?;
    rows.iter()
        .map(|row| {
            let name = Name {
                action: row.try_get::<_, Option<Uuid>>("action")?.map(ActionId::from_uuid),
                code: code(row.try_get("code")?)?,
                statement: digest(row.try_get("statement")?)?,
            };
            Ok(Standing {
                name,
                seq: number(row.try_get("seq")?)?,
                digest: digest(row.try_get("digest")?)?,
                cleared: row.try_get("cleared")?,
            })
        })
        .collect()
}

fn code(text: &str) -> Result<FindingCode, DatabaseError> {
    let known = FindingCode::ALL.iter().find(|code| code.as_str() == text);
    known.copied().ok_or_else(|| unreadable(format!("`{text}` is no code of a finding")))
}

/// Rows of findings that this commit says. Fails if one of them stands already.
pub(in crate::reconciliation) async fn keep(
    tx: &ProjectTx<'_>,
    rows: &[NewRow],
) -> Result<(), DatabaseError> {
    if rows.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(rows)?;
    tx.change(rows.len() as u64, KEEP, &columns.parameters(&tx.project().uuid())).await
}

/// Rows of findings that entries say, as far as they are not there.
pub(in crate::reconciliation) async fn note(
    tx: &ProjectTx<'_>,
    rows: &[NewRow],
) -> Result<(), DatabaseError> {
    if rows.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(rows)?;
    tx.touch(NOTE, &columns.parameters(&tx.project().uuid())).await.map(drop)
}

struct Columns<'r> {
    seqs: Vec<i64>,
    digests: Vec<&'r [u8]>,
    codes: Vec<&'static str>,
    actions: Vec<Option<Uuid>>,
    statements: Vec<Option<&'r [u8]>>,
    about: Vec<Option<i64>>,
    apart: Vec<bool>,
}

impl<'r> Columns<'r> {
    fn of(rows: &'r [NewRow]) -> Result<Self, DatabaseError> {
        let bytes = |digest: &'r Digest| digest.bytes().as_slice();
        Ok(Self {
            seqs: rows.iter().map(|row| signed(row.seq)).collect::<Result<_, _>>()?,
            digests: rows.iter().map(|row| bytes(&row.digest)).collect(),
            codes: rows.iter().map(|row| row.code.as_str()).collect(),
            actions: rows.iter().map(|row| row.action.map(|action| action.uuid())).collect(),
            statements: rows.iter().map(|row| row.statement.as_ref().map(bytes)).collect(),
            about: rows.iter().map(|row| row.about.map(signed).transpose()).collect::<Result<_, _>>()?,
            apart: rows.iter().map(|row| is_apart(row.code)).collect(),
        })
    }

    fn parameters<'p>(&'p self, project: &'p Uuid) -> [&'p (dyn ToSql + Sync); 8] {
        [
            project,
            &self.seqs,
            &self.digests,
            &self.codes,
            &self.actions,
            &self.statements,
            &self.about,
            &self.apart,
        ]
    }
}

/// Findings by number, with the number of the clearance of each. Fails if one of them is closed already.
pub(in crate::reconciliation) async fn clear(
    tx: &ProjectTx<'_>,
    cleared: &[(u64, u64)],
) -> Result<(), DatabaseError> {
    if cleared.is_empty() {
        return Ok(());
    }
    let findings = cleared.iter().map(|(finding, _)| signed(*finding)).collect::<Result<Vec<_>, _>>()?;
    let seqs = cleared.iter().map(|(_, seq)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
    tx.change(cleared.len() as u64, CLEAR, &[&tx.project().uuid(), &findings, &seqs]).await
}

/// What clearances and resolutions say of findings, by digest.
pub(in crate::reconciliation) async fn note_ends(
    tx: &ProjectTx<'_>,
    cleared: &[(Digest, u64)],
    resolved: &[(Digest, u64)],
) -> Result<(), DatabaseError> {
    for (sql, ends) in [(NOTE_CLEARED, cleared), (NOTE_RESOLVED, resolved)] {
        if !ends.is_empty() {
            let digests: Vec<&[u8]> = ends.iter().map(|(digest, _)| digest.bytes().as_slice()).collect();
            let seqs = ends.iter().map(|(_, seq)| signed(*seq)).collect::<Result<Vec<_>, _>>()?;
            tx.touch(sql, &[&tx.project().uuid(), &digests, &seqs]).await?;
        }
    }
    Ok(())
}

/// A person's newest note on a finding.
pub(in crate::reconciliation) async fn resolve(
    tx: &ProjectTx<'_>,
    finding: u64,
    resolution: u64,
) -> Result<(), DatabaseError> {
    tx.change(1, RESOLVE, &[&tx.project().uuid(), &signed(finding)?, &signed(resolution)?]).await
}

pub(in crate::reconciliation) async fn by_seq(
    tx: &ProjectTx<'_>,
    seq: u64,
) -> Result<Option<(u64, Digest)>, DatabaseError> {
    place(tx.maybe_row(BY_SEQ, &[&tx.project().uuid(), &signed(seq)?]).await?)
}

pub(in crate::reconciliation) async fn by_digest(
    tx: &ProjectTx<'_>,
    wanted: Digest,
) -> Result<Option<(u64, Digest)>, DatabaseError> {
    place(tx.maybe_row(BY_DIGEST, &[&tx.project().uuid(), &wanted.bytes().as_slice()]).await?)
}

fn place(row: Option<tokio_postgres::Row>) -> Result<Option<(u64, Digest)>, DatabaseError> {
    row.map(|row| Ok((number(row.try_get(0)?)?, digest(row.try_get(1)?)?))).transpose()
}

/// A finding for an operator's eyes.
#[derive(Clone, Debug)]
pub struct Listed {
    pub seq: u64,
    pub at: counterfoil_core::time::Timestamp,
    pub digest: Digest,
    pub code: FindingCode,
    pub action: Option<ActionId>,
    pub about: Option<u64>,
    pub apart: bool,
    /// Numbers of the clearance, and of the newest resolution.
    pub cleared: Option<u64>,
    pub resolved: Option<u64>,
}

/// The newest below a number, newest first.
pub(in crate::reconciliation) async fn list(
    tx: &ProjectTx<'_>,
    below: u64,
    most: i64,
) -> Result<Vec<Listed>, DatabaseError> {
    let below = i64::try_from(below).unwrap_or(i64::MAX);
    let rows = tx.rows(LIST, &[&tx.project().uuid(), &below, &most]).await?;
    rows.iter()
        .map(|row| {
            let optional = |name: &str| -> Result<Option<u64>, DatabaseError> {
                row.try_get::<_, Option<i64>>(name)?.map(number).transpose()
            };
            Ok(Listed {
                seq: number(row.try_get("seq")?)?,
                at: crate::ledger::store::time(row.try_get("at")?)?,
                digest: digest(row.try_get("digest")?)?,
                code: code(row.try_get("code")?)?,
                action: row.try_get::<_, Option<Uuid>>("action")?.map(ActionId::from_uuid),
                about: optional("about")?,
                apart: row.try_get("apart")?,
                cleared: optional("cleared")?,
                resolved: optional("resolved")?,
            })
        })
        .collect()
}
