//! Keys that somebody offers as a provider's: a JWK, a JWK set (RFC 7517, RFC 8037) or a PEM (RFC 7468, RFC 8410). Pure.
//!
//! Promised: only Ed25519 keys of large order come out, each once, with what its owner calls it; a private key is
//! refused, and so is a set that contradicts itself. Nothing is imported before its fingerprint, the RFC 7638
//! thumbprint, was confirmed: [`KeyOffer::confirm`] alone makes what the import takes.
//! Not promised: that the keys are the provider's. Whoever confirms says so, and the record says who that was.
//!
//!     -----BEGIN PUBLIC KEY-----                                     {"kty":"OKP","crv":"Ed25519","x":"…","kid":"k1"}
//!     MCowBQYDK2VwAyEA…                                              {"keys":[{"kty":"OKP", …}, …]}
//!     -----END PUBLIC KEY-----

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use counterfoil_core::json::{self, JsonError, Profile};
use counterfoil_core::key::{KeyError, PublicKey, Thumbprint};
use counterfoil_core::statement::KeySource;
use serde_json::Value;

/// Largest text that is read, in bytes, pasted or fetched.
pub const LARGEST_OFFER: usize = 64 * 1024;
const MOST_KEYS: usize = 64;
const LONGEST_NAME: usize = 128;

#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    #[error("more than {LARGEST_OFFER} bytes are no key set")]
    TooLarge,
    #[error("not a key: {0}")]
    Json(#[from] JsonError),
    #[error("neither a JWK, nor a JWK set, nor a PEM `PUBLIC KEY`")]
    NotAKey,
    #[error("a PEM that is not an Ed25519 public key (RFC 8410)")]
    OtherPem,
    #[error("this holds a private key: whoever owns it must replace it, since it has left its owner")]
    Private,
    #[error("more than {MOST_KEYS} keys")]
    TooMany,
    #[error("key {name}: {cause}")]
    Bad { name: String, cause: KeyError },
    #[error("key id `{0}` stands for two keys, or is no plain text of 1 to {LONGEST_NAME} characters")]
    Name(String),
    #[error("no Ed25519 key for signatures is among them")]
    Nothing,
    #[error("key `{0}` is not among those offered")]
    NotOffered(Thumbprint),
    #[error("no key was confirmed")]
    NothingConfirmed,
}

/// What was found, waiting to be confirmed.
#[derive(Debug)]
pub struct KeyOffer {
    keys: Vec<OfferedKey>,
    skipped: Vec<Skipped>,
    source: Option<KeySource>,
}

#[derive(Clone, Debug)]
pub struct OfferedKey {
    pub key: PublicKey,
    /// What its owner calls it: names, not identities.
    pub names: Vec<String>,
}

/// A key of the set that cannot sign statements.
#[derive(Debug)]
pub struct Skipped {
    pub name: String,
    pub why: String,
}

/// Keys whose fingerprints somebody compared.
#[derive(Debug)]
pub struct Confirmed {
    pub(crate) keys: Vec<OfferedKey>,
    pub(crate) source: Option<KeySource>,
}

impl KeyOffer {
    /// Reads what was pasted.
    pub fn pasted(text: &[u8]) -> Result<Self, OfferError> {
        Self::read(text, None)
    }

    pub(crate) fn read(text: &[u8], source: Option<KeySource>) -> Result<Self, OfferError> {
        if text.len() > LARGEST_OFFER {
            return Err(OfferError::TooLarge);
        }
        let mut offer = Self { keys: Vec::new(), skipped: Vec::new(), source };
        if text.trim_ascii_start().starts_with(b"-----BEGIN") {
            let key = pem(text)?;
            offer.keys.push(OfferedKey { key, names: Vec::new() });
            return Ok(offer);
        }
        let document = json::parse(text, Profile::Foreign)?;
        match document.get("keys") {
            Some(Value::Array(keys)) if keys.len() > MOST_KEYS => return Err(OfferError::TooMany),
            Some(Value::Array(keys)) => {
                keys.iter().enumerate().try_for_each(|(at, jwk)| offer.take(jwk, &format!("number {at}")))?;
            }
            Some(_) => return Err(OfferError::NotAKey),
            None => offer.take(&document, "pasted")?,
        }
        if offer.keys.is_empty() { Err(OfferError::Nothing) } else { Ok(offer) }
    }

    pub fn keys(&self) -> &[OfferedKey] {
        &self.keys
    }

    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    pub fn source(&self) -> Option<&KeySource> {
        self.source.as_ref()
    }

