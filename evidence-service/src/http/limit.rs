//! How much one peer may ask of a public listener (T8).
//!
//! Counted per network address of the TCP peer (an IPv6 /64 counts as one), never by a header that the peer writes
//! itself. In process only: with several replicas the limit multiplies.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::http::header::AUTHORIZATION;
use axum::response::IntoResponse;
use counterfoil_core::digest::Digest;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::KeyExtractor;
use tower_governor::{GovernorError, GovernorLayer};

use super::ApiError;
use crate::config::Rate;

#[derive(Clone, Copy, Debug)]
struct Peer;

impl KeyExtractor for Peer {
    type Key = IpAddr;

    fn extract<T>(&self, request: &Request<T>) -> Result<IpAddr, GovernorError> {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        peer.map(|peer| network(peer.0.ip())).ok_or(GovernorError::UnableToExtractKey)
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => {
                let [a, b, c, d, ..] = v6.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        },
    }
}

/// One credential, known or not, wherever it comes from; without one, the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credential;

impl KeyExtractor for Credential {
    type Key = Digest;

    fn extract<T>(&self, request: &Request<T>) -> Result<Digest, GovernorError> {
        match request.headers().get(AUTHORIZATION) {
            Some(sent) => Ok(Digest::of(sent.as_bytes())),
            None => Ok(Digest::of(Peer.extract(request)?.to_string().as_bytes())),
        }
    }
}

/// Forgets peers that have been quiet; to be called on a timer.
pub(crate) type Limiter = Arc<dyn Fn() + Send + Sync>;

/// Answers 429 with a Retry-After of at least one second to a peer that asks too much.
pub(crate) fn limit_by_peer(router: Router, rate: Rate) -> (Router, Limiter) {
    limit(router, rate, Peer)
}

/// As [`limit_by_peer`], for each credential: what one key does here, no other feels.
pub(crate) fn limit_by_credential<S>(router: Router<S>, rate: Rate) -> (Router<S>, Limiter)
where
    S: Clone + Send + Sync + 'static,
{
    limit(router, rate, Credential)
}

fn limit<S, K>(router: Router<S>, rate: Rate, key: K) -> (Router<S>, Limiter)
where
    S: Clone + Send + Sync + 'static,
    K: KeyExtractor + Send + Sync + 'static,
    K::Key: Send + Sync + 'static,
{
    let period = Duration::from_secs(1) / rate.per_second.max(1);
    let config = GovernorConfigBuilder::default()
        .period(period)
        .burst_size(rate.burst.max(1))
        .key_extractor(key)
        .finish()
        .expect("neither period nor burst is zero");
    let config = Arc::new(config);
    let limiter = Arc::clone(config.limiter());
    let layer = GovernorLayer::new(config).error_handler(|error| match error {
        GovernorError::TooManyRequests { wait_time, .. } => ApiError::TooMany(wait_time).into_response(),
        GovernorError::UnableToExtractKey | GovernorError::Other { .. } => {
            ApiError::Forbidden.into_response()
        }
    });
    (router.layer(layer), Arc::new(move || limiter.retain_recent()))
}

#[cfg(test)]
mod tests {
    use super::network;

    #[test]
    fn a_peer_with_a_whole_ipv6_network_counts_as_one() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
