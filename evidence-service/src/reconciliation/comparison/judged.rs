//! What follows from a stretch at one moment: rows, sums, findings, clearances.

use std::collections::{BTreeMap, HashMap};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::reconcile::{Account, Found, Reconciled, reconcile, remembered};
use counterfoil_core::statement::FindingCode;
use counterfoil_core::time::Timestamp;

use super::super::store::counts::{Changed, Heap};
use super::super::store::findings::{Name, Standing};
use super::super::store::matters::Kept;
use super::{Comparison, Working};

/// What is written where nothing can be said: the body is gone.
const ERASED: &str = "erased";

#[derive(Debug, Default)]
pub(in crate::reconciliation) struct Judged {
    /// Decisions that are new or stand otherwise than before.
    pub(in crate::reconciliation) kept: Vec<Kept>,
    /// What changed of the sums.
    pub(in crate::reconciliation) tallies: BTreeMap<(String, String), i64>,
    /// Findings that do not stand yet, in the order of what they are about.
    pub(in crate::reconciliation) found: Vec<Found>,
    pub(in crate::reconciliation) clears: Vec<Clears>,
}

/// A finding that stands, and what came after all.
#[derive(Clone, Debug)]
pub(in crate::reconciliation) struct Clears {
    /// Number and digest of the finding.
    pub(in crate::reconciliation) finding: (u64, Digest),
    pub(in crate::reconciliation) code: FindingCode,
    pub(in crate::reconciliation) action: ActionId,
    pub(in crate::reconciliation) by: Digest,
    pub(in crate::reconciliation) seq: u64,
}

impl Judged {
    pub(in crate::reconciliation) fn says_nothing(&self) -> bool {
        self.found.is_empty() && self.clears.is_empty()
    }
}

impl Comparison {
    /// The findings that it matters whether they stand, as of that moment or any earlier one.
    pub(in crate::reconciliation) fn names(&self, now: Timestamp) -> Vec<Name> {
        let mut names: Vec<Name> = self.found.iter().map(name_of).collect();
        for (working, follows) in self.follow(now) {
            names.extend(follows.findings.iter().map(name_of));
            names.extend(follows.clears.iter().map(|cleared| Name {
                action: Some(working.action),
                code: cleared.code,
                statement: cleared.about,
            }));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// `standing` answers [`Self::names`].
    pub(in crate::reconciliation) fn judge(
        &self,
        now: Timestamp,
        standing: &HashMap<Name, Standing>,
    ) -> Judged {
        let mut judged = Judged::default();
        let mut found = self.found.clone();
        for (working, follows) in self.follow(now) {
            judged.clears.extend(clears(working, &follows, standing));
            // The sweep says OUTCOME_UNKNOWN, which knows who is heard; here it stands already, or nobody was silent.
            found.extend(follows.findings.iter().filter(|f| f.code != FindingCode::OutcomeUnknown).cloned());
            judged.take(working, working.kept(&follows));
        }
        for working in self.working.values().filter(|working| working.matter.is_none()) {
            judged.take(working, working.erased());
        }
        found.retain(|found| !standing.contains_key(&name_of(found)));
        found.sort_by_key(|found| (found.seq, found.code));
        judged.found = found;
        judged
    }

    fn follow(&self, now: Timestamp) -> impl Iterator<Item = (&Working, Reconciled)> {
        self.working.values().filter_map(move |working| {
            let matter = working.matter.as_ref()?;
            Some((working, reconcile(matter, working.terms, working.watch, now)))
        })
    }

    pub(in crate::reconciliation) fn newly_said(&self) -> &[(u64, Digest, u64)] {
        &self.newly_said
    }

    pub(in crate::reconciliation) fn newly_changed(&self) -> &[(Changed, u64)] {
        &self.newly_changed
    }

    pub(in crate::reconciliation) fn heaps(&self) -> Vec<(Heap, u64)> {
        self.heaps.iter().map(|(heap, count)| (heap.clone(), *count)).collect()
    }
}

impl Judged {
    fn take(&mut self, working: &Working, now: Kept) {
        if working.before.as_ref() == Some(&now) {
            return;
        }
        let before = working.before.as_ref().map(|kept| (kept.account.clone(), kept.status.clone()));
        let after = (now.account.clone(), now.status.clone());
        if before.as_ref() != Some(&after) {
            *self.tallies.entry(after).or_insert(0) += 1;
            if let Some(before) = before {
                *self.tallies.entry(before).or_insert(0) -= 1;
            }
        }
        self.kept.push(now);
    }
}

impl Working {
    fn kept(&self, follows: &Reconciled) -> Kept {
        let matter = self.matter.as_ref();
        let remembered = matter.map(remembered).unwrap_or_default();
        Kept {
            seq: self.seq,
            decision: self.digest,
            action: self.action,
            account: follows.account.as_str().to_owned(),
            status: follows.status.as_str().to_owned(),
            again_after: follows.again_after,
            observed: matter.and_then(|matter| Some(matter.observed.as_ref()?.seq)),
            remembered: remembered.iter().map(|stated| stated.seq).collect(),
        }
    }

    /// As before, if it was compared before its body went; nothing is due any more.
    fn erased(&self) -> Kept {
        match &self.before {
            Some(before) => Kept { again_after: None, ..before.clone() },
            None => Kept {
                seq: self.seq,
                decision: self.digest,
                action: self.action,
                account: Account::Governed.as_str().to_owned(),
                status: ERASED.to_owned(),
                again_after: None,
                observed: None,
                remembered: Vec::new(),
            },
        }
    }
}

fn name_of(found: &Found) -> Name {
    Name { action: found.action, code: found.code, statement: found.statement }
}

/// Of what the statements close, the findings that stand and are open.
fn clears(working: &Working, follows: &Reconciled, standing: &HashMap<Name, Standing>) -> Vec<Clears> {
    let open = follows.clears.iter().filter_map(|cleared| {
        let name = Name { action: Some(working.action), code: cleared.code, statement: cleared.about };
        let stands = standing.get(&name).filter(|stands| !stands.cleared)?;
        Some(Clears {
            finding: (stands.seq, stands.digest),
            code: cleared.code,
            action: working.action,
            by: cleared.by,
            seq: cleared.seq,
        })
    });
    open.collect()
}
