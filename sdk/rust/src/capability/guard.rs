//! The guard of one provider.
//!
//! The order of its checks is the one to keep: nothing in a token is believed before its signature holds, and nothing is
//! used up that may not run (docs/formats/capability.md).

use super::admitted::{Admitted, Executions};
use super::builder::{GuardBuilder, Place};
use super::generation::Generation;
use super::keys::GatewayKeys;
use super::params::Params;
use super::refusal::{Refusal, RefusalCode};
use super::stores::Store;
use super::token::split;
use crate::clock::Clock;
use crate::verify::{KeySet, PinnedKey, verify_receipt};
use counterfoil_core::capability::{CAPABILITY_TYPE, Claims, MAX_LIFE, call_hash};
use counterfoil_core::id::ProjectId;
use counterfoil_core::json::canonical_value;
use counterfoil_core::statement::Statement;
use counterfoil_core::time::Timestamp;
use serde_json::Value;
use std::sync::Arc;

/// Where a capability stands in `params._meta`.
pub const CAPABILITY: &str = "dev.counterfoil/capability";
/// Where the receipt of its decision stands, in mode `proof`.
pub const RECEIPT: &str = "dev.counterfoil/receipt";

// Five seconds: both ends follow ledger time; more would stretch a thirty-second slip.
const LEEWAY: i64 = 5;
/// Seconds for which a used capability is remembered after any clock here could still accept it.
const REMEMBERED: i64 = 60;

/// Whether calls that only a shadow window lets pass may run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advisory {
    Refuse,
    Run,
}

pub(super) type OnRefusal = Box<dyn Fn(&Refusal) + Send + Sync>;

pub(super) struct Inner {
    pub(super) place: Place,
    pub(super) audience: String,
    pub(super) keys: Arc<GatewayKeys>,
    pub(super) generation: Generation,
    pub(super) store: Arc<dyn Store>,
    pub(super) proof: Option<KeySet>,
    pub(super) advisory: Advisory,
    pub(super) on_refusal: Option<OnRefusal>,
    pub(super) executions: Arc<Executions>,
    pub(super) clock: Clock,
}

/// Demands, checks and uses up the capability of each call of one provider. Clones are the same guard.
#[derive(Clone)]
pub struct Guard(pub(super) Arc<Inner>);

impl Guard {
    /// A guard of this place, whose used capabilities are remembered in that store. There is no guard without one.
    pub fn builder(place: Place, store: impl Store + 'static) -> GuardBuilder {
        GuardBuilder::new(place, Arc::new(store))
    }

    /// Our registered resource: what `aud` of a capability must say.
    #[must_use]
    pub fn audience(&self) -> &str {
        &self.0.audience
    }

    /// Checks the capability of one `tools/call` and uses it up. `header` is the request's `Tool-Capability`, where there
    /// is one.
    pub async fn admit(&self, params: Params, header: Option<&str>) -> Result<Admitted, Refusal> {
        self.admit_in(params, header, &*self.0.store).await
    }

    /// As [`Guard::admit`], remembering in this store instead: one that stands or falls with the effect's own transaction.
    pub async fn admit_in(
        &self,
        params: Params,
        header: Option<&str>,
        store: &dyn Store,
    ) -> Result<Admitted, Refusal> {
        let admitted = self.checked(params, header, store).await;
        if let (Err(refusal), Some(tell)) = (&admitted, &self.0.on_refusal) {
            tell(refusal);
        }
        admitted
    }

    #[cfg(any(feature = "tower", feature = "stdio"))]
    pub(crate) fn refuse(&self, code: RefusalCode) -> Refusal {
        let refusal = Refusal::from(code);
        if let Some(tell) = &self.0.on_refusal {
            tell(&refusal);
        }
        refusal
    }

    async fn checked(
        &self,
        mut params: Params,
        header: Option<&str>,
        store: &dyn Store,
    ) -> Result<Admitted, Refusal> {
        let inner = &*self.0;
        let started_at = (inner.clock)();
        let token = presented(&params, header)?.to_owned();
        let parts = split(&token)?;
        let key = inner.keys.find(&parts.kid(CAPABILITY_TYPE)?).await?;
        key.key().verify(parts.signed, &parts.signature).map_err(|_| RefusalCode::Signature)?;
        let claims = parts.claims(&inner.place.issuer, inner.place.env)?;
        self.demand_place(&claims)?;
        demand_time(&claims, &key, (inner.clock)())?;
        let arguments = params.arguments();
        self.demand_call(&claims, &params, &arguments)?;
        inner.generation.demand(claims.generation).await?;
        if let Some(pinned) = &inner.proof {
            demand_receipt(&params, &claims, inner.place.project, pinned)?;
        }
        consume(&claims, store).await?;
        Ok(Admitted::new(claims, arguments, started_at, inner.executions.clone(), inner.clock.clone()))
    }

