//! Reading what a turn needs: one moment of the project, in a fixed number of questions.

use std::collections::{BTreeSet, HashMap, HashSet};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, ProjectId};
use counterfoil_core::reconcile::{Cap, Decided, Matter, Observed, previous_of};
use counterfoil_core::statement::{Decision, Reason, Statement};
use counterfoil_core::time::Timestamp;

use super::super::comparison::{Comparison, Known};
use super::super::events::{Event, Heard};
use super::super::keys::Keys;
use super::super::store::counts::{self, Changed, Sort};
use super::super::store::entries::{self, Entered};
use super::super::store::matters::{self, Kept};
use super::super::store::{findings, position};
use super::super::terms::Registries;
use super::{Left, Notes, Turn};
use crate::database::{DatabaseError, ProjectTx};
use crate::declared;
use crate::ledger::{AppendError, Ledger};

/// Entries of one turn: some hundredths of a second, so that no project keeps another waiting.
const STRETCH: i64 = 256;
/// Decisions of one turn that time may have changed.
const DUE: i64 = 128;
/// Findings and what ends them, taken over at once.
const NOTES: i64 = 1024;

impl Turn {
    /// `Err` says that there is nothing to do.
    pub(in crate::reconciliation) async fn read(
        ledger: &Ledger,
        project: ProjectId,
        registries: &mut Registries,
        now: Timestamp,
    ) -> Result<Result<Self, Left>, AppendError> {
        let mut client = ledger.database().app().await?;
        let tx = client.begin_snapshot(project).await?;
        let from = position::read(&tx).await?.ok_or(AppendError::NoSuchProject)?;
        let now = now.max(from.last_at);
        let due = from.due.is_some_and(|due| due < now);
        if from.upto >= from.size && from.noted >= from.size && !due {
            return Ok(Err(Left::Nothing { upto: from.upto, due: from.due }));
        }
        let noted = entries::notes(&tx, from.noted, NOTES, from.size).await?;
        let all_noted = (noted.len() as u64) < NOTES.unsigned_abs();
        let mut turn = Self {
            project,
            from,
            upto: from.upto,
            noted: if all_noted { from.size } else { noted.last().map_or(0, |last| last.entry.seq + 1) },
            now,
            last_at: from.last_at,
            notes: Notes::of(&noted),
            comparison: Comparison::new(Known::nothing(now)),
            standing: HashMap::new(),
            is_full: !all_noted,
        };
        // Before all that stands is known, nothing new is found.
        if all_noted {
            turn.compare(&tx, registries).await?;
        }
        Ok(Ok(turn))
    }

    async fn compare(
        &mut self,
        tx: &ProjectTx<'_>,
        registries: &mut Registries,
    ) -> Result<(), DatabaseError> {
        let stretch = entries::batch(tx, self.from.upto, STRETCH, self.from.size).await?;
        if let Some(last) = stretch.last() {
            (self.upto, self.last_at) = (last.entry.seq + 1, last.entry.at);
        }
        let keys = Keys::of(entries::execution_keys(tx).await?);
        let events: Vec<Event> = stretch.iter().filter_map(|entered| Event::of(entered, &keys)).collect();
        let recalled = Recalled::read(tx, &events, self.now).await?;
        let decisions = decisions(&events).chain(recalled.decisions());
        registries.learn(tx, self.from.size, decisions).await?;
        self.is_full = self.upto < self.from.size || recalled.is_full;
        let known = known(tx, &events, &recalled, registries, self.from.upto).await?;

        let mut comparison = Comparison::new(known);
        recalled.into(&mut comparison, registries, &keys);
        for event in events {
            comparison.take(event, registries, &keys);
        }
        let names = comparison.names(self.now);
        let standing = findings::standing(tx, &names).await?;
        self.standing = standing.into_iter().map(|stands| (stands.name.clone(), stands)).collect();
        // What is taken over in this very turn stands too.
        for row in &self.notes.findings {
            if let Some(stands) = row.stands(&self.notes.cleared) {
                self.standing.entry(stands.name.clone()).or_insert(stands);
            }
        }
        self.comparison = comparison;
        Ok(())
    }
}

fn decisions(events: &[Event]) -> impl Iterator<Item = &Decision> + Send {
    events.iter().filter_map(|event| match event {
        Event::Decided(decision, _) => Some(decision.as_ref()),
        Event::Erased { .. }
        | Event::Observed { .. }
        | Event::Stated(_)
        | Event::UnsignedCatalog(_)
        | Event::OutcomeUnknown { .. } => None,
    })
}

