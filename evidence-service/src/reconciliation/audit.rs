//! What the self-audit asks of the comparison: its indexes against the entries that they are made from (P2, P4).
//!
//! Promised: a finding that was taken off the list, put on it or changed in it, a compared decision that is none or is
//! missing, and a sum that is not the sum of its rows, are named. Not promised: that a status was worked out right: a
//! verifier of a package works out each again.

use std::collections::BTreeMap;

use counterfoil_core::statement::Statement;

use super::store::audit::{self, Row};
use super::store::{entries, findings, position};
use crate::database::{DatabaseError, ProjectTx};

/// The first thing that is not right.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Misplaced {
    /// In words that a page may show.
    pub(crate) place: String,
    /// The entry that it is about.
    pub(crate) seq: Option<u64>,
}

/// None if everything is as the entries say.
pub(crate) async fn misplaced(tx: &ProjectTx<'_>) -> Result<Option<Misplaced>, DatabaseError> {
    let Some(position) = position::read(tx).await? else { return Ok(None) };
    if let Some(seq) = finding(tx, &position).await? {
        return Ok(Some(Misplaced { place: format!("list of findings, entry {seq}"), seq: Some(seq) }));
    }
    if let Some(seq) = audit::misplaced(tx).await? {
        return Ok(Some(Misplaced { place: format!("compared calls, entry {seq}"), seq: Some(seq) }));
    }
    let wrong = audit::a_sum_is_wrong(tx).await?;
    Ok(wrong.then(|| Misplaced { place: "sums of compared calls".to_owned(), seq: None }))
}

/// The first finding of which the list says something else than the entries.
async fn finding(tx: &ProjectTx<'_>, position: &position::Position) -> Result<Option<u64>, DatabaseError> {
    let said = said(tx, position.size).await?;
    let listed = audit::rows(tx, position.noted).await?;
    let listed: BTreeMap<u64, Row> = listed.into_iter().map(|row| (row.seq, row)).collect();
    let missing = said.iter().find(|(seq, row)| **seq < position.noted && listed.get(seq) != Some(row));
    let surplus = listed.keys().find(|seq| !said.contains_key(seq));
    Ok(missing.map(|(seq, _)| *seq).into_iter().chain(surplus.copied()).min())
}

/// The list as the entries make it.
async fn said(tx: &ProjectTx<'_>, size: u64) -> Result<BTreeMap<u64, Row>, DatabaseError> {
    let mut rows = BTreeMap::new();
    let mut places = BTreeMap::new();
    let mut from = 0;
    loop {
        let page = entries::notes(tx, from, PAGE, size).await?;
        let Some(last) = page.last() else { return Ok(rows) };
        from = last.entry.seq + 1;
        for entered in page {
            let entry = &entered.entry;
            match entered.statement {
                Some(Statement::Finding(said)) => {
                    places.insert(entry.body, entry.seq);
                    let row = Row {
                        seq: entry.seq,
                        digest: entry.body,
                        code: said.code.as_str().to_owned(),
                        action: said.action,
                        statement: said.statement,
                        about: said.seq,
                        apart: findings::is_apart(said.code),
                        cleared: None,
                        resolved: None,
                    };
                    rows.insert(entry.seq, row);
                }
                Some(Statement::Clearance(said)) => {
                    let row = places.get(&said.finding).and_then(|seq| rows.get_mut(seq));
                    if let Some(row) = row {
                        row.cleared.get_or_insert(entry.seq);
                    }
                }
                Some(Statement::Resolution(said)) => {
                    let row = places.get(&said.finding).and_then(|seq| rows.get_mut(seq));
                    if let Some(row) = row {
                        row.resolved = Some(entry.seq);
                    }
                }
                Some(_) | None => {}
            }
        }
    }
}

const PAGE: i64 = 256;
