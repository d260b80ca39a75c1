//! A body: whether it may be absent, who signed it, and the columns that repeat what it says.

use super::broken::{Broken, Fault, Place};
use super::graves::Claim;
use super::keys::{Keys, signed as number};
use super::stored::{StoredEntry, StoredTombstone};
use crate::digest::hex;
use crate::envelope::Envelope;
use crate::projection::Projection;
use crate::statement::{Statement, Tombstone};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

pub(crate) fn parse(body: &[u8]) -> Result<Envelope, Fault> {
    let envelope = Envelope::parse(body).map_err(|error| Fault::Unreadable(error.to_string()))?;
    if envelope.bytes() == body { Ok(envelope) } else { Err(Fault::NotCanonical) }
}

/// Whether the body was signed by a key of the right purpose that counts at entry `seq`.
pub(crate) fn signed(envelope: &Envelope, statement: &Statement, keys: &Keys, seq: u64) -> Result<(), Fault> {
    let kid = envelope.kid();
    let fails = |_| Fault::Signature(kid.clone());
    match (seq, statement) {
        (0, Statement::Key(first)) => envelope.verify(&keys.first_signer(kid, first)?).map_err(fails),
        _ => envelope.verify(keys.signer(kid, statement.purpose())?).map_err(fails),
    }
}

/// A row of `tombstones` as a claim; a row with numbers below zero claims nothing.
pub(super) fn claim(row: &StoredTombstone) -> Option<Claim> {
    let positive = |number: i64| u64::try_from(number).ok();
    Some(Claim { seq: positive(row.seq)?, first: positive(row.first)?, last: positive(row.last)? })
}

/// Whether all absent bodies that a tombstone excused are of the day that it names.
pub(super) fn of_one_day(said: &Tombstone, excused: &BTreeSet<String>) -> Result<(), Fault> {
    match excused.iter().find(|day| **day != said.epoch) {
        Some(other) => Err(Fault::Differs {
            stored: format!("bodies of {}", said.epoch),
            follows: format!("bodies of {other}"),
        }),
        None => Ok(()),
    }
}

/// The range that a `tombstone/v1` at `seq` opens: whole, and before it.
pub(super) fn tombstone(said: &Tombstone, seq: i64) -> Result<StoredTombstone, Fault> {
    let (first, last) = (number(said.first), number(said.last));
    if first <= last && last < seq {
        return Ok(StoredTombstone { seq, first, last });
    }
    let follows = format!("a range before {seq}");
    Err(Fault::Differs { stored: format!("{first} to {last}"), follows })
}

/// The table of tombstones against those of the chain, both ways.
pub(super) fn same_tombstones(stored: &[StoredTombstone], chain: &[StoredTombstone]) -> Result<(), Broken> {
    let at = |seq, column| Place::Tombstone { seq, column };
    let said: BTreeMap<i64, &StoredTombstone> = chain.iter().map(|row| (row.seq, row)).collect();
    let kept: BTreeSet<i64> = stored.iter().map(|row| row.seq).collect();
    for row in stored {
        let said = said.get(&row.seq).ok_or_else(|| at(row.seq, "seq").is(Fault::Surplus))?;
        at(row.seq, "first_seq").same(row.first, said.first)?;
        at(row.seq, "last_seq").same(row.last, said.last)?;
    }
    match chain.iter().find(|said| !kept.contains(&said.seq)) {
        Some(said) => Err(at(said.seq, "seq").is(Fault::Missing)),
        None => Ok(()),
    }
}

/// Every column that finds rows, against the statement.
pub(super) fn projected(row: &StoredEntry<'_>, statement: &Statement) -> Result<(), Broken> {
    let Projection { action, decision, agent, verdict, reason, provider, tool, status } =
        Projection::of(statement);
    let decision = decision.as_ref().map(|digest| digest.bytes().as_slice());
    let (columns, at) = (&row.columns, |column| Place::Entry { seq: row.seq, column });
    at("action").same_or_null(id(columns.action), id(action))?;
    at("decision").same_or_null(columns.decision.map(hex), decision.map(hex))?;
    at("agent").same_or_null(id(columns.agent), id(agent))?;
    let texts = [
        ("verdict", columns.verdict, verdict),
        ("reason", columns.reason, reason),
        ("provider", columns.provider, provider),
        ("tool", columns.tool, tool),
        ("status", columns.status, status),
    ];
    texts
        .into_iter()
        .try_for_each(|(column, stored, follows)| at(column).same_or_null(stored.map(str::to_owned), follows))
}

fn id(uuid: Option<Uuid>) -> Option<String> {
    uuid.map(|uuid| uuid.simple().to_string())
}