/// Decisions that were compared before and are looked at again, with the bodies that this needs.
struct Recalled {
    kept: Vec<Kept>,
    /// By decision: all that its provider signed, where its observation comes only now. Each statement is compared with the
    /// observed result, those too that no later statement depends on.
    said: HashMap<u64, Vec<u64>>,
    bodies: HashMap<u64, Entered>,
    /// Whether more may be due.
    is_full: bool,
}

impl Recalled {
    async fn read(tx: &ProjectTx<'_>, events: &[Event], now: Timestamp) -> Result<Self, DatabaseError> {
        let names: HashSet<(ActionId, Digest)> = events.iter().filter_map(Event::name).collect();
        let names: Vec<_> = names.into_iter().collect();
        let unknown = events.iter().filter_map(|event| match event {
            Event::OutcomeUnknown { decision } => Some(*decision),
            Event::Decided(..)
            | Event::Erased { .. }
            | Event::Observed { .. }
            | Event::Stated(_)
            | Event::UnsignedCatalog(_) => None,
        });
        let unknown: Vec<u64> = unknown.collect();
        let mut kept = matters::named(tx, &names).await?;
        kept.extend(matters::at(tx, &unknown).await?);
        let due = matters::due(tx, now, DUE).await?;
        let is_full = due.len() as u64 >= DUE.unsigned_abs();
        kept.extend(due);
        kept.sort_by_key(|kept| kept.seq);
        kept.dedup_by_key(|kept| kept.seq);
        let said = all_said(tx, events, &kept).await?;
        let statements = kept.iter().flat_map(|kept| said.get(&kept.seq).unwrap_or(&kept.remembered));
        let places: BTreeSet<u64> = statements
            .copied()
            .chain(kept.iter().flat_map(|kept| kept.observed.into_iter().chain([kept.seq])))
            .collect();
        let bodies = entries::at(tx, &places.into_iter().collect::<Vec<_>>()).await?;
        let bodies = bodies.into_iter().map(|entered| (entered.entry.seq, entered)).collect();
        Ok(Self { kept, said, bodies, is_full })
    }

    fn decisions(&self) -> impl Iterator<Item = &Decision> + Send {
        self.kept.iter().filter_map(|kept| self.decision(kept.seq))
    }

    fn decision(&self, seq: u64) -> Option<&Decision> {
        match &self.bodies.get(&seq)?.statement {
            Some(Statement::Decision(decision)) => Some(decision),
            Some(_) | None => None,
        }
    }

    fn into(self, comparison: &mut Comparison, registries: &Registries, keys: &Keys) {
        for kept in &self.kept {
            let matter = self.matter(kept, keys);
            let terms = match self.decision(kept.seq) {
                Some(decision) => registries.terms(decision, kept.seq, keys),
                None => counterfoil_core::reconcile::Terms::owes_nothing(),
            };
            comparison.recall(kept.clone(), matter, terms);
        }
    }

    /// None where a body that it needs is gone.
    fn matter(&self, kept: &Kept, keys: &Keys) -> Option<Matter> {
        let entry = &self.bodies.get(&kept.seq)?.entry;
        let mut matter = Matter::new(Decided::of(self.decision(kept.seq)?, entry.body, entry));
        if let Some(place) = kept.observed {
            let entered = self.bodies.get(&place)?;
            let Some(Statement::Observation(seen)) = &entered.statement else { return None };
            matter.observed = Some(Observed::of(seen, entered.entry.body, &entered.entry));
        }
        for place in self.said.get(&kept.seq).unwrap_or(&kept.remembered) {
            let entered = self.bodies.get(place)?;
            let Some(Statement::Received(received)) = &entered.statement else { return None };
            matter.stated.push(Heard::of(received, &entered.entry, keys)?.stated);
        }
        Some(matter)
    }
}

/// What was said of the decisions that are observed now, in the order of the places.
async fn all_said(
    tx: &ProjectTx<'_>,
    events: &[Event],
    kept: &[Kept],
) -> Result<HashMap<u64, Vec<u64>>, DatabaseError> {
    let observed: HashSet<(ActionId, Digest)> = events.iter().filter_map(Event::observes).collect();
    let newly = kept.iter().filter(|kept| {
        kept.observed.is_none()
            && !kept.remembered.is_empty()
            && observed.contains(&(kept.action, kept.decision))
    });
    let newly: Vec<u64> = newly.map(|kept| kept.seq).collect();
    let mut said: HashMap<u64, Vec<u64>> = HashMap::new();
    for (decision, seq) in matters::all_said(tx, &newly).await? {
        said.entry(decision).or_default().push(seq);
    }
    Ok(said)
}

