//! What providers want to see of us: values of HTTP headers, sealed one by one in a file of the gateway.
//!
//! Promised: a value rests under AES-256-GCM with a fresh nonce, bound to what it is for: provider, header and the
//! address it may be sent to. A record that was moved, changed, added or removed by somebody without the key-encryption
//! key is refused. `open` gives one value, for one call; no error, list or `Debug` repeats one.
//!
//! Not promised: that the file is the newest one (whoever can write it can put an older one back), and nothing against
//! whoever holds file and key-encryption key both.
//!
//!     {"v":1,"purpose":"provider-headers","kek":"k-1a2b3c4d",
//!      "headers":[{"provider":"linear","name":"authorization","origin":"https://mcp.linear.app","sealed":{…}}],
//!      "check":{"nonce":"…","box":"<the tag alone>"}}

mod value;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::json::canonical;
use serde::{Deserialize, Serialize};

use crate::chance::NoChance;
use crate::file::{self, FileError};
use crate::kek::Kek;
use crate::seal::{self, Sealed};

pub use value::{Credential, HeaderName, NotACredential, NotAHeader};

const VERSION: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{path}` is no file of sealed headers: {reason}")]
    NotOurs { path: PathBuf, reason: String },
    #[error("`{path}` is sealed under key-encryption key {sealed_under}, and {given} was given")]
    OtherKek { path: PathBuf, sealed_under: String, given: String },
    #[error("`{path}` was changed by somebody who does not hold the key-encryption key")]
    Tampered { path: PathBuf },
    #[error("`{path}` was changed meanwhile: open it again")]
    ChangedMeanwhile { path: PathBuf },
    #[error("no value is sealed for header `{name}` of provider `{provider}`")]
    Absent { provider: ProviderId, name: HeaderName },
    #[error("header `{name}` of provider `{provider}` is sealed for {sealed_for}, not for {asked}")]
    OtherOrigin { provider: ProviderId, name: HeaderName, sealed_for: String, asked: String },
    #[error(transparent)]
    Chance(#[from] NoChance),
}

/// What one value is for. All three are bound into its seal.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub provider: ProviderId,
    pub name: HeaderName,
    /// Scheme, host and port, as RFC 6454 writes them: `https://mcp.linear.app`.
    pub origin: String,
}

/// A file of sealed headers, as it was when it was opened.
pub struct Credentials {
    path: PathBuf,
    kek: Kek,
    document: Document,
    /// None where there is no file yet.
    on_disk: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    v: u32,
    purpose: Purpose,
    kek: String,
    headers: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Sealed>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Purpose {
    #[serde(rename = "provider-headers")]
    ProviderHeaders,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    provider: ProviderId,
    name: HeaderName,
    origin: String,
    sealed: Sealed,
}

impl Credentials {
    /// Opens every seal once, so that a broken one is noticed before it is needed.
    pub fn open(path: &Path, kek: Kek) -> Result<Self, CredentialError> {
        let bytes = file::read_private(path)?;
        let mut document: Document = serde_json::from_slice(&bytes)
            .map_err(|error| CredentialError::NotOurs { path: path.to_owned(), reason: error.to_string() })?;
        if document.v != VERSION {
            let reason = format!("version {} is not known", document.v);
            return Err(CredentialError::NotOurs { path: path.to_owned(), reason });
        }
        if document.kek != kek.id() {
            let (sealed_under, given) = (document.kek, kek.id());
            return Err(CredentialError::OtherKek { path: path.to_owned(), sealed_under, given });
        }
        let tampered = || CredentialError::Tampered { path: path.to_owned() };
        let check = document.check.take().ok_or_else(tampered)?;
        seal::open(&check, &canonical(&document), &kek).map_err(|_| tampered())?;
        let on_disk = Some(Digest::of(&bytes));
        let opened = Self { path: path.to_owned(), kek, document, on_disk };
        for record in &opened.document.headers {
            opened.unseal(record)?;
        }
        Ok(opened)
    }

