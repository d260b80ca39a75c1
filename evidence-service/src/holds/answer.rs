//! `answer/v1`, and the `grant/v1` that it gives, in one commit.
//!
//! What the answer is about is read before the lock is taken and proved again under it: the hold is open, its decision
//! and its card are those that the person saw. Of any number of answers to one hold the first commit wins.

use std::sync::Arc;

use counterfoil_core::control::GrantDocument;
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::{Envelope, Signed};
use counterfoil_core::hold::{Answered, Card, HoldIs};
use counterfoil_core::id::{GrantId, HoldId, ProjectId};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{
    Answer, AnswerType, AnsweredBy, Grant, GrantEvent, GrantType, Say, Statement,
};
use counterfoil_core::time::Timestamp;

use super::store::{self, HoldRow};
use super::{opened, word};
use crate::clock;
use crate::control::public_text;
use crate::database::{DatabaseError, ProjectTx};
use crate::grants::{self, LIFE_MINUTES};
use crate::ledger::append::{Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};
use crate::ledger::store::unreadable;
use crate::ledger::{AppendError, Ledger};

/// What a person says to one hold.
#[derive(Clone, Debug)]
pub struct Order {
    pub hold: HoldId,
    /// Digest of the held decision that was seen.
    pub decision: Digest,
    /// Digest of the card that was seen.
    pub card: Digest,
    pub say: Say,
    /// How long the grant of `approve_for` stands; with anything else there are none.
    pub minutes: Option<u32>,
    /// A pseudonym, public.
    pub behalf: String,
    pub by: AnsweredBy,
}

/// The answer stands.
#[derive(Clone, Debug)]
pub struct Done {
    /// Number of the answer's entry.
    pub seq: u64,
    pub answer: Digest,
    pub until: Option<Timestamp>,
    /// One a noun.
    pub grants: Vec<GrantId>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("there is no such hold")]
    NoSuchHold,
    /// Answered, expired, swept or dispatched before this answer came.
    #[error("the hold is {} already", word(*.0))]
    Gone(HoldIs),
    #[error("the answer names another decision than the one that is held")]
    OtherDecision,
    #[error("the answer names another card than the one that the hold has")]
    OtherCard,
    #[error("this hold can be denied, or approved for this one call only")]
    OnceOnly,
    #[error("a grant stands for 5 to 43200 minutes, and only `approve_for` has minutes")]
    Minutes,
    #[error("the project is killed")]
    Killed,
    #[error(
        "the card does not open under this service's key-encryption key, so it can only be denied or approved once"
    )]
    Unopened,
    #[error(transparent)]
    Append(#[from] AppendError),
}

pub(super) async fn answer(
    ledger: &Arc<Ledger>,
    project: ProjectId,
    order: Order,
) -> Result<Done, AnswerError> {
    let asked = order.minutes;
    let fits = match order.say {
        Say::ApproveFor => asked.is_some_and(|minutes| LIFE_MINUTES.contains(&minutes)),
        Say::Deny | Say::ApproveOnce => asked.is_none(),
    };
    if !fits {
        return Err(AnswerError::Minutes);
    }
    let order = Order { behalf: public_text(&order.behalf)?, ..order };
    let issuer = ledger.project(project).await?.issuer.clone();
    let documents = match order.say {
        Say::ApproveFor => documents(ledger, project, &order).await?,
        Say::Deny | Say::ApproveOnce => Vec::new(),
    };
    let ledger = Arc::clone(ledger);
    // In a task of its own: a browser that goes away must not stop a commit half way.
    let task = tokio::spawn(async move {
        let job = Answering { issuer, order, documents, signer: &ledger.keys().ledger };
        let done = ledger.append(project, &job).await?;
        let (sealed, grants) = (done.sealed, job.documents.iter().map(|document| document.grant).collect());
        let until = done.outcome?;
        let placed = sealed.as_ref().and_then(|sealed| sealed.placed.get(sealed.before));
        let placed = placed.ok_or(AppendError::Unknown)?;
        Ok(Done { seq: placed.entry.seq, answer: placed.accepted.digest, until, grants })
    });
    task.await.map_err(|_| AppendError::Unknown)?
}

/// One grant a noun, as the card shows them; their end is known under the lock.
async fn documents(
    ledger: &Ledger,
    project: ProjectId,
    order: &Order,
) -> Result<Vec<GrantDocument>, AnswerError> {
    let mut client = ledger.database().app().await.map_err(AppendError::from)?;
    let tx = client.begin(project).await.map_err(AppendError::from)?;
    let found = store::one(&tx, order.hold).await.map_err(AppendError::from)?;
    let (row, card) = found.ok_or(AnswerError::NoSuchHold)?;
    may_be_answered(&row, order)?;
    let card = card.and_then(|card| opened(ledger, project, row.hold, &card)).ok_or(AnswerError::Unopened)?;
    of_card(&card)
}

fn of_card(card: &Card) -> Result<Vec<GrantDocument>, AnswerError> {
    let class = card.class.as_ref().filter(|class| !class.nouns.is_empty()).ok_or(AnswerError::OnceOnly)?;
    let documents = class.nouns.iter().map(|noun| {
        Ok(GrantDocument {
            v: 1,
            nonce: clock::fresh_nonce()?,
            grant: GrantId::from_uuid(clock::fresh_uuid()),
            agent: card.agent,
            service: class.service.clone(),
            verb: class.verb,
            noun: noun.clone(),
            fields: class.fields.clone(),
            until: card.expires_at,
        })
    });
    let documents: Result<Vec<_>, clock::NoChance> = documents.collect();
    Ok(documents.map_err(|error| AppendError::Unavailable(error.to_string()))?)
}