impl Known {
    fn nothing(now: Timestamp) -> Self {
        Self {
            early: HashMap::new(),
            said: HashSet::new(),
            forged: Cap::resumed(now, []),
            foreign: Cap::resumed(now, []),
            changed: HashSet::new(),
            roots: HashMap::new(),
            issued: HashSet::new(),
        }
    }
}

async fn known(
    tx: &ProjectTx<'_>,
    events: &[Event],
    recalled: &Recalled,
    registries: &Registries,
    from: u64,
) -> Result<Known, DatabaseError> {
    let places: HashMap<(ActionId, Digest), u64> =
        recalled.kept.iter().map(|kept| ((kept.action, kept.decision), kept.seq)).collect();
    let heard: Vec<&Heard> = events
        .iter()
        .filter_map(|event| match event {
            Event::Stated(heard) => Some(heard.as_ref()),
            Event::Decided(..)
            | Event::Erased { .. }
            | Event::Observed { .. }
            | Event::UnsignedCatalog(_)
            | Event::OutcomeUnknown { .. } => None,
        })
        .collect();
    let said = heard.iter().filter_map(|heard| {
        let name = heard.stated.action.zip(heard.stated.decision)?;
        Some((*places.get(&name)?, heard.stated.fingerprint))
    });
    let said: Vec<(u64, Digest)> = said.collect();
    let sizes: Vec<u64> = heard.iter().filter_map(|heard| Some(heard.seen?.size)).collect();
    let mut known = Known {
        early: early(tx, events, from).await?,
        said: matters::said(tx, &said).await?.into_iter().collect(),
        changed: counts::changed(tx, &changed(events, registries)).await?.into_iter().collect(),
        roots: entries::roots(tx, &sizes).await?.into_iter().collect(),
        issued: issued(tx, events).await?,
        ..Known::nothing(Timestamp::from_millis(0).expect("1970 is a time"))
    };
    if let Some(first) = heard.first() {
        let at = first.stated.entered_at;
        let counted = counts::apart(tx, Cap::hour(at)).await?;
        let of = |sort: Sort| {
            let counted = counted.iter().filter(move |((_, found, _), _)| *found == sort);
            counted.map(|((.., key), count)| (key.clone(), u32::try_from(*count).unwrap_or(u32::MAX)))
        };
        known.forged = Cap::resumed(at, of(Sort::Forged));
        known.foreign = Cap::resumed(at, of(Sort::Foreign));
    }
    Ok(known)
}

/// The first observation of each decision that it overtook.
async fn early(
    tx: &ProjectTx<'_>,
    events: &[Event],
    from: u64,
) -> Result<HashMap<(ActionId, Digest), Observed>, DatabaseError> {
    let actions: Vec<ActionId> = decisions(events).map(|decision| decision.action).collect();
    let mut early = HashMap::new();
    for entered in entries::early(tx, &actions, from).await? {
        if let Some(Statement::Observation(seen)) = &entered.statement {
            let observed = Observed::of(seen, entered.entry.body, &entered.entry);
            early.entry((seen.action, seen.decision)).or_insert(observed);
        }
    }
    Ok(early)
}

/// By place, the decisions whose session had issued the hash that they name as the one before.
async fn issued(tx: &ProjectTx<'_>, events: &[Event]) -> Result<HashSet<u64>, DatabaseError> {
    let named = events.iter().filter_map(|event| match event {
        Event::Decided(decision, entry) => {
            let (session, previous) = previous_of(decision)?;
            Some((session, previous?, entry.seq))
        }
        Event::Erased { .. }
        | Event::Observed { .. }
        | Event::Stated(_)
        | Event::UnsignedCatalog(_)
        | Event::OutcomeUnknown { .. } => None,
    });
    let named: Vec<_> = named.collect();
    Ok(declared::store::issued(tx, &named).await?.into_iter().collect())
}

fn changed(events: &[Event], registries: &Registries) -> Vec<Changed> {
    let met = decisions(events).filter(|decision| decision.reason == Reason::DefinitionChanged);
    let changed: HashSet<Changed> = met.filter_map(|decision| Changed::of(decision, registries)).collect();
    changed.into_iter().collect()
}