    /// As [`Self::open`]; where there is no file, one begins with the first value.
    pub fn open_or_begin(path: &Path, kek: Kek) -> Result<Self, CredentialError> {
        if path.exists() {
            return Self::open(path, kek);
        }
        let (v, purpose, headers) = (VERSION, Purpose::ProviderHeaders, Vec::new());
        let document = Document { v, purpose, kek: kek.id(), headers, check: None };
        Ok(Self { path: path.to_owned(), kek, document, on_disk: None })
    }

    /// What there is a value for, oldest first.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        self.document.headers.iter().map(Record::place)
    }

    /// The value for one call to `place.origin`. Sealed for another address, it is not given.
    pub fn value(&self, place: &Place) -> Result<Credential, CredentialError> {
        let Place { provider, name, origin } = place;
        let found = self.document.headers.iter().find(|record| record.is_of(provider, name));
        let record = found
            .ok_or_else(|| CredentialError::Absent { provider: provider.clone(), name: name.clone() })?;
        if record.origin != *origin {
            return Err(CredentialError::OtherOrigin {
                provider: provider.clone(),
                name: name.clone(),
                sealed_for: record.origin.clone(),
                asked: origin.clone(),
            });
        }
        self.unseal(record)
    }

    /// Seals a value, in place of one for the same header of the same provider.
    pub fn set(&mut self, place: Place, value: &Credential) -> Result<(), CredentialError> {
        let sealed = seal::seal(value.dangerous_text().as_bytes(), &bound(&place, &self.kek), &self.kek)?;
        let Place { provider, name, origin } = place;
        self.document.headers.retain(|record| !record.is_of(&provider, &name));
        self.document.headers.push(Record { provider, name, origin, sealed });
        self.save()
    }

    /// Fails with `Absent` where there is none.
    pub fn remove(&mut self, provider: &ProviderId, name: &HeaderName) -> Result<(), CredentialError> {
        let before = self.document.headers.len();
        self.document.headers.retain(|record| !record.is_of(provider, name));
        if self.document.headers.len() == before {
            return Err(CredentialError::Absent { provider: provider.clone(), name: name.clone() });
        }
        self.save()
    }

    fn unseal(&self, record: &Record) -> Result<Credential, CredentialError> {
        let tampered = || CredentialError::Tampered { path: self.path.clone() };
        let bound = bound(&record.place(), &self.kek);
        let bytes = seal::open(&record.sealed, &bound, &self.kek).map_err(|_| tampered())?;
        let text = std::str::from_utf8(&bytes).map_err(|_| tampered())?;
        Credential::parse(text).map_err(|_| tampered())
    }

    /// Under the lock, so that of two processes that change the file one is told to look again.
    fn save(&mut self) -> Result<(), CredentialError> {
        let _lock = file::lock(&self.path)?;
        let found = match self.path.exists() {
            true => Some(Digest::of(&file::read_private(&self.path)?)),
            false => None,
        };
        if found != self.on_disk {
            return Err(CredentialError::ChangedMeanwhile { path: self.path.clone() });
        }
        self.document.check = Some(seal::seal(&[], &canonical(&self.document), &self.kek)?);
        let bytes = serde_json::to_vec_pretty(&self.document).expect("a document has text keys alone");
        self.document.check = None;
        file::replace(&self.path, &bytes)?;
        self.on_disk = Some(Digest::of(&bytes));
        Ok(())
    }
}

impl Record {
    fn is_of(&self, provider: &ProviderId, name: &HeaderName) -> bool {
        self.provider == *provider && self.name == *name
    }

    fn place(&self) -> Place {
        let Self { provider, name, origin, .. } = self;
        Place { provider: provider.clone(), name: name.clone(), origin: origin.clone() }
    }
}

/// What a seal is bound to: its purpose, its record, and the key it is under.
fn bound(place: &Place, kek: &Kek) -> Vec<u8> {
    canonical(&serde_json::json!({
        "v": VERSION,
        "purpose": Purpose::ProviderHeaders,
        "kek": kek.id(),
        "provider": place.provider,
        "name": place.name,
        "origin": place.origin,
    }))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<Place> = self.places().collect();
        out.debug_struct("Credentials")
            .field("path", &self.path)
            .field("places", &places)
            .finish_non_exhaustive()
    }
}
