//! The gateway's sealed headers, from the operator's side.
//!
//! Promised: they are sealed under the key of the gateway that will open them, whether its deployment was made before
//! or is made later.

use std::path::PathBuf;

use anyhow::Context;
use counterfoil_core::id::ProviderId;
use counterfoil_gateway::{Config, Site};
use counterfoil_jwks::credentials::Place;
use counterfoil_jwks::{Credentials, Kek, KekSource};

use super::Folder;
use super::providers::HeaderValues;

/// The file as it is.
pub fn open(folder: &Folder) -> anyhow::Result<Credentials> {
    let (path, source) = place(folder)?;
    Ok(Credentials::open(&path, source.load()?)?)
}

/// The file, or the beginning of one. A folder without a gateway gets its key-encryption key now.
pub fn open_or_begin(folder: &Folder) -> anyhow::Result<Credentials> {
    let (path, source) = place(folder)?;
    if let KekSource::File(kek) = &source
        && !kek.exists()
        && !folder.gateway_keys().exists()
    {
        Kek::mint()?.write_new(kek)?;
    }
    Ok(Credentials::open_or_begin(&path, source.load()?)?)
}

/// Seals what a provider at this address wants to see; what is the same already stays.
pub fn seal(folder: &Folder, id: &ProviderId, url: &str, values: &HeaderValues) -> anyhow::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let origin = Site::new(url)?.origin();
    let mut sealed = open_or_begin(folder)?;
    for (name, value) in values {
        let place = Place { provider: id.clone(), name: name.clone(), origin: origin.clone() };
        if !sealed.value(&place).is_ok_and(|known| known.is_same(value)) {
            sealed.set(place, value).with_context(|| format!("header `{name}` of provider `{id}`"))?;
        }
    }
    Ok(())
}

/// Whether just these values are sealed for this provider at this address.
pub fn holds(folder: &Folder, id: &ProviderId, url: &str, values: &HeaderValues) -> anyhow::Result<bool> {
    if values.is_empty() {
        return Ok(true);
    }
    let (origin, sealed) = (Site::new(url)?.origin(), open(folder)?);
    Ok(values.iter().all(|(name, value)| {
        let place = Place { provider: id.clone(), name: name.clone(), origin: origin.clone() };
        sealed.value(&place).is_ok_and(|known| known.is_same(value))
    }))
}

/// Where the gateway of this folder looks, or will look.
fn place(folder: &Folder) -> anyhow::Result<(PathBuf, KekSource)> {
    let usual = folder.gateway_credentials();
    if !folder.gateway_config().exists() {
        return Ok((usual, KekSource::File(folder.gateway_kek())));
    }
    let config = Config::from_file(&folder.gateway_config())?;
    Ok((config.credentials.unwrap_or(usual), KekSource::from_parts(config.kek_file.as_deref())))
}
