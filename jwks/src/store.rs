//! The sealed file of one service.
//!
//! Promised: what `open` returns was written by a holder of the key-encryption key, every sealed
//! seed belongs to the public key beside it, and each purpose has one current key at most. Every
//! change is written whole before the call returns, and a change that was made meanwhile by
//! another process is not overwritten.
//!
//! Not promised: that the file is the newest one (whoever can write it can put an older one back).

mod document;
mod rotation;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use counterfoil_core::digest::Digest;
use counterfoil_core::key::{KeyPurpose, Ledger, PublicKey, Purpose, SigningKey};
use zeroize::Zeroizing;

use crate::chance::NoChance;
use crate::file::{self, FileError};
use crate::kek::Kek;
use crate::mode::{Holder, Mode};
use crate::published::PublishedKey;
use crate::sample::is_sample;
use crate::seal::{self, Sealed};
use crate::secret::Secret;
use document::{Document, KeyRecord, SecretRecord, State, VERSION};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{path}` is not a key store: {reason}")]
    NotAStore { path: PathBuf, reason: String },
    #[error("`{path}` is sealed under key-encryption key {sealed_under}, and {given} was given")]
    OtherKek { path: PathBuf, sealed_under: String, given: String },
    #[error("`{path}` was changed by somebody who does not hold the key-encryption key")]
    Tampered { path: PathBuf },
    #[error("`{path}` holds the keys of the {found} service, not of the {wanted} service")]
    OtherHolder { path: PathBuf, found: &'static str, wanted: &'static str },
    #[error("key `{0}` is a published sample key: anybody can sign with it, so only `dev` accepts it")]
    SampleKey(String),
    #[error("a {purpose} key may not rest with the {holder} service")]
    NotHeldHere { purpose: Purpose, holder: &'static str },
    #[error("there is no {0} key")]
    NoKey(Purpose),
    #[error("there is a {0} key already: rotate it")]
    HasKey(Purpose),
    #[error("no successor of the {0} key is staged")]
    NothingStaged(Purpose),
    #[error("there is no secret `{0}`")]
    NoSecret(String),
    #[error("`{0}` is not a name for a secret, or is taken")]
    SecretName(String),
    #[error("`{path}` was changed meanwhile: open it again")]
    ChangedMeanwhile { path: PathBuf },
    #[error(transparent)]
    Chance(#[from] NoChance),
}

/// Not Clone, not Serialize; Debug prints the path and the key ids.
pub struct Store {
    path: PathBuf,
    kek: Kek,
    document: Document,
    public: Vec<PublicKey>,
    on_disk: Digest,
}

impl Store {
    /// Writes an empty store and refuses to replace a file.
    pub fn create(path: &Path, holder: Holder, kek: Kek) -> Result<Self, StoreError> {
        let mut document = Document::empty(holder, &kek);
        let bytes = document.sealed_bytes(&kek)?;
        file::write_new(path, &bytes)?;
        let on_disk = Digest::of(&bytes);
        Ok(Self { path: path.to_owned(), kek, document, public: Vec::new(), on_disk })
    }

    pub fn open(path: &Path, holder: Holder, kek: Kek, mode: Mode) -> Result<Self, StoreError> {
        let bytes = file::read_private(path)?;
        let document = parse(&bytes, path, holder, &kek)?;
        let public = public_keys(&document, path)?;
        let store = Self { path: path.to_owned(), kek, document, public, on_disk: Digest::of(&bytes) };
        store.open_every_seal(mode)?;
        Ok(store)
    }

    /// The key of this purpose that signs now.
    pub fn signing_key<P: KeyPurpose>(&self) -> Result<SigningKey<P>, StoreError> {
        self.key_in::<P>(State::Current)?.ok_or(StoreError::NoKey(P::PURPOSE))
    }

    /// The successor that waits to be introduced, if any.
    pub fn staged_key<P: KeyPurpose>(&self) -> Result<Option<SigningKey<P>>, StoreError> {
        self.key_in::<P>(State::Staged)
    }

    pub fn secret(&self, name: &str) -> Result<Secret, StoreError> {
        let mut secrets = self.document.secrets.iter();
        let record = secrets.find(|record| record.name == name);
        let record = record.ok_or_else(|| StoreError::NoSecret(name.to_owned()))?;
        Ok(Secret::new(name, self.open_secret(record)?))
    }

    /// Every public key that is or was in use, oldest first. A staged key is not published: nothing
    /// was signed with it yet.
    #[must_use]
    pub fn published(&self) -> Vec<PublishedKey> {
        let records = self.document.keys.iter().zip(&self.public);
        records
            .filter(|(record, _)| record.state != State::Staged)
            .map(|(record, public)| PublishedKey {
                purpose: record.purpose,
                public: public.clone(),
                from: record.from,
                until: record.until,
            })
            .collect()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn key_in<P: KeyPurpose>(&self, state: State) -> Result<Option<SigningKey<P>>, StoreError> {
        let mut records = self.document.keys.iter();
        let found = records.find(|record| record.purpose == P::PURPOSE && record.state == state);
        let Some((record, sealed)) = found.and_then(|record| Some((record, record.sealed.as_ref()?))) else {
            return Ok(None);
        };
        Ok(Some(SigningKey::from_seed(&*self.open_seed(record, sealed)?)))
    }

    fn open_seed(&self, record: &KeyRecord, sealed: &Sealed) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let bound = document::key_bound(self.document.holder, record.purpose, &record.kid);
        seal::open_seed(sealed, &bound, &self.kek).map_err(|_| self.tampered())
    }

    fn open_secret(&self, record: &SecretRecord) -> Result<Zeroizing<[u8; 32]>, StoreError> {
        let bound = document::secret_bound(self.document.holder, &record.name);
        seal::open_seed(&record.sealed, &bound, &self.kek).map_err(|_| self.tampered())
    }

    /// Opens everything once at boot, so that a broken or a known secret is noticed before it is used.
    fn open_every_seal(&self, mode: Mode) -> Result<(), StoreError> {
        let sample = |known: bool, id: &str| match mode {
            Mode::Production if known => Err(StoreError::SampleKey(id.to_owned())),
            Mode::Production | Mode::Dev => Ok(()),
        };
        sample(self.kek.is_sample(), &self.kek.id())?;
        for record in &self.document.keys {
            if let Some(sealed) = &record.sealed {
                let seed = self.open_seed(record, sealed)?;
                sample(is_sample(&seed), &record.kid)?;
                if thumbprint_of(&seed) != record.kid {
                    return Err(self.tampered());
                }
            }
        }
        for record in &self.document.secrets {
            sample(is_sample(&*self.open_secret(record)?), &record.name)?;
        }
        Ok(())
    }

    fn tampered(&self) -> StoreError {
        StoreError::Tampered { path: self.path.clone() }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kids: Vec<&str> = self.document.keys.iter().map(|record| record.kid.as_str()).collect();
        out.debug_struct("Store").field("path", &self.path).field("kids", &kids).finish_non_exhaustive()
    }
}

fn parse(bytes: &[u8], path: &Path, holder: Holder, kek: &Kek) -> Result<Document, StoreError> {
    let not_a_store = |reason: String| StoreError::NotAStore { path: path.to_owned(), reason };
    let mut document: Document =
        serde_json::from_slice(bytes).map_err(|error| not_a_store(error.to_string()))?;
    if document.v != VERSION {
        return Err(not_a_store(format!("version {} is not known", document.v)));
    }
    if document.kek != kek.id() {
        let (sealed_under, given) = (document.kek.clone(), kek.id());
        return Err(StoreError::OtherKek { path: path.to_owned(), sealed_under, given });
    }
    document.check(kek).map_err(|_| StoreError::Tampered { path: path.to_owned() })?;
    if document.holder != holder {
        let (found, wanted) = (document.holder.as_str(), holder.as_str());
        return Err(StoreError::OtherHolder { path: path.to_owned(), found, wanted });
    }
    Ok(document)
}

fn public_keys(document: &Document, path: &Path) -> Result<Vec<PublicKey>, StoreError> {
    let parse = |record: &KeyRecord| {
        PublicKey::parse(&record.x).map_err(|error| StoreError::NotAStore {
            path: path.to_owned(),
            reason: format!("key `{}`: {error}", record.kid),
        })
    };
    document.keys.iter().map(parse).collect()
}

/// The marker does not matter here: a thumbprint depends on the public half alone.
fn thumbprint_of(seed: &[u8; 32]) -> String {
    SigningKey::<Ledger>::from_seed(seed).kid().to_string()
}