    fn demand_place(&self, claims: &Claims) -> Result<(), Refusal> {
        let Place { issuer, env, .. } = &self.0.place;
        if claims.iss != *issuer {
            return Err(RefusalCode::Issuer.into());
        }
        if claims.aud != self.0.audience {
            return Err(RefusalCode::Audience.into());
        }
        if claims.env != *env {
            return Err(RefusalCode::Environment.into());
        }
        let is_advisory = claims.adv.is_some() && self.0.advisory == Advisory::Refuse;
        if is_advisory || claims.cnf.is_some() { Err(RefusalCode::Unsupported.into()) } else { Ok(()) }
    }

    fn demand_call(&self, claims: &Claims, params: &Params, arguments: &Value) -> Result<(), Refusal> {
        let call = &claims.call;
        if call.m != "tools/call" || params.name() != Some(call.t.as_str()) {
            return Err(RefusalCode::Tool.into());
        }
        let hash = call_hash(&self.0.audience, &call.m, &call.t, arguments, params.input_responses());
        if call.h == hash { Ok(()) } else { Err(RefusalCode::Arguments.into()) }
    }
}

fn presented<'p>(params: &'p Params, header: Option<&'p str>) -> Result<&'p str, Refusal> {
    let in_message = match params.meta(CAPABILITY) {
        Some(Value::String(token)) => Some(token.as_str()),
        Some(_) if header.is_some() => return Err(RefusalCode::Twice.into()),
        Some(_) => return Err(RefusalCode::Malformed.into()),
        None => None,
    };
    match (in_message, header) {
        (Some(one), Some(other)) if one != other => Err(RefusalCode::Twice.into()),
        (Some(token), _) | (None, Some(token)) => Ok(token),
        (None, None) => Err(RefusalCode::Missing.into()),
    }
}

fn demand_time(claims: &Claims, key: &PinnedKey, now: Timestamp) -> Result<(), Refusal> {
    let seconds = now.millis() / 1000;
    let life = claims.exp - claims.iat;
    if life <= 0 || life > MAX_LIFE {
        return Err(RefusalCode::Life.into());
    }
    let is_begun = claims.iat <= seconds + LEEWAY && claims.nbf <= seconds + LEEWAY;
    let is_running = seconds < claims.exp + LEEWAY;
    // A key that was replaced signs nothing new, but what it signed just before still counts.
    let is_live_key = key.until().is_none_or(|until| claims.iat <= until.millis() / 1000 + LEEWAY);
    if is_begun && is_running && is_live_key {
        Ok(())
    } else {
        Err(Refusal::with(RefusalCode::Time, format!("the time here is {now}")))
    }
}

fn demand_receipt(
    params: &Params,
    claims: &Claims,
    project: ProjectId,
    pinned: &KeySet,
) -> Result<(), Refusal> {
    let receipt = params.meta(RECEIPT).ok_or(RefusalCode::Receipt)?;
    let verified = verify_receipt(&canonical_value(receipt), pinned)
        .map_err(|refused| Refusal::with(RefusalCode::Receipt, refused.to_string()))?;
    let Statement::Decision(decision) = &verified.statement else { return Err(RefusalCode::Receipt.into()) };
    let is_ours = verified.digest == claims.dec
        && decision.action == claims.txn
        && decision.capability == Some(claims.jti)
        && decision.project == project;
    if is_ours && decision.is_cleared() { Ok(()) } else { Err(RefusalCode::Receipt.into()) }
}

async fn consume(claims: &Claims, store: &dyn Store) -> Result<(), Refusal> {
    let forget_at = claims.exp + LEEWAY + REMEMBERED;
    match store.consume(&claims.aud, &claims.jti.to_string(), forget_at).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(RefusalCode::Used.into()),
        Err(_) => Err(RefusalCode::Store.into()),
    }
}
