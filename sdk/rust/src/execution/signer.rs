//! A key that signs: from a file, the environment, or somebody else's hardware.
//!
//! Promised: the seed leaves this object in no way, it is wiped on drop, and printing it shows the key id. A key file that
//! others may read is refused.

use crate::fetch::Later;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use counterfoil_core::id::IdError;
use counterfoil_core::key::{self, PublicKey};
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

/// Why a statement was not signed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SignError {
    #[error("the signer is away: {0}")]
    Away(String),
    #[error(transparent)]
    Label(#[from] IdError),
    #[error("what was signed is no statement: {0}")]
    NotAStatement(String),
    #[error("no random bytes: {0}")]
    Chance(String),
}

impl From<getrandom::Error> for SignError {
    fn from(error: getrandom::Error) -> Self {
        Self::Chance(error.to_string())
    }
}

/// Somebody who signs as this provider.
pub trait Signer: Send + Sync {
    /// RFC 7638 thumbprint of the public half.
    fn kid(&self) -> &str;

    /// Ed25519 over the message.
    fn sign<'s>(&'s self, message: &'s [u8]) -> Later<'s, Result<[u8; 64], SignError>>;
}

/// A key in this process.
pub struct SigningKey {
    key: key::SigningKey<key::Execution>,
    kid: String,
}

#[derive(Debug, thiserror::Error)]
pub enum KeyTextError {
    #[error("an Ed25519 seed is 32 bytes, as hex, base64 or base64url")]
    NotASeed,
    #[error("the JWK is no private Ed25519 key")]
    NotAPrivateJwk,
    #[error("`{0}` can be read by others: chmod 600")]
    ReadByOthers(String),
    #[error("the environment has no {0}")]
    NoVariable(String),
    #[error("`{path}`: {error}")]
    File { path: String, error: std::io::Error },
}

impl SigningKey {
    /// From the 32-byte seed of RFC 8032.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = key::SigningKey::from_seed(seed);
        Self { kid: key.kid().to_string(), key }
    }

    /// A JWK with `d`, or the 32 bytes of the seed as hex, base64 or base64url.
    pub fn from_text(text: &str) -> Result<Self, KeyTextError> {
        let text = text.trim();
        let seed = if text.starts_with('{') { of_jwk(text)? } else { of_text(text)? };
        Ok(Self::from_seed(&seed))
    }

    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyTextError> {
        let path = path.as_ref();
        let named = |error| KeyTextError::File { path: path.display().to_string(), error };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            if std::fs::metadata(path).map_err(named)?.permissions().mode() & 0o077 != 0 {
                return Err(KeyTextError::ReadByOthers(path.display().to_string()));
            }
        }
        Self::from_text(&Zeroizing::new(std::fs::read_to_string(path).map_err(named)?))
    }

    pub fn from_environment(name: &str) -> Result<Self, KeyTextError> {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty());
        let text = Zeroizing::new(text.ok_or_else(|| KeyTextError::NoVariable(name.to_owned()))?);
        Self::from_text(&text)
    }

    #[must_use]
    pub fn public(&self) -> &PublicKey {
        self.key.public()
    }
}

impl Signer for SigningKey {
    fn kid(&self) -> &str {
        &self.kid
    }

    fn sign<'s>(&'s self, message: &'s [u8]) -> Later<'s, Result<[u8; 64], SignError>> {
        Box::pin(async move { Ok(self.key.sign(message)) })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.kid)
    }
}

/// A key that is elsewhere. What answers later implements [`Signer`] itself.
pub struct Callback<F> {
    kid: String,
    sign: F,
}

impl<F: Fn(&[u8]) -> Result<[u8; 64], SignError> + Send + Sync> Callback<F> {
    /// `kid` is the RFC 7638 thumbprint of the public half; an alias will do for the six-field form.
    pub fn new(kid: &str, sign: F) -> Self {
        Self { kid: kid.to_owned(), sign }
    }
}

impl<F: Fn(&[u8]) -> Result<[u8; 64], SignError> + Send + Sync> Signer for Callback<F> {
    fn kid(&self) -> &str {
        &self.kid
    }

    fn sign<'s>(&'s self, message: &'s [u8]) -> Later<'s, Result<[u8; 64], SignError>> {
        Box::pin(async move { (self.sign)(message) })
    }
}

fn of_jwk(text: &str) -> Result<Zeroizing<[u8; 32]>, KeyTextError> {
    let jwk: serde_json::Value = serde_json::from_str(text).map_err(|_| KeyTextError::NotAPrivateJwk)?;
    match (jwk["crv"].as_str(), jwk["d"].as_str()) {
        (Some("Ed25519"), Some(d)) => of_text(d),
        _ => Err(KeyTextError::NotAPrivateJwk),
    }
}

fn of_text(text: &str) -> Result<Zeroizing<[u8; 32]>, KeyTextError> {
    let bytes = match text.len() {
        64 => unhex(text),
        _ => [URL_SAFE_NO_PAD, STANDARD, URL_SAFE, STANDARD_NO_PAD].iter().find_map(|e| e.decode(text).ok()),
    };
    let bytes = Zeroizing::new(bytes.unwrap_or_default());
    let seed: [u8; 32] = bytes.as_slice().try_into().map_err(|_| KeyTextError::NotASeed)?;
    Ok(Zeroizing::new(seed))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    pairs.map(|pair| Some((digit(&pair[0])? << 4) | digit(&pair[1])?)).collect()
}
