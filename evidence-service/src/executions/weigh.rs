//! What a statement's signature is worth, and whether it is new. Pure: keys, earlier acceptances and time are arguments.

use std::collections::HashMap;

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::key::{PublicKey, Thumbprint};
use counterfoil_core::reconcile::{ProviderKey, Standing};
use counterfoil_core::time::Timestamp;
use uuid::Uuid;

use super::submission::{Sender, Submission};

/// What to read under the lock about one statement.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(super) kid: String,
    /// Whether the key id is a vendor's name of the key, not its thumbprint.
    pub(super) named: bool,
    pub(super) action: Uuid,
    pub(super) decision: Option<Digest>,
    pub(super) fingerprint: Digest,
    pub(super) bytes: Digest,
    pub(super) sender: String,
}

/// What was read.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Keys that the statement may mean: those of its key id, or, if a name stands for none, every live one.
    pub(super) keys: Vec<ProviderKey>,
    /// Whether the key id itself led to them.
    pub(super) by_kid: bool,
    /// Whether the decision that it names stands in this project, about that action.
    pub(super) decided: bool,
    /// Statements about that action whose signature held.
    pub(super) held: u64,
    /// Acceptances of the same fingerprint whose signature held, and of the very same bytes where it did not.
    pub(super) same: Vec<Same>,
    /// How often the sender was charged within the last hour, and when first.
    pub(super) charged: u64,
    pub(super) charged_since: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub(super) struct Same {
    pub(super) seq: u64,
    pub(super) provider: Option<ProviderId>,
    pub(super) bytes: Digest,
}

/// Statements that prove nothing, for each sender and hour: forged ones, ones about no decision of this project, and
/// what comes after the sixteenth about one action. An honest provider needs none of them.
pub(super) const ALLOWANCE: u64 = 200;
/// An honest call has one or two statements; one that was given up and run again a few.
const HELD_FOR_EACH_ACTION: u64 = 16;
const HOUR_MILLIS: i64 = 3_600_000;

/// What becomes of one statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// Accepted as the n-th of this commit.
    New(usize),
    /// It says what the n-th of this commit says.
    Twin(usize),
    /// It says what this entry says.
    Stored(u64),
    /// The sender's allowance is used up; it is renewed after so many seconds.
    Spent { seconds: u64 },
}

/// A statement that gets in.
#[derive(Clone, Debug)]
pub(super) struct New {
    /// Which of the submissions.
    pub(super) index: usize,
    /// The key that its key id stands for; none if it stands for none.
    pub(super) thumbprint: Option<Thumbprint>,
    /// Whose key signed it; none if no key that counts did.
    pub(super) provider: Option<ProviderId>,
    pub(super) charged: bool,
}

/// In order, each alone. `seq` is a number that no entry of this commit is below.
pub(super) fn weigh(
    submissions: &[Submission],
    known: &[Known],
    seq: u64,
    at: Timestamp,
) -> (Vec<Fate>, Vec<New>) {
    let (mut fates, mut new) = (Vec::new(), Vec::<New>::new());
    let mut spent: HashMap<&Sender, u64> = HashMap::new();
    for (index, (submission, known)) in submissions.iter().zip(known).enumerate() {
        let (provider, thumbprint) = signed_by(submission, known, seq);
        let twin = new.iter().position(|other| says_the_same(other, submissions, submission, &provider));
        if let Some(place) = twin {
            fates.push(Fate::Twin(place));
            continue;
        }
        let same = known.same.iter().find(|same| match &provider {
            Some(provider) => same.provider.as_ref() == Some(provider),
            None => same.provider.is_none() && same.bytes == submission.digest,
        });
        if let Some(same) = same {
            fates.push(Fate::Stored(same.seq));
            continue;
        }
        let charged = provider.is_none() || !known.decided || known.held >= HELD_FOR_EACH_ACTION;
        let already = spent.entry(&submission.sender).or_insert(known.charged);
        if charged && *already >= ALLOWANCE {
            let since = known.charged_since.unwrap_or(at);
            let left = (since.millis() + HOUR_MILLIS - at.millis()).max(0).unsigned_abs();
            fates.push(Fate::Spent { seconds: left / 1000 + 1 });
            continue;
        }
        *already += u64::from(charged);
        fates.push(Fate::New(new.len()));
        new.push(New { index, thumbprint, provider, charged });
    }
    (fates, new)
}

/// Whose signature it is, if it holds under a key that counts at that place; and the key that is meant.
fn signed_by(submission: &Submission, known: &Known, seq: u64) -> (Option<ProviderId>, Option<Thumbprint>) {
    known.signer(seq, |key| submission.submitted.verify(key).is_ok())
}

impl Known {
    /// Whose key at that place verifies; and the key that is meant.
    pub(crate) fn signer(
        &self,
        seq: u64,
        verifies: impl Fn(&PublicKey) -> bool,
    ) -> (Option<ProviderId>, Option<Thumbprint>) {
        let known = self;
        let mut meant = None;
        for key in &known.keys {
            match Standing::when(&verifies, Some(key), seq) {
                Standing::Holds(provider) => return (Some(provider), Some(key.key.thumbprint())),
                Standing::Ended => meant = Some(key.key.thumbprint()),
                Standing::Fails => {}
            }
        }
        // Not one of them signed it: then it means the newest of that name, and none if it names none.
        let newest = known.keys.last().filter(|_| known.by_kid).map(|key| key.key.thumbprint());
        (None, meant.or(newest))
    }
}

fn says_the_same(
    other: &New,
    submissions: &[Submission],
    submission: &Submission,
    provider: &Option<ProviderId>,
) -> bool {
    let earlier = &submissions[other.index];
    let of_one_provider = other.provider == *provider
        && provider.is_some()
        && earlier.submitted.fingerprint() == submission.submitted.fingerprint();
    let of_the_same_bytes =
        other.provider.is_none() && provider.is_none() && earlier.digest == submission.digest;
    of_one_provider || of_the_same_bytes
}

impl Known {
    /// Entries that may turn out to be the answer.
    pub(crate) fn same_seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.same.iter().map(|same| same.seq)
    }
}

impl Asked {
    /// Which keys a name may mean, and nothing else.
    pub(crate) fn about_key(kid: &str) -> Self {
        let nothing = Digest::of(b"");
        Self {
            kid: kid.to_owned(),
            named: true,
            action: Uuid::nil(),
            decision: None,
            fingerprint: nothing,
            bytes: nothing,
            sender: String::new(),
        }
    }

    pub(super) fn about(submission: &Submission) -> Self {
        use counterfoil_core::statement::ReceivedForm;
        Self {
            kid: submission.submitted.kid().to_owned(),
            named: submission.form == ReceivedForm::VendorWire,
            action: submission.action(),
            decision: submission.submitted.decision(),
            fingerprint: submission.submitted.fingerprint(),
            bytes: submission.digest,
            sender: submission.sender.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
