//! One stretch of entries compared with what stood before it. Pure: everything that it needs was read.
//!
//! Promised: the order of entries decides, as for every verifier of a package. A statement belongs to a decision that
//! stands before it; caps count in that order; what is judged is [`reconcile`], and nothing is judged twice.

mod judged;

pub(super) use judged::{Clears, Judged};

use std::collections::{BTreeMap, HashMap, HashSet};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::Thumbprint;
use counterfoil_core::reconcile::{
    Cap, Decided, Found, Matter, Observed, Status, Terms, Watch, previous_of, stray, unknown_previous,
};
use counterfoil_core::statement::{Decision, FindingCode, Reason};
use counterfoil_core::time::Timestamp;
use counterfoil_core::tree::Hash;

use super::events::{Event, Heard};
use super::keys::Keys;
use super::store::counts::{Changed, Heap, Sort};
use super::store::matters::Kept;
use super::terms::Registries;

/// A decision that something new was said about, or that time may have changed.
#[derive(Debug)]
struct Working {
    seq: u64,
    digest: Digest,
    action: ActionId,
    /// As it was compared before; none for a new one.
    before: Option<Kept>,
    /// None where a body that it needs was erased.
    matter: Option<Matter>,
    terms: Terms,
    watch: Watch,
}

/// Before anything of the stretch was looked at.
pub(super) struct Known {
    /// Observations that stand before the decision that they name.
    pub(super) early: HashMap<(ActionId, Digest), Observed>,
    /// What was said before, by decision and fingerprint.
    pub(super) said: HashSet<(u64, Digest)>,
    pub(super) forged: Cap,
    pub(super) foreign: Cap,
    pub(super) changed: HashSet<Changed>,
    /// Roots of our own checkpoints, by size.
    pub(super) roots: HashMap<u64, Hash>,
    /// Decisions whose session had issued the hash that they name as the one before.
    pub(super) issued: HashSet<u64>,
}

pub(super) struct Comparison {
    known: Known,
    working: BTreeMap<u64, Working>,
    names: HashMap<(ActionId, Digest), u64>,
    /// Findings that no matter has: strays, changed tools, checkpoints that differ.
    found: Vec<Found>,
    newly_said: Vec<(u64, Digest, u64)>,
    newly_changed: Vec<(Changed, u64)>,
    heaps: BTreeMap<Heap, u64>,
}

impl Comparison {
    pub(super) fn new(known: Known) -> Self {
        Self {
            known,
            working: BTreeMap::new(),
            names: HashMap::new(),
            found: Vec::new(),
            newly_said: Vec::new(),
            newly_changed: Vec::new(),
            heaps: BTreeMap::new(),
        }
    }

    /// A decision that was compared before, as it was read again. `matter` is none where a body is missing.
    pub(super) fn recall(&mut self, before: Kept, matter: Option<Matter>, terms: Terms) {
        self.names.insert((before.action, before.decision), before.seq);
        let unknown = before.status == Status::OutcomeUnknown.as_str();
        let working = Working {
            seq: before.seq,
            digest: before.decision,
            action: before.action,
            matter,
            terms,
            watch: if unknown { Watch::Closed } else { Watch::Open },
            before: Some(before),
        };
        self.working.insert(working.seq, working);
    }

    /// The next entry, in order.
    pub(super) fn take(&mut self, event: Event, registries: &Registries, keys: &Keys) {
        match event {
            Event::Decided(decision, entry) => {
                let decided = Decided::of(&decision, entry.body, &entry);
                let terms = registries.terms(&decision, entry.seq, keys);
                self.tool_changed(&decision, &decided, registries);
                self.unknown_previous(&decision, &decided);
                self.decide(decided, terms);
            }
            Event::Erased { action, digest, seq } => self.enter(seq, digest, action, None),
            Event::Observed { action, decision, observed } => self.observe((action, decision), observed),
            Event::Stated(heard) => self.state(*heard),
            Event::UnsignedCatalog(entry) => self.found.push(Found {
                code: FindingCode::CatalogSignature,
                action: None,
                statement: entry.body,
                seq: entry.seq,
                since: entry.at,
            }),
            Event::OutcomeUnknown { decision } => {
                if let Some(working) = self.working.get_mut(&decision) {
                    working.watch = Watch::Closed;
                }
            }
        }
    }