    /// Keeps the keys of these fingerprints; fails if one of them was not offered.
    pub fn confirm(self, fingerprints: &[Thumbprint]) -> Result<Confirmed, OfferError> {
        if fingerprints.is_empty() {
            return Err(OfferError::NothingConfirmed);
        }
        let offered = |kid: &&Thumbprint| self.keys.iter().all(|offered| offered.key.thumbprint() != **kid);
        if let Some(missing) = fingerprints.iter().find(offered) {
            return Err(OfferError::NotOffered(missing.clone()));
        }
        let mut keys = self.keys;
        keys.retain(|offered| fingerprints.contains(&offered.key.thumbprint()));
        Ok(Confirmed { keys, source: self.source })
    }

    fn take(&mut self, jwk: &Value, place: &str) -> Result<(), OfferError> {
        let members = jwk.as_object().ok_or(OfferError::NotAKey)?;
        if ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].iter().any(|secret| members.contains_key(*secret)) {
            return Err(OfferError::Private);
        }
        let text = |member: &str| jwk.get(member).and_then(Value::as_str);
        let name = match jwk.get("kid") {
            None | Some(Value::Null) => None,
            Some(kid) => Some(plain_name(kid)?),
        };
        let shown = name.as_ref().map_or_else(|| place.to_owned(), |name| format!("`{name}`"));
        if let Some(why) = no_signer_of_statements(jwk) {
            self.skipped.push(Skipped { name: shown, why });
            return Ok(());
        }
        let key = PublicKey::parse(text("x").unwrap_or_default())
            .map_err(|cause| OfferError::Bad { name: shown, cause })?;
        if let Some(taken) = &name
            && self.keys.iter().any(|other| other.key != key && other.names.contains(taken))
        {
            return Err(OfferError::Name(taken.clone()));
        }
        // A name that is the thumbprint says nothing new.
        let names: Vec<String> = name.into_iter().filter(|name| name != key.thumbprint().as_str()).collect();
        match self.keys.iter_mut().find(|other| other.key == key) {
            Some(same) => {
                same.names.extend(names);
                same.names.sort();
                same.names.dedup();
            }
            None => self.keys.push(OfferedKey { key, names }),
        }
        Ok(())
    }
}

fn plain_name(kid: &Value) -> Result<String, OfferError> {
    let name = kid.as_str().unwrap_or_default();
    let plain = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic());
    if plain { Ok(name.to_owned()) } else { Err(OfferError::Name(kid.to_string())) }
}

/// Why a key of somebody's set is none of ours: other curves and uses stand in the same sets.
fn no_signer_of_statements(jwk: &Value) -> Option<String> {
    let text = |member: &str| jwk.get(member).and_then(Value::as_str);
    let (kty, curve) = (text("kty").unwrap_or("nothing"), text("crv").unwrap_or("none"));
    if (kty, curve) != ("OKP", "Ed25519") {
        return Some(format!("kty {kty}, crv {curve}: statements are signed with Ed25519"));
    }
    if text("use").is_some_and(|usage| usage != "sig") {
        return Some("its use is not `sig`".to_owned());
    }
    if text("alg").is_some_and(|alg| !matches!(alg, "EdDSA" | "Ed25519")) {
        return Some("its alg is neither EdDSA nor Ed25519".to_owned());
    }
    let operations = jwk.get("key_ops").and_then(Value::as_array);
    let verifies = |operations: &Vec<Value>| operations.iter().any(|operation| operation == "verify");
    (!operations.is_none_or(verifies)).then(|| "its key_ops lack `verify`".to_owned())
}

/// SubjectPublicKeyInfo of Ed25519 up to the key. DER has one spelling of it (RFC 8410, section 4), so comparing is
/// parsing.
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

fn pem(text: &[u8]) -> Result<PublicKey, OfferError> {
    let text = std::str::from_utf8(text).map_err(|_| OfferError::OtherPem)?.trim();
    if text.contains("PRIVATE KEY") {
        return Err(OfferError::Private);
    }
    let body = text.strip_prefix("-----BEGIN PUBLIC KEY-----");
    let body = body.and_then(|rest| rest.strip_suffix("-----END PUBLIC KEY-----"));
    let body: String = body.ok_or(OfferError::OtherPem)?.split_ascii_whitespace().collect();
    let der = STANDARD.decode(body).map_err(|_| OfferError::OtherPem)?;
    let bytes = der.strip_prefix(&ED25519_SPKI).and_then(|rest| <[u8; 32]>::try_from(rest).ok());
    let key = PublicKey::from_bytes(bytes.ok_or(OfferError::OtherPem)?);
    key.map_err(|cause| OfferError::Bad { name: "pasted".to_owned(), cause })
}

#[cfg(test)]
mod tests;
