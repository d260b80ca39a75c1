//! What the self-audit asks of grants and holds: their rows against the entries that they are made from (P2, G5).
//!
//! Promised: a grant that was put there, kept longer, revived or taken away by hand is named, and so is a hold or an
//! answer to one that no entry says. Not promised: that it was not used before; each hour it is looked for, and every verifier of a
//! package asks for the answer.

use std::collections::BTreeMap;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Envelope;
use counterfoil_core::id::GrantId;
use counterfoil_core::statement::{GrantEvent, Statement};
use counterfoil_core::time::Timestamp;

use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::holds;
use crate::reconciliation::Misplaced;

/// A row of `grants`, as it stands or as the entries make it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Row {
    pub(super) grant: GrantId,
    pub(super) document: Digest,
    pub(super) until: Timestamp,
    pub(super) ended: Option<u64>,
}

/// The first row that is not as the entries say.
pub(crate) async fn misplaced(tx: &ProjectTx<'_>) -> Result<Option<Misplaced>, DatabaseError> {
    let place = |what: &str, seq| Misplaced { place: format!("{what}, entry {seq}"), seq: Some(seq) };
    let said = said(tx).await?;
    let stored = stored(tx).await?;
    let missing = said.iter().find(|(seq, row)| stored.get(seq) != Some(row)).map(|(seq, _)| *seq);
    let surplus = stored.keys().find(|seq| !said.contains_key(seq)).copied();
    if let Some(seq) = missing.into_iter().chain(surplus).min() {
        return Ok(Some(place("list of grants", seq)));
    }
    Ok(holds::store::misplaced(tx).await?.map(|seq| place("list of holds", seq)))
}

/// The rows as the entries make them.
async fn said(tx: &ProjectTx<'_>) -> Result<BTreeMap<u64, Row>, DatabaseError> {
    let (mut rows, mut standing) = (BTreeMap::new(), BTreeMap::new());
    let mut from = 0;
    loop {
        let page = store::entries(tx, from, PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(rows) };
        from = last + 1;
        for (seq, body) in page {
            let envelope = Envelope::parse(&body).map_err(crate::ledger::store::unreadable)?;
            match envelope.statement().map_err(crate::ledger::store::unreadable)? {
                Statement::Grant(said) => {
                    end(&mut rows, standing.remove(&said.grant), seq);
                    if said.event != GrantEvent::Removed {
                        standing.insert(said.grant, seq);
                        let (grant, document, until) = (said.grant, said.document, said.until);
                        rows.insert(seq, Row { grant, document, until, ended: None });
                    }
                }
                Statement::Kill(kill) if kill.scope.is_none() => {
                    for (_, stood) in std::mem::take(&mut standing) {
                        end(&mut rows, Some(stood), seq);
                    }
                }
                _ => {}
            }
        }
    }
}

fn end(rows: &mut BTreeMap<u64, Row>, stood: Option<u64>, seq: u64) {
    if let Some(row) = stood.and_then(|stood| rows.get_mut(&stood)) {
        row.ended = Some(seq);
    }
}

/// The rows as they stand: each by the digest that its text has, not by the one beside it.
async fn stored(tx: &ProjectTx<'_>) -> Result<BTreeMap<u64, Row>, DatabaseError> {
    let rows = store::all(tx).await?;
    let row = |(seq, text, ended): (u64, GrantDocument, Option<u64>)| {
        (seq, Row { grant: text.grant, document: text.digest(), until: text.until, ended })
    };
    Ok(rows.into_iter().map(row).collect())
}

const PAGE: i64 = 256;
