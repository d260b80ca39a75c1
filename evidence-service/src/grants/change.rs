//! What an operator does to grants that stand: takes them away, shortens or renews them. One commit, an entry a grant.

use std::sync::Arc;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::id::{AgentId, GrantId, ProjectId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Grant, GrantEvent, GrantType, PublicText, ServiceName, Statement, Verb};
use counterfoil_core::time::Timestamp;

use super::{LIFE_MINUTES, store, until};
use crate::control::public_text;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::store::unreadable;
use crate::ledger::{AppendError, Ledger};

/// Which of the grants that stand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Which {
    One(GrantId),
    Agent(AgentId),
    Service(ServiceName),
    Action(ServiceName, Verb),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    Remove,
    /// So many minutes from now on, and fewer than are left. Those of a group that end sooner stay as they are.
    Shorten {
        minutes: u32,
    },
    /// So many minutes from now on, and more than are left. Those of a group that end later stay as they are.
    Renew {
        minutes: u32,
    },
}

#[derive(Clone, Debug)]
pub struct Order {
    pub which: Which,
    pub change: Change,
    /// Public: 1 to 280 characters without an address.
    pub reason: Option<String>,
    /// A pseudonym, public.
    pub behalf: String,
}

/// What was changed, in the order of the entries, the last of which is `seq`.
#[derive(Clone, Debug)]
pub struct Changed {
    pub seq: u64,
    pub grants: Vec<GrantId>,
}

#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("no such grant stands")]
    NoneStands,
    #[error("it ends sooner already")]
    NotShorter,
    #[error("it ends later already")]
    NotLonger,
    #[error("a grant stands for 5 to 43200 minutes; it can be shortened to 1 and more")]
    Minutes,
    #[error(transparent)]
    Append(#[from] AppendError),
}

pub(crate) async fn change(
    ledger: &Arc<Ledger>,
    project: ProjectId,
    order: Order,
) -> Result<Changed, GrantError> {
    let fits = match order.change {
        Change::Remove => true,
        Change::Shorten { minutes } => (1..=*LIFE_MINUTES.end()).contains(&minutes),
        Change::Renew { minutes } => LIFE_MINUTES.contains(&minutes),
    };
    if !fits {
        return Err(GrantError::Minutes);
    }
    let reason = order
        .reason
        .as_deref()
        .map(|reason| reason.parse().map_err(|error| AppendError::Refused(format!("the reason: {error}"))));
    let reason: Option<PublicText> = reason.transpose()?;
    let behalf = public_text(&order.behalf)?;
    let issuer = ledger.project(project).await?.issuer.clone();
    let ledger = Arc::clone(ledger);
    // In a task of its own: a browser that goes away must not stop a commit half way.
    let task = tokio::spawn(async move {
        let Order { which, change, .. } = order;
        let job = Changing { issuer, which, change, reason, behalf, signer: &ledger.keys().ledger };
        let done = ledger.append(project, &job).await?;
        let seq = done.last_seq();
        let grants = done.outcome?;
        Ok(Changed { seq: seq.ok_or(AppendError::Unknown)?, grants })
    });
    task.await.map_err(|_| AppendError::Unknown)?
}

struct Changing<'k> {
    issuer: Issuer,
    which: Which,
    change: Change,
    reason: Option<PublicText>,
    behalf: String,
    signer: &'k SigningKey<LedgerPurpose>,
}

impl Changing<'_> {
    fn names(&self, document: &GrantDocument) -> bool {
        match &self.which {
            Which::One(grant) => document.grant == *grant,
            Which::Agent(agent) => document.agent == *agent,
            Which::Service(service) => document.service == *service,
            Which::Action(service, verb) => document.service == *service && document.verb == *verb,
        }
    }

    /// The event, and the end of a grant after it; an error where it would not change that way.
    fn becomes(
        &self,
        document: &GrantDocument,
        at: Timestamp,
    ) -> Result<(GrantEvent, Timestamp), GrantError> {
        match self.change {
            Change::Remove => Ok((GrantEvent::Removed, document.until)),
            Change::Shorten { minutes } if until(at, minutes) < document.until => {
                Ok((GrantEvent::Shortened, until(at, minutes)))
            }
            Change::Shorten { .. } => Err(GrantError::NotShorter),
            Change::Renew { minutes } if until(at, minutes) > document.until => {
                Ok((GrantEvent::Renewed, until(at, minutes)))
            }
            Change::Renew { .. } => Err(GrantError::NotLonger),
        }
    }

    fn statement(&self, head: &Head, event: GrantEvent, text: &GrantDocument, at: Timestamp) -> Grant {
        Grant {
            typ: GrantType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            event,
            grant: text.grant,
            agent: text.agent,
            service: text.service.clone(),
            verb: text.verb,
            document: text.digest(),
            until: text.until,
            answer: None,
            reason: self.reason.clone(),
        }
    }
}

impl Job for Changing<'_> {
    type Outcome = Result<Vec<GrantId>, GrantError>;

    fn questions(&self) -> Questions {
        Questions { live_grants: true, ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Self::Outcome>, AppendError> {
        let mut head = head.clone();
        let (mut accepted, mut grants, mut why) = (Vec::new(), Vec::new(), GrantError::NoneStands);
        let standing = facts.grants.iter().filter(|document| document.until > at && self.names(document));
        for document in standing {
            let (event, until) = match self.becomes(document, at) {
                Ok(becomes) => becomes,
                Err(error) => {
                    why = error;
                    continue;
                }
            };
            head.count_control(match event {
                GrantEvent::Given | GrantEvent::Renewed => Width::Wider,
                GrantEvent::Shortened | GrantEvent::Removed => Width::Narrower,
            });
            let text = GrantDocument { until, ..document.clone() };
            let said = Signed::sign(self.statement(&head, event, &text, at), self.signer);
            accepted.push(Accepted::said(&said, |grant| Statement::Grant(Box::new(grant))));
            grants.push(document.grant);
        }
        let outcome = if grants.is_empty() { Err(why) } else { Ok(grants) };
        Ok(Plan::saying(head, accepted, outcome))
    }

    /// Read back out of what is being stored, so that the rows say what the entries say.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        for placed in &sealed.placed[sealed.before..] {
            let envelope = Envelope::parse(&placed.accepted.body).map_err(unreadable)?;
            let Statement::Grant(said) = envelope.statement().map_err(unreadable)? else { continue };
            let text = store::text(tx, said.grant).await?;
            store::end(tx, said.grant, placed.entry.seq).await?;
            if said.event == GrantEvent::Removed {
                continue;
            }
            let text = GrantDocument { until: said.until, ..text };
            if text.digest() != said.document {
                return Err(unreadable("a grant whose text is not the one that was signed"));
            }
            store::insert(tx, placed.entry.seq, &text).await?;
        }
        Ok(())
    }
}
