//! What a guard is told once, and no token ever changes.

use super::admitted::Executions;
use super::generation::{Following, Generation, Known};
use super::guard::{Advisory, Guard, Inner, OnRefusal};
use super::keys::{GatewayKeys, KeySource};
use super::refusal::Refusal;
use super::stores::Store;
use crate::clock::{self, Clock};
use crate::execution::{Envelope, Signer};
use crate::fetch::{Fetch, FetchError};
use crate::verify::KeySet;
use counterfoil_core::id::{IdError, ProjectId, ProviderId};
use counterfoil_core::issuer::{Issuer, IssuerError};
use counterfoil_core::statement::{Environment, SeenCheckpoint};
use std::sync::Arc;

/// Which provider of which project, as `counterfoil init` and the registry name them.
#[derive(Clone, Debug)]
pub struct Place {
    /// The only issuer whose capabilities count: `https://<host>/p/<slot>-<public id>`.
    pub issuer: Issuer,
    /// `prj_…`, for what we sign.
    pub project: ProjectId,
    /// Ours, as the registry names us.
    pub provider: ProviderId,
    pub env: Environment,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PlaceError {
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    #[error(transparent)]
    Id(#[from] IdError),
}

impl Place {
    pub fn parse(issuer: &str, project: &str, provider: &str, env: Environment) -> Result<Self, PlaceError> {
        Ok(Self { issuer: issuer.parse()?, project: project.parse()?, provider: provider.parse()?, env })
    }
}

/// Builds a [`Guard`]. Without a word more it demands everything and signs nothing.
pub struct GuardBuilder {
    place: Place,
    store: Arc<dyn Store>,
    audience: Option<String>,
    gateway: Option<String>,
    keys: Option<KeySource>,
    following: Following,
    proof: Option<KeySet>,
    advisory: Advisory,
    on_refusal: Option<OnRefusal>,
    executions: Executions,
    fetch: Option<Arc<dyn Fetch>>,
    clock: Clock,
}

impl GuardBuilder {
    pub(super) fn new(place: Place, store: Arc<dyn Store>) -> Self {
        let executions = Executions::of(&place);
        Self {
            place,
            store,
            audience: None,
            gateway: None,
            keys: None,
            following: Following::Feed,
            proof: None,
            advisory: Advisory::Refuse,
            on_refusal: None,
            executions,
            fetch: None,
            clock: clock::system(),
        }
    }

    /// Our registered resource; by default `urn:counterfoil:<slot>-<public id>:<provider>`.
    #[must_use]
    pub fn audience(mut self, resource: &str) -> Self {
        self.audience = Some(resource.to_owned());
        self
    }

    /// Where the gateway is reached, if not at the issuer's own address.
    #[must_use]
    pub fn gateway(mut self, address: &str) -> Self {
        self.gateway = Some(address.to_owned());
        self
    }

    /// By default `<issuer>/gateway-jwks.json` at the gateway.
    #[must_use]
    pub fn keys(mut self, source: KeySource) -> Self {
        self.keys = Some(source);
        self
    }

    /// By default the feed: refuse what an earlier kill generation minted, and everything when the feed is silent.
    #[must_use]
    pub fn generation(mut self, following: Following) -> Self {
        self.following = following;
        self
    }

    /// Every call must bring the receipt of its decision, under these decision and log keys (mode `proof`).
    #[must_use]
    pub fn proof(mut self, pinned: KeySet) -> Self {
        self.proof = Some(pinned);
        self
    }

    /// By default calls that only a shadow window lets pass are refused.
    #[must_use]
    pub fn advisory(mut self, advisory: Advisory) -> Self {
        self.advisory = advisory;
        self
    }

    /// The execution key, whose public half is imported into the project beforehand. Without one nothing is signed.
    #[must_use]
    pub fn signer(mut self, signer: impl Signer + 'static) -> Self {
        self.executions.signer = Some(Box::new(signer));
        self
    }

    /// The largest checkpoint held, see [`crate::receipts`].
    #[must_use]
    pub fn seen(mut self, seen: impl Fn() -> Option<SeenCheckpoint> + Send + Sync + 'static) -> Self {
        self.executions.seen = Some(Box::new(seen));
        self
    }

    /// Told of every statement that was signed, also of those that no result can carry.
    #[must_use]
    pub fn on_execution(mut self, tell: impl Fn(&Envelope) + Send + Sync + 'static) -> Self {
        self.executions.on_execution = Some(Box::new(tell));
        self
    }

    /// Told of every refusal: the code, never the token.
    #[must_use]
    pub fn on_refusal(mut self, tell: impl Fn(&Refusal) + Send + Sync + 'static) -> Self {
        self.on_refusal = Some(Box::new(tell));
        self
    }

    /// A client of your own for key set and feed.
    #[must_use]
    pub fn fetch(mut self, fetch: impl Fetch + 'static) -> Self {
        self.fetch = Some(Arc::new(fetch));
        self
    }

    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Fails where no HTTP client can be made. Nothing is fetched before the first call.
    pub fn build(self) -> Result<Guard, FetchError> {
        let Place { issuer, provider, .. } = &self.place;
        let page = issuer.page_path();
        let gateway = self.gateway.unwrap_or_else(|| format!("https://{}", issuer.host()));
        let base = format!("{}{page}", gateway.trim_end_matches('/'));
        let audience =
            self.audience.unwrap_or_else(|| format!("urn:counterfoil:{}:{provider}", issuer.name()));
        let source = self.keys.unwrap_or_else(|| KeySource::Address(format!("{base}/gateway-jwks.json")));
        let fetch = match self.fetch {
            Some(fetch) => fetch,
            None => default_fetch()?,
        };
        let keys = Arc::new(GatewayKeys::new(source, issuer.clone(), fetch.clone(), self.clock.clone()));
        let generation = Generation {
            following: self.following,
            feed: format!("{base}/gen"),
            issuer: issuer.clone(),
            keys: keys.clone(),
            fetch,
            clock: self.clock.clone(),
            known: Known::default(),
        };
        Ok(Guard(Arc::new(Inner {
            place: self.place,
            audience,
            keys,
            generation,
            store: self.store,
            proof: self.proof,
            advisory: self.advisory,
            on_refusal: self.on_refusal,
            executions: Arc::new(self.executions),
            clock: self.clock,
        })))
    }
}

#[cfg(feature = "fetch")]
fn default_fetch() -> Result<Arc<dyn Fetch>, FetchError> {
    Ok(Arc::new(crate::fetch::Http::new()?))
}

/// Without a client the default is to refuse: no key set, no feed.
#[cfg(not(feature = "fetch"))]
fn default_fetch() -> Result<Arc<dyn Fetch>, FetchError> {
    Ok(Arc::new(crate::fetch::Nothing))
}