    fn decide(&mut self, decided: Decided, terms: Terms) {
        let (seq, digest, action) = (decided.seq, decided.digest, decided.action);
        let mut matter = Matter::new(decided);
        matter.observed = self.known.early.remove(&(action, digest));
        self.enter(seq, digest, action, Some((matter, terms)));
    }

    fn enter(&mut self, seq: u64, digest: Digest, action: ActionId, matter: Option<(Matter, Terms)>) {
        self.names.insert((action, digest), seq);
        let (matter, terms) = matter.map_or((None, Terms::owes_nothing()), |(m, terms)| (Some(m), terms));
        let working = Working { seq, digest, action, before: None, matter, terms, watch: Watch::Open };
        self.working.insert(seq, working);
    }

    /// Once for each definition under each registry, about the first decision that met it.
    fn tool_changed(&mut self, decision: &Decision, decided: &Decided, registries: &Registries) {
        if decision.reason != Reason::DefinitionChanged {
            return;
        }
        let Some(changed) = Changed::of(decision, registries) else { return };
        if !self.known.changed.insert(changed.clone()) {
            return;
        }
        self.newly_changed.push((changed, decided.seq));
        self.found.push(Found {
            code: FindingCode::ToolChanged,
            action: Some(decided.action),
            statement: decided.digest,
            seq: decided.seq,
            since: decided.entered_at,
        });
    }

    /// A claim that names what was never issued in its session before. What names nothing claims nothing.
    fn unknown_previous(&mut self, decision: &Decision, decided: &Decided) {
        if previous_of(decision).is_none() || self.known.issued.contains(&decided.seq) {
            return;
        }
        self.found.push(unknown_previous(decided));
    }

    fn observe(&mut self, name: (ActionId, Digest), observed: Observed) {
        match self.find(&name) {
            Some(Working { matter: Some(matter), .. }) => {
                matter.observed.get_or_insert(observed);
            }
            Some(Working { matter: None, .. }) => {}
            None => drop(self.known.early.entry(name).or_insert(observed)),
        }
    }

    fn find(&mut self, name: &(ActionId, Digest)) -> Option<&mut Working> {
        let seq = self.names.get(name)?;
        self.working.get_mut(seq)
    }

    fn state(&mut self, Heard { stated, key, seen }: Heard) {
        let (holds, at) = (stated.standing.holds(), stated.entered_at);
        if !holds && !self.admits(Sort::Forged, key.as_ref(), at) {
            return;
        }
        let named = stated.action.zip(stated.decision);
        let place = named.and_then(|name| self.names.get(&name).copied());
        let Some(place) = place else {
            if !holds || self.admits(Sort::Foreign, key.as_ref(), at) {
                self.found.push(stray(&stated));
            }
            return;
        };
        let decided = self.working.get(&place).and_then(|working| Some(&working.matter.as_ref()?.decided));
        let Some(decided) = decided else { return };
        let foreign = stated.is_foreign_to(decided);
        if foreign && !self.admits(Sort::Foreign, key.as_ref(), at) {
            return;
        }
        if holds && !foreign {
            if !self.known.said.insert((place, stated.fingerprint)) {
                return;
            }
            self.newly_said.push((place, stated.fingerprint, stated.seq));
            let ours = seen.and_then(|seen| Some((self.known.roots.get(&seen.size)?, seen.root)));
            if ours.is_some_and(|(ours, theirs)| *ours != theirs) {
                let code = FindingCode::SeenDiffers;
                self.found.push(Found { code, ..stray(&stated) });
            }
        }
        if let Some(Working { matter: Some(matter), .. }) = self.working.get_mut(&place) {
            matter.stated.push(stated);
        }
    }

    /// Counts it, and says whether it gets a finding of its own.
    fn admits(&mut self, sort: Sort, key: Option<&Thumbprint>, at: Timestamp) -> bool {
        *self.heaps.entry((Cap::hour(at), sort, key.cloned())).or_insert(0) += 1;
        match sort {
            Sort::Forged => self.known.forged.admits(key, at),
            Sort::Foreign => self.known.foreign.admits(key, at),
        }
    }
}

impl Changed {
    /// The definition that the gateway saw; none where the call named no listed tool.
    pub(super) fn of(decision: &Decision, registries: &Registries) -> Option<Self> {
        let control = registries.in_force(decision.control).map_or(0, |(control, _)| control);
        let (provider, tool) = (decision.provider.clone()?, decision.tool.clone()?);
        Some(Self { provider, tool, control, pin: decision.pin? })
    }
}
