//! Whether an action was asked before, for a gateway that is about to judge it. Read without the head's lock: advice.

use counterfoil_core::declared::{Asked, Asking, Before, DeclaredSession};
use counterfoil_core::receipt::Receipt;
use counterfoil_core::record::Recorded;
use counterfoil_core::statement::Statement;

use super::store::{self, Declared};
use crate::clock;
use crate::ledger::facts::Stored;
use crate::ledger::judge::may_be_told_again;
use crate::ledger::store::{read_head, stored};
use crate::ledger::{AppendError, Ledger};

impl Ledger {
    pub(super) async fn asked(&self, asking: &Asking) -> Result<Asked, AppendError> {
        let env = self.project(asking.project).await?.env;
        let now = clock::now();
        let answer = |session, before| Asked { v: 1, ledger_time: now, session, before };
        let mut client = self.database().app().await?;
        let tx = client.begin(asking.project).await?;
        let found = store::declared(&tx, asking.key, &[self.external(&asking.external)]).await?;
        let Some(Declared { session, head_hash, closed, .. }) = found.into_iter().next() else {
            return Ok(answer(None, Before::Nothing));
        };
        let declared = Some(DeclaredSession { session, head_hash, closed });
        let Ok(place) = i64::try_from(asking.action.seq) else {
            return Ok(answer(declared, Before::Conflict));
        };
        let named = asking.action.idempotency(session, asking.idempotency.as_deref());
        let keyed = store::keyed(&tx, env.as_str(), asking.key, &named.key).await?;
        let places = store::places(&tx, &[(session.uuid(), place)]).await?;
        let keyed = keyed.map(|keyed| (keyed.fingerprint, keyed.seq));
        let taken: Vec<_> =
            keyed.into_iter().chain(places.iter().map(|taken| (taken.fingerprint, taken.seq))).collect();
        if taken.iter().any(|(fingerprint, _)| *fingerprint != named.fingerprint) {
            return Ok(answer(declared, Before::Conflict));
        }
        // The newest: an action that was judged again stands at both.
        let Some(seq) = taken.iter().map(|(_, seq)| *seq).max() else {
            return Ok(answer(declared, Before::Nothing));
        };
        let head = read_head(&tx).await?.ok_or(AppendError::NoSuchProject)?;
        let before = match stored(&tx, &[seq]).await?.remove(&seq) {
            // The body is gone, and with it what could be told.
            None => Before::Conflict,
            Some(found) if may_be_told_again(&found, &head, now).is_ok() => told(found)?,
            Some(found) => again(&found),
        };
        Ok(answer(declared, before))
    }
}

fn told(found: Stored) -> Result<Before, AppendError> {
    let receipt = Receipt::new(&found.body, found.entry.clone(), &found.path, &found.note);
    let receipt = receipt.ok_or(AppendError::Unknown)?;
    Ok(Before::Answered(Recorded { digest: found.entry.body, receipt }))
}

fn again(found: &Stored) -> Before {
    match &found.statement {
        Statement::Decision(decision) => {
            Before::Again { action: decision.action, decision: found.entry.body }
        }
        _ => Before::Conflict,
    }
}