/// What does not change while the hold is open.
fn may_be_answered(row: &HoldRow, order: &Order) -> Result<(), AnswerError> {
    if row.is != HoldIs::Open {
        return Err(AnswerError::Gone(row.is));
    }
    if row.decision != order.decision {
        return Err(AnswerError::OtherDecision);
    }
    if row.card_digest != order.card {
        return Err(AnswerError::OtherCard);
    }
    if row.once_only && order.say == Say::ApproveFor {
        return Err(AnswerError::OnceOnly);
    }
    Ok(())
}

struct Answering<'k> {
    issuer: Issuer,
    order: Order,
    /// Their `until` is not theirs yet.
    documents: Vec<GrantDocument>,
    signer: &'k SigningKey<LedgerPurpose>,
}

impl Answering<'_> {
    fn may(&self, head: &Head, row: &HoldRow, at: Timestamp) -> Result<(), AnswerError> {
        if head.killed {
            return Err(AnswerError::Killed);
        }
        may_be_answered(row, &self.order)?;
        if at >= row.expires_at {
            return Err(AnswerError::Gone(HoldIs::Expired));
        }
        Ok(())
    }

    fn until(&self, row: &HoldRow, at: Timestamp) -> Option<Timestamp> {
        match self.order.say {
            Say::Deny => None,
            Say::ApproveOnce => Some(row.expires_at),
            Say::ApproveFor => self.order.minutes.map(|minutes| grants::until(at, minutes)),
        }
    }

    fn answer(&self, head: &Head, row: &HoldRow, at: Timestamp) -> Answer {
        Answer {
            typ: AnswerType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            behalf: self.order.behalf.clone(),
            authorization: None,
            by: self.order.by,
            hold: row.hold,
            action: row.action,
            decision: row.decision,
            card: row.card_digest,
            answer: self.order.say,
            grants: self.documents.iter().map(|document| document.grant).collect(),
            until: self.until(row, at),
        }
    }

    fn grant(&self, head: &Head, document: &GrantDocument, answer: Digest, at: Timestamp) -> Grant {
        Grant {
            typ: GrantType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.order.behalf.clone(),
            authorization: None,
            event: GrantEvent::Given,
            grant: document.grant,
            agent: document.agent,
            service: document.service.clone(),
            verb: document.verb,
            document: document.digest(),
            until: document.until,
            answer: Some(answer),
            reason: None,
        }
    }

    /// The texts of the grants, with the end that they have if they are given then.
    fn ending(&self, at: Timestamp) -> impl Iterator<Item = GrantDocument> {
        let until = self.order.minutes.map(|minutes| grants::until(at, minutes));
        self.documents.iter().map(move |document| {
            let until = until.unwrap_or(document.until);
            GrantDocument { until, ..document.clone() }
        })
    }
}

impl Job for Answering<'_> {
    type Outcome = Result<Option<Timestamp>, AnswerError>;

    fn questions(&self) -> Questions {
        Questions { holds: vec![self.order.hold.uuid()], ..Questions::default() }
    }

    fn plan(&self, head: &Head, facts: &Facts, at: Timestamp) -> Result<Plan<Self::Outcome>, AppendError> {
        let mut head = head.clone();
        let refused = |head, error| Plan::saying(head, Vec::new(), Err(error));
        let Some(row) = facts.holds.get(&self.order.hold) else {
            return Ok(refused(head, AnswerError::NoSuchHold));
        };
        if let Err(error) = self.may(&head, row, at) {
            return Ok(refused(head, error));
        }
        let signed = Signed::sign(self.answer(&head, row, at), self.signer);
        let until = signed.payload().until;
        let mut accepted = vec![Accepted::said(&signed, |answer| Statement::Answer(Box::new(answer)))];
        for document in self.ending(at) {
            // What is given moves no floor: what was judged before is as good as it was.
            head.count_control(Width::Wider);
            let grant = Signed::sign(self.grant(&head, &document, signed.digest(), at), self.signer);
            accepted.push(Accepted::said(&grant, |grant| Statement::Grant(Box::new(grant))));
        }
        Ok(Plan::saying(head, accepted, Ok(until)))
    }

    /// Read back out of what is being stored, so that the rows say what the entries say.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let mut documents = self.ending(sealed.head.last_at);
        for placed in &sealed.placed[sealed.before..] {
            let envelope = Envelope::parse(&placed.accepted.body).map_err(unreadable)?;
            match envelope.statement().map_err(unreadable)? {
                Statement::Answer(said) => {
                    let answered =
                        Answered { answer: placed.accepted.digest, say: said.answer, until: said.until };
                    store::answered(tx, said.hold, &answered).await?;
                }
                Statement::Grant(said) => {
                    let document = documents.next().filter(|document| document.digest() == said.document);
                    let document = document.ok_or_else(|| unreadable("a grant without its text"))?;
                    grants::store::insert(tx, placed.entry.seq, &document).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
