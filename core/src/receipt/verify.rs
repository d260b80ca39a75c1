//! Verification, in the order in which a sceptic would ask.

use super::{LogProof, Receipt, Refusal};
use crate::checkpoint::Checkpoint;
use crate::digest::Digest;
use crate::entry::{Entry, genesis};
use crate::envelope::Envelope;
use crate::json::{self, Profile};
use crate::key::{Jwk, JwkSet, JwkSetError, PublicKey, Purpose, Thumbprint};
use crate::note::{Note, NoteError};
use crate::statement::{Statement, Verdict};
use crate::time::Timestamp;
use crate::tree;

/// A decision's time may be this far ahead of its entry's, in milliseconds (RECORD: clocks).
const MAX_AHEAD: i64 = 2_000;
/// A decision ends fifteen seconds after it was made, in milliseconds.
const MAX_BEHIND: i64 = 15_000;

/// The keys that the holder pinned: a JWKS with its issuer. Keys that come with a receipt never count.
#[derive(Clone, Debug)]
pub struct Trust {
    set: JwkSet,
}

impl Trust {
    pub fn from_jwks(text: &[u8]) -> Result<Self, JwkSetError> {
        JwkSet::parse(text).map(|set| Self { set })
    }

    /// Fails if a key in the set is not what it says it is.
    pub fn from_set(set: JwkSet) -> Result<Self, JwkSetError> {
        for key in &set.keys {
            key.public_key()?;
        }
        Ok(Self { set })
    }

    pub(crate) fn keys(&self) -> &[Jwk] {
        &self.set.keys
    }

    pub fn issuer(&self) -> &crate::issuer::Issuer {
        &self.set.iss
    }

    pub(crate) fn by_kid(&self, kid: &Thumbprint) -> Option<(&Jwk, PublicKey)> {
        let jwk = self.set.keys.iter().find(|key| key.kid == *kid)?;
        jwk.public_key().ok().map(|key| (jwk, key))
    }
}

/// What a receipt shows.
#[derive(Clone, Debug)]
pub struct Verified {
    pub statement: Statement,
    /// Digest of the statement's envelope.
    pub digest: Digest,
    pub entry: Entry,
    /// The log had at least this many entries.
    pub checkpoint: Checkpoint,
    pub kid: Thumbprint,
}

impl Verified {
    /// The verdict, if the statement is a decision. Verified does not mean allowed.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.statement {
            Statement::Decision(decision) => Some(decision.verdict),
            _ => None,
        }
    }
}

/// Checks a receipt against pinned keys. Needs no network, no clock and nothing from the log operator.
pub fn verify(receipt: &[u8], trust: &Trust) -> Result<Verified, Refusal> {
    json::parse(receipt, Profile::Foreign)?;
    let receipt: Receipt = serde_json::from_slice(receipt).map_err(|e| Refusal::Shape(e.to_string()))?;
    let envelope = Envelope::parse(receipt.statement().as_bytes())?;
    let statement = envelope.statement()?;
    let entry = receipt.entry();

    signed_by_pinned_key(&envelope, statement.purpose(), entry.at, trust)?;
    issued_by_pinned_issuer(&statement, trust)?;
    entry_is_of(entry, &envelope, &statement)?;
    let checkpoint = included(entry, receipt.proof(), trust)?;

    Ok(Verified {
        digest: envelope.digest(),
        kid: envelope.kid().clone(),
        statement,
        entry: entry.clone(),
        checkpoint,
    })
}

fn signed_by_pinned_key(
    envelope: &Envelope,
    wanted: Purpose,
    at: Timestamp,
    trust: &Trust,
) -> Result<(), Refusal> {
    let kid = envelope.kid();
    let (jwk, key) = trust.by_kid(kid).ok_or_else(|| Refusal::UnknownKey(kid.clone()))?;
    if jwk.purpose != wanted {
        return Err(Refusal::OtherPurpose { kid: kid.clone(), wanted, found: jwk.purpose });
    }
    if !counts_at(jwk, at) {
        return Err(Refusal::KeyNotValid { kid: kid.clone(), at });
    }
    envelope.verify(&key).map_err(|_| Refusal::BadSignature(kid.clone()))
}

/// A receipt alone gives times, not positions: the window is that of the key's entries, both ends included.
pub(crate) fn counts_at(jwk: &Jwk, at: Timestamp) -> bool {
    jwk.from.is_none_or(|from| from <= at) && jwk.until.is_none_or(|until| at <= until)
}

fn issued_by_pinned_issuer(statement: &Statement, trust: &Trust) -> Result<(), Refusal> {
    match statement.issuer() {
        Some(found) if found != trust.issuer() => {
            Err(Refusal::OtherIssuer { found: found.clone(), pinned: trust.issuer().clone() })
        }
        Some(_) | None => Ok(()),
    }
}

fn entry_is_of(entry: &Entry, envelope: &Envelope, statement: &Statement) -> Result<(), Refusal> {
    if entry.project != statement.project() {
        return Err(Refusal::OtherProject);
    }
    let digest = envelope.digest();
    if entry.body != digest {
        return Err(Refusal::OtherBody { named: entry.body, found: digest });
    }
    if entry.kind != statement.kind() {
        return Err(Refusal::OtherKind { named: entry.kind, found: statement.kind() });
    }
    if entry.epoch != entry.at.epoch() {
        return Err(Refusal::OtherEpoch(entry.epoch.clone()));
    }
    if entry.seq == 0 && entry.prev != genesis(entry.project) {
        return Err(Refusal::NotGenesis(entry.prev));
    }
    match statement {
        Statement::Decision(decision) if is_skewed(decision.at, entry.at) => {
            Err(Refusal::Skew { decided: decision.at, entered: entry.at })
        }
        _ => Ok(()),
    }
}

/// Whether a decision's time is too far from its entry's for the entry to have been accepted.
pub fn is_skewed(decided: Timestamp, entered: Timestamp) -> bool {
    let behind = entered.millis() - decided.millis();
    !(-MAX_AHEAD..=MAX_BEHIND).contains(&behind)
}

fn included(entry: &Entry, proof: &str, trust: &Trust) -> Result<Checkpoint, Refusal> {
    let proof = LogProof::parse(proof)?;
    if proof.index != entry.seq {
        return Err(Refusal::OtherIndex { index: proof.index, seq: entry.seq });
    }
    let checkpoint = signed_checkpoint(&proof.checkpoint, trust)?;
    tree::verify_inclusion(&entry.leaf_hash(), proof.index, checkpoint.size, &proof.path, &checkpoint.root)?;
    Ok(checkpoint)
}

/// A signed note of the pinned log, under a log key that was pinned.
pub fn signed_checkpoint(text: &str, trust: &Trust) -> Result<Checkpoint, Refusal> {
    let note = Note::parse(text).map_err(|e| Refusal::Checkpoint(e.into()))?;
    let checkpoint = Checkpoint::parse(&note).map_err(Refusal::Checkpoint)?;
    let pinned = trust.issuer().origin();
    if checkpoint.origin != pinned {
        return Err(Refusal::OtherOrigin { found: checkpoint.origin, pinned });
    }
    for jwk in &trust.set.keys {
        let Ok(key) = jwk.public_key() else { continue };
        match note.verify(&pinned, &key) {
            Ok(()) if jwk.purpose == Purpose::Log => return Ok(checkpoint),
            Ok(()) => return Err(Refusal::CheckpointOtherPurpose(jwk.kid.clone())),
            Err(NoteError::NotByThisKey) => {}
            Err(error) => return Err(Refusal::Checkpoint(error.into())),
        }
    }
    Err(Refusal::UnknownLogKey)
}
