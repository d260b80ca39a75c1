//! `breakglass/v1` and `shadow/v1`: for a while what nothing allows runs, or what published rules refuse is only said.
//!
//! Promised: a window has a reason and an end, and ends at its time without anybody's doing, by a closing, or by a kill of
//! the project. Nothing opens one under a kill. What a window changes is the gateway's to say; that a decision leans on
//! one that stands is judged under the head's lock.

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Breakglass, BreakglassType, PublicText, Shadow, ShadowType, WindowEvent};
use counterfoil_core::time::Timestamp;

use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::{Head, Width};
use crate::ledger::seal::{Accepted, Sealed};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Window {
    /// What nothing allows runs and is marked.
    Breakglass,
    /// What published rules refuse or hold is said and not enforced.
    Shadow,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Turn {
    Open { minutes: u32 },
    Close,
}

const MINUTE_MILLIS: i64 = 60_000;

impl Window {
    /// A day of break-glass: long enough for a night on call, too short to become the usual way. A month of shadow: a
    /// billing period of traffic to see new rules by.
    pub const fn longest_minutes(self) -> u32 {
        match self {
            Self::Breakglass => 24 * 60,
            Self::Shadow => 30 * 24 * 60,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Breakglass => "break-glass",
            Self::Shadow => "shadow",
        }
    }

    fn of(self, head: &mut Head) -> &mut Option<Timestamp> {
        match self {
            Self::Breakglass => &mut head.breakglass_until,
            Self::Shadow => &mut head.shadow_until,
        }
    }
}

pub(crate) struct Turning<'k> {
    pub(crate) window: Window,
    pub(crate) turn: Turn,
    pub(crate) issuer: Issuer,
    pub(crate) behalf: String,
    pub(crate) reason: PublicText,
    pub(crate) signer: &'k SigningKey<LedgerPurpose>,
}

impl Turning<'_> {
    /// What is said, and until when.
    fn change(&self, head: &mut Head, at: Timestamp) -> Result<(WindowEvent, Timestamp), AppendError> {
        let name = self.window.name();
        let killed = head.killed;
        let stands = self.window.of(head).filter(|until| *until > at);
        match (self.turn, stands) {
            (Turn::Open { .. }, _) if killed => {
                Err(AppendError::Refused(format!("the project is killed; no {name} window opens over that")))
            }
            (Turn::Open { .. }, Some(until)) => {
                Err(AppendError::Refused(format!("a {name} window is open until {until}; close it first")))
            }
            (Turn::Open { minutes }, None) => {
                let most = self.window.longest_minutes();
                if !(1..=most).contains(&minutes) {
                    let why = format!("a {name} window stands for 1 to {most} minutes, not {minutes}");
                    return Err(AppendError::Refused(why));
                }
                let until = at.plus_millis(i64::from(minutes) * MINUTE_MILLIS);
                *self.window.of(head) = Some(until);
                head.count_control(Width::Wider);
                Ok((WindowEvent::Opened, until))
            }
            (Turn::Close, Some(_)) => {
                *self.window.of(head) = None;
                head.count_control(Width::Narrower);
                Ok((WindowEvent::Closed, at))
            }
            (Turn::Close, None) => Err(AppendError::Refused(format!("no {name} window is open"))),
        }
    }
}

impl Job for Turning<'_> {
    /// Until when the window stands, or when it was closed.
    type Outcome = Timestamp;

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<Timestamp>, AppendError> {
        let mut head = head.clone();
        let (event, until) = self.change(&mut head, at)?;
        let (iss, project, behalf, reason) =
            (self.issuer.clone(), head.project, self.behalf.clone(), self.reason.clone());
        let (control, floor, generation) = (head.control, head.floor, head.generation);
        let authorization = None;
        let accepted = match self.window {
            Window::Breakglass => {
                let typ = BreakglassType::V1;
                let said = Breakglass {
                    typ,
                    iss,
                    project,
                    at,
                    control,
                    floor,
                    generation,
                    behalf,
                    authorization,
                    event,
                    until,
                    reason,
                };
                Accepted::own(Kind::Breakglass, &Signed::sign(said, self.signer))
            }
            Window::Shadow => {
                let typ = ShadowType::V1;
                let said = Shadow {
                    typ,
                    iss,
                    project,
                    at,
                    control,
                    floor,
                    generation,
                    behalf,
                    authorization,
                    event,
                    until,
                    reason,
                };
                Accepted::own(Kind::Shadow, &Signed::sign(said, self.signer))
            }
        };
        Ok(Plan::saying(head, vec![accepted], until))
    }

    async fn beside(&self, _: &ProjectTx<'_>, _: &Sealed) -> Result<(), DatabaseError> {
        Ok(())
    }
}
