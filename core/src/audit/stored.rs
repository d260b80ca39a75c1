//! Rows as they stand in a database or a dump, nothing in them believed.

use super::broken::{Broken, Place};
use super::keys::signed;
use crate::id::KeyId;
use crate::issuer::Issuer;
use uuid::Uuid;

/// What the row of `projects` says of the identity, and the number of the slot that leads to the project.
#[derive(Clone, Copy, Debug)]
pub struct StoredProject<'a> {
    pub issuer: &'a str,
    pub slot: i64,
    pub public_id: &'a str,
}

impl StoredProject<'_> {
    /// The identity, if the columns agree on it.
    pub fn identity(&self) -> Result<Issuer, Broken> {
        let at = |column| Place::Project { column };
        let issuer: Issuer = self.issuer.parse().map_err(|error| at("issuer").unreadable(error))?;
        at("slot").same(self.slot, signed(issuer.slot()))?;
        at("public_id").same(self.public_id, issuer.public_id().to_string().as_str())?;
        Ok(issuer)
    }
}

/// One row of `entries`.
#[derive(Clone, Copy, Debug)]
pub struct StoredEntry<'a> {
    pub seq: i64,
    pub at: i64,
    pub kind: &'a str,
    pub body_digest: &'a [u8],
    pub prev: &'a [u8],
    pub hash: &'a [u8],
    /// Null once the sweeper emptied it.
    pub body: Option<&'a [u8]>,
    pub path: &'a [u8],
    pub checkpoint_size: i64,
    pub columns: StoredColumns<'a>,
}

/// The projection columns of one row of `entries`.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredColumns<'a> {
    pub action: Option<Uuid>,
    pub decision: Option<&'a [u8]>,
    pub agent: Option<Uuid>,
    pub verdict: Option<&'a str>,
    pub reason: Option<&'a str>,
    pub provider: Option<&'a str>,
    pub tool: Option<&'a str>,
    pub status: Option<&'a str>,
}

/// One row of `checkpoints`.
#[derive(Clone, Copy, Debug)]
pub struct StoredCheckpoint<'a> {
    pub size: i64,
    pub root: &'a [u8],
    pub at: i64,
    pub note: &'a str,
}

/// The row of `heads`.
#[derive(Clone, Copy, Debug)]
pub struct StoredHead<'a> {
    pub size: i64,
    pub root: &'a [u8],
    pub frontier: &'a [u8],
    pub last_hash: &'a [u8],
    pub last_at: i64,
    pub epoch_first: i64,
    /// JSON: entries of the day of `last_at` by kind.
    pub epoch_counts: &'a str,
    pub control: i64,
    pub floor: i64,
    pub generation: i64,
    pub killed: bool,
    pub policy: Option<&'a [u8]>,
    pub registry: Option<&'a [u8]>,
    pub rules: Option<&'a [u8]>,
    /// What is killed besides the project, by its ids: sorted, one space between.
    pub stopped: &'a str,
    pub breakglass_until: Option<i64>,
    pub shadow_until: Option<i64>,
    pub checkpoint: &'a str,
}

/// One row of `signing_keys`.
#[derive(Clone, Copy, Debug)]
pub struct StoredKey<'a> {
    pub thumbprint: &'a str,
    pub purpose: &'a str,
    pub provider: Option<&'a str>,
    pub x: &'a str,
    pub introduced: i64,
    pub introduced_at: i64,
    pub ended: Option<i64>,
    pub ended_at: Option<i64>,
    pub revoked: bool,
}

/// One row of `documents`.
#[derive(Clone, Copy, Debug)]
pub struct StoredDocument<'a> {
    pub seq: i64,
    pub kind: &'a str,
    pub digest: &'a [u8],
    pub text: &'a str,
}

/// One row of `sessions`.
#[derive(Clone, Copy, Debug)]
pub struct StoredSession<'a> {
    pub key: KeyId,
    /// [`Running`](crate::session::Running) as JSON.
    pub running: &'a str,
}

/// One row of `tombstones`: bodies from `first` to `last` may be empty.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StoredTombstone {
    pub seq: i64,
    pub first: i64,
    pub last: i64,
}
