//! The way of one call. Read this file first.
//!
//! Six stages, top to bottom, and no second way from a call to its execution (G4): each stage takes only what the one
//! before returns, and `execute` takes only what `clear` lets through, which takes only what `record` brought back with
//! a receipt that verified.
//!
//!     classify   what is it?         by the published registry alone; no tool classifies itself
//!     evaluate   may it?             by the published rules; the verdict is signed
//!     price      what does it cost?  only tools that take money; none does yet
//!     record     is it written down? the commit, acknowledged by a receipt; without one nothing goes out
//!     clear      does it go on?      DENY ends here; STEP_UP waits for a person, whose answer sends it round again
//!     execute    the call itself     capability, provider, observation
//!     tell       or the answer       where a vendor asks about a call that it makes itself: every verdict, and a capability

mod classify;
mod clear;
mod evaluate;
mod execute;
mod mint;
mod price;
mod record;
mod tell;

pub use classify::{Classified, Subject};
pub use clear::{Cleared, Sendable};
pub use evaluate::Judged;
pub use mint::audience;
pub use price::Priced;
pub use record::Recorded;
pub use tell::again;

use crate::answer::Answer;
use crate::call::Received;
use crate::house::House;

/// Why a call does not go on. Two of these take it round again, from the top.
pub enum Turn {
    /// The rules, the kill switch or the clock moved between judging and recording.
    Overtaken(Box<Received>),
    /// Its hold has ended: judged again, with the answer as a fact, as the action that asked.
    Answered(Box<Received>),
    /// There is no record, and therefore no call.
    Unrecorded,
    Ended(Answer),
}

/// Takes a call to its answer. A call that met other rules, or another past, than it was judged by is judged again, by the new ones.
pub async fn run(received: Received, house: &House) -> Answer {
    let answer = round(received, house).await;
    if answer.receipt.is_none() {
        house.metrics.unrecorded();
    }
    answer
}

/// How often what decides may move between judging and recording: each time something else was recorded first.
const MOST_OVERTAKEN: u8 = 8;

// INVARIANT: it ends. A call is answered once, since an answered one asks nobody, and overtaken so often for each answer.
async fn round(mut received: Received, house: &House) -> Answer {
    let mut overtaken = 0;
    loop {
        received = match once(received, house).await {
            Ok(answer) | Err(Turn::Ended(answer)) => return answer,
            Err(Turn::Answered(again)) => {
                overtaken = 0;
                *again
            }
            Err(Turn::Overtaken(again)) => {
                if overtaken == MOST_OVERTAKEN || again.caller.project.control.read_now().await.is_err() {
                    return Answer::unrecorded();
                }
                overtaken += 1;
                *again
            }
            Err(Turn::Unrecorded) => return Answer::unrecorded(),
        };
    }
}

async fn once(received: Received, house: &House) -> Result<Answer, Turn> {
    let classified = classify::classify(received, house).await?;
    let judged = evaluate::evaluate(classified, house).await?;
    let priced = price::price(judged);
    let recorded = record::record(priced, house).await?;
    Ok(match clear::clear(recorded, house).await? {
        Cleared::Call(call) => execute::execute(call, house).await,
        Cleared::Verdict(recorded) => tell::tell(&recorded, house).await,
    })
}

#[cfg(test)]
mod grant_tests;
#[cfg(test)]
mod hold_tests;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod tests;
