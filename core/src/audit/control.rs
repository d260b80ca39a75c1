//! What decides at a place in the chain, as the entries before it make it: control, floor, generation, documents.

use super::broken::{Broken, Fault, Place};
use super::keys::signed;
use super::stored::StoredHead;
use crate::digest::{Digest, hex};
use crate::statement::{
    Decision, GrantEvent, Kill, Published, PublishedType, Resume, Scope, Statement, WindowEvent, Windows,
};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(crate) struct Control {
    control: u64,
    floor: u64,
    generation: u64,
    killed: bool,
    stopped: BTreeSet<Scope>,
    /// Until when windows stand; time alone ends them too.
    breakglass_until: Option<Timestamp>,
    shadow_until: Option<Timestamp>,
    registry: Option<Digest>,
    rules: Option<Digest>,
    /// The bundle in force from a control number on. What no decision may name any more is dropped.
    bundles: BTreeMap<u64, Digest>,
}

/// How a statement may move the floor.
enum Floor {
    /// A key that comes or goes, rules that change: the statement says whether something was taken away.
    StaysOrFollows,
    Follows,
    /// Something was allowed that was not: what was judged before stays as good as it was.
    Stays,
}

fn window(event: WindowEvent, until: Timestamp) -> (Floor, Option<Timestamp>) {
    match event {
        WindowEvent::Opened => (Floor::Stays, Some(until)),
        WindowEvent::Closed => (Floor::Follows, None),
    }
}

/// The column `stopped` of a head: ids, sorted, one space between.
pub fn listed(stopped: &BTreeSet<Scope>) -> String {
    let mut ids: Vec<String> = stopped.iter().map(ToString::to_string).collect();
    ids.sort_unstable();
    ids.join(" ")
}

impl Control {
    /// Takes over what a statement changes; refuses one that does not follow from those before. `at` is its entry's time.
    pub(crate) fn follow(&mut self, statement: &Statement, at: Timestamp) -> Result<(), Fault> {
        match statement {
            Statement::Key(said) => {
                let numbers = (said.control, said.floor, said.generation);
                self.step(numbers, Floor::StaysOrFollows, self.generation)
            }
            Statement::Published(said) => self.publish(said),
            Statement::Kill(said) => self.kill(said),
            Statement::Resume(said) => self.resume(said),
            Statement::Grant(said) => {
                let moves = match said.event {
                    GrantEvent::Given | GrantEvent::Renewed => Floor::Stays,
                    GrantEvent::Shortened | GrantEvent::Removed => Floor::Follows,
                };
                self.step((said.control, said.floor, said.generation), moves, self.generation)
            }
            Statement::Breakglass(said) => {
                let (moves, until) = window(said.event, said.until);
                self.breakglass_until = until;
                self.step((said.control, said.floor, said.generation), moves, self.generation)
            }
            Statement::Shadow(said) => {
                let (moves, until) = window(said.event, said.until);
                self.shadow_until = until;
                self.step((said.control, said.floor, said.generation), moves, self.generation)
            }
            Statement::Coverage(said) => self.unmoved((said.control, said.floor, said.generation)),
            Statement::Settings(said) => self.unmoved((said.control, said.floor, said.generation)),
            Statement::Decision(decision) if decision.is_cleared() => self.gate(decision, at),
            Statement::Decision(_)
            | Statement::Observation(_)
            | Statement::Received(_)
            | Statement::Epoch(_)
            | Statement::Finding(_)
            | Statement::Clearance(_)
            | Statement::Resolution(_)
            | Statement::Tombstone(_)
            | Statement::Probe(_)
            | Statement::Incident(_)
            | Statement::Hold(_)
            | Statement::Answer(_)
            | Statement::Session(_) => Ok(()),
        }
    }

    fn publish(&mut self, said: &Published) -> Result<(), Fault> {
        let moves = match (said.typ, self.registry) {
            (PublishedType::Registry, Some(_)) => Floor::Follows,
            (PublishedType::Registry, None) | (PublishedType::Rules, _) => Floor::StaysOrFollows,
        };
        self.step((said.control, said.floor, said.generation), moves, self.generation)?;
        match said.typ {
            PublishedType::Registry => self.registry = Some(said.document),
            PublishedType::Rules => self.rules = Some(said.document),
        }
        if self.registry.is_some() && self.rules.is_some() {
            self.bundles.insert(self.control, said.policy);
        }
        Ok(())
    }

