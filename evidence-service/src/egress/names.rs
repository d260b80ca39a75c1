//! From a name to addresses that may be dialled: asked once for each connection, and judged then.
//!
//! A name that is public today may lead into our own network tomorrow (DNS rebinding), so nothing is remembered.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Why a name is not dialled.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NameRefused {
    #[error(
        "`{0}` leads to an address that is private or special; a name with one such address is refused as a whole"
    )]
    Inside(String),
    #[error("`{0}` has no address, or more than {MOST_ADDRESSES}")]
    Count(String),
    #[error("`{0}` does not resolve")]
    Unknown(String),
}

const MOST_ADDRESSES: usize = 16;
const RESOLVED_WITHIN: Duration = Duration::from_secs(2);

pub(super) type Looking = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;

/// Who knows addresses. Tests bring their own; there is no other way to another one.
pub(super) trait Lookup: Send + Sync + 'static {
    fn look_up(&self, name: String) -> Looking;
}

/// The resolver of the machine.
pub(super) struct System;

impl Lookup for System {
    fn look_up(&self, name: String) -> Looking {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    }
}

pub(super) struct Guard {
    lookup: Arc<dyn Lookup>,
    judge: fn(IpAddr) -> bool,
}

impl Guard {
    pub(super) fn new(lookup: impl Lookup, judge: fn(IpAddr) -> bool) -> Self {
        Self { lookup: Arc::new(lookup), judge }
    }

    pub(super) fn allows(&self, address: IpAddr) -> bool {
        (self.judge)(address)
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, judge, name) = (Arc::clone(&self.lookup), self.judge, name.as_str().to_owned());
        Box::pin(async move {
            let looked_up = tokio::time::timeout(RESOLVED_WITHIN, lookup.look_up(name.clone())).await;
            let Ok(Ok(found)) = looked_up else { return Err(NameRefused::Unknown(name).into()) };
            if found.is_empty() || found.len() > MOST_ADDRESSES {
                return Err(NameRefused::Count(name).into());
            }
            // A name with good and bad addresses is no accident.
            if !found.iter().all(|address| judge(address.ip())) {
                return Err(NameRefused::Inside(name).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
