//! Grants at a place in the chain: what stands, and that a call leans on nothing that does not (G3).
//!
//! Which answer gave a grant is judged beside ([`super::answers`]). What stands is remembered until its end, so memory holds
//! no more than there is. A record that does not start at entry 0 cannot say what stood before it: there nobody asks.

use super::broken::Fault;
use crate::id::{AgentId, GrantId, RuleId};
use crate::statement::{Decision, Grant, GrantEvent, Reason, ServiceName, Statement, Verb};
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A decision is entered within fifteen seconds, so it may have been judged by a grant that ended meanwhile.
const JUDGED_BEFORE_MILLIS: i64 = 60_000;
/// Ids of rules never begin so.
const PREFIX: &str = "grt_";

#[derive(Debug, Default)]
pub(crate) struct Grants {
    standing: BTreeMap<GrantId, Standing>,
    by_end: BTreeSet<(Timestamp, GrantId)>,
}

#[derive(Debug)]
struct Standing {
    agent: AgentId,
    service: ServiceName,
    verb: Verb,
    /// Control from which it stands.
    from: u64,
    until: Timestamp,
}

impl Grants {
    /// Takes over what gives, changes or takes grants; refuses a change of one that does not stand, and a call that leans on
    /// one. `at` is the entry's time.
    pub(crate) fn follow(&mut self, statement: &Statement, at: Timestamp) -> Result<(), Fault> {
        self.forget(at);
        match statement {
            Statement::Grant(said) => self.change(said, at),
            Statement::Kill(kill) if kill.scope.is_none() => {
                self.standing.clear();
                self.by_end.clear();
                Ok(())
            }
            Statement::Decision(decision) if decision.is_cleared() => self.gate(decision),
            _ => Ok(()),
        }
    }

    fn change(&mut self, said: &Grant, at: Timestamp) -> Result<(), Fault> {
        let stood = self.standing.remove(&said.grant);
        let mut from = said.control;
        if let Some(stood) = &stood {
            self.by_end.remove(&(stood.until, said.grant));
            from = stood.from;
        }
        let stands =
            stood.is_some_and(|stood| stood.until > at && stood.is_for(said.agent, &said.service, said.verb));
        if stands == (said.event == GrantEvent::Given) {
            return Err(Fault::NotGiven(if stands {
                "that stands already"
            } else {
                "anew that does not stand"
            }));
        }
        if said.event != GrantEvent::Removed {
            let Grant { grant, agent, ref service, verb, until, .. } = *said;
            self.standing.insert(grant, Standing { agent, service: service.clone(), verb, from, until });
            self.by_end.insert((until, grant));
        }
        Ok(())
    }

    /// Every grant that made this verdict is this agent's and for this action, stood when it was judged, and had not ended.
    fn gate(&self, decision: &Decision) -> Result<(), Fault> {
        let named: Vec<&str> =
            decision.rules.iter().map(RuleId::as_str).filter(|id| id.starts_with(PREFIX)).collect();
        if decision.reason == Reason::Grant && named.is_empty() {
            return Err(Fault::NotCleared("by a grant, and names none"));
        }
        let stands = |id: &&str| {
            let stood = id.parse::<GrantId>().ok().and_then(|id| self.standing.get(&id));
            stood.is_some_and(|stood| stood.lets_go(decision))
        };
        if named.iter().all(stands) {
            Ok(())
        } else {
            Err(Fault::NotCleared("by a grant that does not stand for it"))
        }
    }

    fn forget(&mut self, now: Timestamp) {
        while let Some((until, grant)) = self.by_end.first().copied() {
            if now.millis() - until.millis() <= JUDGED_BEFORE_MILLIS {
                return;
            }
            self.by_end.remove(&(until, grant));
            self.standing.remove(&grant);
        }
    }
}

impl Standing {
    fn is_for(&self, agent: AgentId, service: &ServiceName, verb: Verb) -> bool {
        self.agent == agent && self.service == *service && self.verb == verb
    }

    fn lets_go(&self, decision: &Decision) -> bool {
        let action = decision.class.as_ref().map(|class| (&class.service, class.verb));
        action.is_some_and(|(service, verb)| self.is_for(decision.agent, service, verb))
            && self.from <= decision.control
            && decision.at < self.until
    }
}
