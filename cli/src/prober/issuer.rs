//! A project's identity for one check: its capability key and its generation feed, on this machine, as a gateway serves them.
//!
//!     GET <page>/gateway-jwks.json    {"iss":"https://…/p/7-k3m9q2v8","keys":[…]}
//!     GET <page>/gen                  a JWT, `toolgen+jwt`

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use counterfoil_core::capability::{GENERATION_TYPE, GenerationClaims};
use counterfoil_core::issuer::Issuer;
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Capability, Jwk, JwkSet, Purpose, SigningKey};
use counterfoil_core::nonce::base64url;
use serde_json::json;

use crate::{chance, clock};

/// In seconds, as a gateway's.
const FEED_LIFE: i64 = 10;
/// Of a project that was killed never.
pub const GENERATION: u64 = 0;

/// Serves until it is dropped.
pub struct Issuing {
    identity: Arc<Identity>,
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

struct Identity {
    issuer: Issuer,
    key: SigningKey<Capability>,
}

impl Issuing {
    /// A key of its own, that nobody else ever had.
    pub async fn start(issuer: Issuer, at: SocketAddr) -> std::io::Result<Self> {
        let page = issuer.page_path();
        let identity = Arc::new(Identity { issuer, key: SigningKey::from_seed(&chance::seed()) });
        let router = Router::new()
            .route(&format!("{page}/gateway-jwks.json"), get(keys))
            .route(&format!("{page}/gen"), get(generation))
            .with_state(Arc::clone(&identity));
        let listener = tokio::net::TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            // It has no end of its own; the check's end ends it.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { identity, address, serving })
    }

    pub fn key(&self) -> &SigningKey<Capability> {
        &self.identity.key
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Issuing {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn keys(State(identity): State<Arc<Identity>>) -> axum::Json<JwkSet> {
    let keys = vec![Jwk::new(identity.key.public(), Purpose::Capability)];
    axum::Json(JwkSet { iss: identity.issuer.clone(), keys })
}

async fn generation(State(identity): State<Arc<Identity>>) -> String {
    let iat = clock::now().millis() / 1000;
    let header = json!({ "alg": "EdDSA", "kid": identity.key.kid(), "typ": GENERATION_TYPE });
    let claims =
        GenerationClaims { exp: iat + FEED_LIFE, generation: GENERATION, iat, iss: identity.issuer.clone() };
    let text = format!("{}.{}", base64url(&canonical(&header)), base64url(&canonical(&claims)));
    let signature = identity.key.sign(text.as_bytes());
    format!("{text}.{}", base64url(&signature))
}
