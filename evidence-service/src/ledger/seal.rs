//! Numbering: from accepted statements to rows under one signed checkpoint. Pure.
//!
//! Each statement gets the next seq, the hash of the entry before and a leaf in the tree; after the last one the
//! tree's root is signed once. On the first append of a new day an `epoch/v1` that closes the day before goes first.

use counterfoil_core::checkpoint::Checkpoint;
use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind};
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ActionId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger, Log, PublicKey, SigningKey};
use counterfoil_core::statement::{Counts, Epoch, EpochType, Statement};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Hash;

use counterfoil_jwks::AtRest;

use super::head::Head;
use counterfoil_core::projection::Projection;

/// The keys of the evidence service.
pub(crate) struct Keys {
    pub(crate) ledger: SigningKey<Ledger>,
    pub(crate) log: SigningKey<Log>,
    /// Under which cards of held calls rest; not a key that signs.
    pub(crate) cards: AtRest,
    /// Under which the vendors' own ids of sessions are found again; not a key that signs.
    pub(crate) externals: AtRest,
    /// Every ledger and log key that this service ever had, public halves: what the self-audit trusts.
    pub(crate) all_ledger: Vec<PublicKey>,
    pub(crate) all_log: Vec<PublicKey>,
}

/// A statement that was accepted and has no place yet.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) kind: Kind,
    pub(crate) digest: Digest,
    pub(crate) body: Vec<u8>,
    pub(crate) projection: Projection,
}

/// An entry with everything that is stored beside it.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) entry: Entry,
    pub(crate) hash: Digest,
    pub(crate) path: Vec<Hash>,
    pub(crate) accepted: Accepted,
}

/// One commit: the rows, the head after them and the note they stand under.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) head: Head,
    pub(crate) placed: Vec<Placed>,
    pub(crate) note: String,
    /// How many of `placed` we put before the first accepted statement (0, or 1 for `epoch/v1`).
    pub(crate) before: usize,
}

pub(crate) fn seal(
    accepted: Vec<Accepted>,
    mut head: Head,
    at: Timestamp,
    issuer: &Issuer,
    keys: &Keys,
) -> Sealed {
    let closing = head.opens_a_day(at).then(|| close_the_day(&head, at, issuer, keys));
    let before = usize::from(closing.is_some());
    if closing.is_some() {
        head.epoch_first = head.size();
        head.counts = Counts::new();
    }
    let all: Vec<Accepted> = closing.into_iter().chain(accepted).collect();
    let entries = number(&all, &mut head, at);
    let leaves: Vec<Hash> = entries.iter().map(|(_, leaf, _)| *leaf).collect();
    let paths = head.frontier.append(&leaves);
    let checkpoint = Checkpoint { origin: issuer.origin(), size: head.size(), root: head.root() };
    let note = checkpoint.sign(&keys.log);
    let placed = entries.into_iter().zip(paths).zip(all);
    let placed = placed.map(|(((entry, _, hash), path), accepted)| Placed { entry, hash, path, accepted });
    Sealed { placed: placed.collect(), head, note, before }
}

/// Entry, leaf hash and entry hash of each; moves the head's chain on, not yet its tree.
fn number(all: &[Accepted], head: &mut Head, at: Timestamp) -> Vec<(Entry, Hash, Digest)> {
    let first = head.size();
    let mut entries = Vec::with_capacity(all.len());
    for (seq, accepted) in (first..).zip(all) {
        let entry = Entry::new(head.project, seq, at, accepted.kind, accepted.digest, head.last_hash);
        let bytes = entry.bytes();
        let hash = Digest::of(&bytes);
        head.last_hash = hash;
        head.last_at = at;
        head.count_entry(accepted.kind);
        entries.push((entry, counterfoil_core::tree::leaf_hash(&bytes), hash));
    }
    entries
}

fn close_the_day(head: &Head, at: Timestamp, issuer: &Issuer, keys: &Keys) -> Accepted {
    let epoch = Epoch {
        typ: EpochType::V1,
        iss: issuer.clone(),
        project: head.project,
        at,
        epoch: head.last_at.epoch(),
        first: head.epoch_first,
        last: head.size() - 1,
        root: head.root(),
        counts: head.counts.clone(),
    };
    Accepted::own(Kind::Epoch, &Signed::sign(epoch, &keys.ledger))
}

impl Accepted {
    /// A statement of our own that says nothing about an action.
    pub(crate) fn own<T>(kind: Kind, signed: &Signed<T>) -> Self {
        Self {
            kind,
            digest: signed.digest(),
            body: signed.bytes().to_vec(),
            projection: Projection::default(),
        }
    }

    /// A statement of our own, with the columns that find it.
    pub(crate) fn said<T: Clone>(signed: &Signed<T>, statement: fn(T) -> Statement) -> Self {
        let statement = statement(signed.payload().clone());
        Self { projection: Projection::of(&statement), ..Self::own(statement.kind(), signed) }
    }

    /// A statement of our own about one action, which its projection names too.
    pub(crate) fn about<T>(kind: Kind, signed: &Signed<T>, action: ActionId) -> Self {
        let projection = Projection { action: Some(action.uuid()), ..Projection::default() };
        Self { projection, ..Self::own(kind, signed) }
    }
}
