//! What a provider with an address lists, asked as the gateway asks it, so that definitions can be pinned.
//!
//! Promised: the same era is found out, the same tools are left out and the same headers sent as for a call. Not
//! promised: that it lists the same tomorrow; that is what pins are for.

use crate::upstream::{Away, Connection, Sharing, Site, Start};
use std::sync::Arc;

/// The definitions as the provider wrote them, in its order: JSON objects.
pub async fn over_http(provider: &str, site: Site) -> Result<Vec<String>, Away> {
    let start = Start {
        provider: provider.to_owned(),
        command: Vec::new(),
        env: Default::default(),
        folder: None,
        sharing: Sharing::Key,
        site: Some(Arc::new(site)),
    };
    let connection = Connection::open(&start).await?;
    let catalogue = connection.catalogue().await;
    connection.stop().await;
    Ok(catalogue?.tools().iter().map(|tool| tool.text.clone()).collect())
}
