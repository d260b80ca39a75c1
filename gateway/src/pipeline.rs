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
//!     clear      does it go on?      DENY and STEP_UP end here, as results that say so
//!     execute    the call itself     capability, provider, observation

mod classify;
mod clear;
mod evaluate;
mod execute;
mod price;
mod record;

pub use classify::{Classified, Subject};
pub use clear::Cleared;
pub use evaluate::Judged;
pub use price::Priced;
pub use record::{Recorded, Unrecorded};

use crate::answer::Answer;
use crate::call::Received;
use crate::house::House;

/// Takes a call to its answer. A call that met other rules than it was judged by is judged once more, by the new ones.
pub async fn run(received: Received, house: &House) -> Answer {
    let answer = twice_at_most(received, house).await;
    if answer.receipt.is_none() {
        house.metrics.unrecorded();
    }
    answer
}

async fn twice_at_most(received: Received, house: &House) -> Answer {
    match once(received, house).await {
        Ok(answer) => answer,
        Err(Unrecorded::Overtaken(received)) => {
            if received.caller.project.control.read_now().await.is_err() {
                return Answer::unrecorded();
            }
            once(*received, house).await.unwrap_or_else(|_| Answer::unrecorded())
        }
        Err(Unrecorded::Failed) => Answer::unrecorded(),
    }
}

async fn once(received: Received, house: &House) -> Result<Answer, Unrecorded> {
    let classified = classify::classify(received, house).await?;
    let judged = evaluate::evaluate(classified, house)?;
    let priced = price::price(judged);
    let recorded = record::record(priced, house).await?;
    match clear::clear(recorded) {
        Ok(cleared) => Ok(execute::execute(cleared, house).await),
        Err(answer) => Ok(answer),
    }
}

#[cfg(test)]
mod grant_tests;
#[cfg(test)]
mod tests;