    fn kill(&mut self, said: &Kill) -> Result<(), Fault> {
        let numbers = (said.control, said.floor, said.generation);
        let Some(scope) = &said.scope else {
            self.step(numbers, Floor::Follows, self.generation + 1)?;
            self.killed = true;
            (self.breakglass_until, self.shadow_until) = (None, None);
            return Ok(());
        };
        self.step(numbers, Floor::Follows, self.generation)?;
        self.stopped.insert(scope.clone());
        Ok(())
    }

    fn resume(&mut self, said: &Resume) -> Result<(), Fault> {
        self.step((said.control, said.floor, said.generation), Floor::Stays, self.generation)?;
        match &said.scope {
            None => self.killed = false,
            Some(scope) => drop(self.stopped.remove(scope)),
        }
        Ok(())
    }

    /// What changes nothing that decides carries the numbers in force.
    fn unmoved(&self, said: (u64, u64, u64)) -> Result<(), Fault> {
        let follows = (self.control, self.floor, self.generation);
        if said == follows {
            return Ok(());
        }
        Err(Fault::Differs { stored: format!("{said:?}"), follows: format!("{follows:?}") })
    }

    fn step(&mut self, said: (u64, u64, u64), moves: Floor, generation: u64) -> Result<(), Fault> {
        let (control, floor) = (self.control + 1, said.1);
        let floor_holds = match moves {
            Floor::Follows => floor == control,
            Floor::Stays => floor == self.floor,
            Floor::StaysOrFollows => floor == control || floor == self.floor,
        };
        if said.0 != control || said.2 != generation || !floor_holds {
            return Err(Fault::Differs {
                stored: format!("control {}, floor {}, gen {}", said.0, said.1, said.2),
                follows: format!("control {control}, floor {} or {control}, gen {generation}", self.floor),
            });
        }
        (self.control, self.floor, self.generation) = (control, floor, generation);
        let in_force_at_floor = self.bundles.range(..=floor).next_back().map(|(from, _)| *from);
        self.bundles.retain(|from, _| Some(*from) >= in_force_at_floor);
        Ok(())
    }

    /// A call that may go out was judged by what was in force.
    fn gate(&self, decision: &Decision, at: Timestamp) -> Result<(), Fault> {
        let refuse = |why| Err(Fault::NotCleared(why));
        if self.killed {
            return refuse("while the project is killed");
        }
        if self.stopped.iter().any(|scope| scope.covers(decision)) {
            return refuse("for an agent, a connection or an environment that is killed");
        }
        if decision.generation != self.generation {
            return refuse("under another kill generation");
        }
        if decision.control > self.control {
            return refuse("under a control number that was not reached");
        }
        if decision.control < self.floor {
            return refuse("under what was no longer in force");
        }
        let windows = Windows { breakglass_until: self.breakglass_until, shadow_until: self.shadow_until };
        if !windows.carry(decision, at) {
            return refuse("by a window that does not stand or softens no such verdict");
        }
        match self.bundles.range(..=decision.control).next_back() {
            Some((_, policy)) if *policy == decision.policy => Ok(()),
            Some(_) => refuse("under another policy than was in force"),
            None => refuse("before registry and rules were published"),
        }
    }

    pub(super) fn compare(&self, head: &StoredHead<'_>) -> Result<(), Broken> {
        let at = |column| Place::Head { column };
        let same = |column, stored: Option<&[u8]>, follows: Option<Digest>| {
            at(column).same_or_null(stored.map(hex), follows.map(|digest| digest.hex()))
        };
        at("control").same(head.control, signed(self.control))?;
        at("floor").same(head.floor, signed(self.floor))?;
        at("gen").same(head.generation, signed(self.generation))?;
        at("killed").same(head.killed, self.killed)?;
        at("stopped").same(head.stopped, listed(&self.stopped).as_str())?;
        let until = |window: Option<Timestamp>| window.map(Timestamp::millis);
        at("breakglass_until").same_or_null(head.breakglass_until, until(self.breakglass_until))?;
        at("shadow_until").same_or_null(head.shadow_until, until(self.shadow_until))?;
        same("policy", head.policy, self.bundles.values().next_back().copied())?;
        same("registry", head.registry, self.registry)?;
        same("rules", head.rules, self.rules)
    }
}
