//! JWE compact serialization (RFC 7516) with ECDH-ES+A256KW (RFC 7518, section 4.6) and A256GCM (section 5.3).
//!
//! Put together from the primitives of AWS-LC, as we sign capabilities without a JOSE library: a library over OpenSSL
//! took a fifth of the gateway's time, most of it for looking up and copying keys. What comes out is read back by that
//! library in a test. Only sealing is here; nobody on our side can open.
//!
//!     base64url({"alg":"ECDH-ES+A256KW","enc":"A256GCM","epk":{…}}) . wrapped key . iv . ciphertext . tag

use super::{DisclosureKey, NotSealed};
use crate::chance;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrap as _};
use counterfoil_core::digest::Digest;
use counterfoil_core::nonce::base64url;
use zeroize::Zeroizing;

/// First byte of an uncompressed point (SEC 1, section 2.3.3).
const UNCOMPRESSED: u8 = 4;
const ALG: &str = "ECDH-ES+A256KW";

type Key = Zeroizing<[u8; 32]>;

/// Whether both coordinates are those of a point; a new key agrees with no other.
pub(super) fn is_on_curve(key: &DisclosureKey) -> bool {
    shared_with(key).is_ok()
}

/// Every text under a key of its own and an ephemeral key of its own.
pub(super) fn seal(mut text: Vec<u8>, key: &DisclosureKey) -> Result<String, NotSealed> {
    let (ours, shared) = shared_with(key)?;
    let content_key: Key = chance::seed().map_err(|_| NotSealed)?;
    let mut wrapped = [0; 40];
    let kek = AesKek::new(&AES_256, derived(&shared).as_slice()).map_err(|_| NotSealed)?;
    kek.wrap(content_key.as_slice(), &mut wrapped).map_err(|_| NotSealed)?;

    let header = base64url(header(&ours).as_bytes());
    let iv = chance::nonce().map_err(|_| NotSealed)?;
    let content_key = UnboundKey::new(&AES_256_GCM, content_key.as_slice()).map_err(|_| NotSealed)?;
    let tag = LessSafeKey::new(content_key)
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(iv),
            Aad::from(header.as_bytes()),
            text.as_mut_slice(),
        )
        .map_err(|_| NotSealed)?;
    let parts = [header, base64url(&wrapped), base64url(&iv), base64url(&text), base64url(tag.as_ref())];
    Ok(parts.join("."))
}

/// A new key pair's public half, and what it and the disclosure key have in common.
fn shared_with(key: &DisclosureKey) -> Result<(DisclosureKey, Key), NotSealed> {
    let private = PrivateKey::generate(&ECDH_P256).map_err(|_| NotSealed)?;
    let public = private.compute_public_key().map_err(|_| NotSealed)?;
    let theirs = [[UNCOMPRESSED].as_slice(), &key.x, &key.y].concat();
    // Also refuses what is no point of the curve.
    let shared = agree(&private, UnparsedPublicKey::new(&ECDH_P256, theirs), NotSealed, |secret| {
        secret.try_into().map(Zeroizing::new).map_err(|_| NotSealed)
    })?;
    Ok((point(public.as_ref()).ok_or(NotSealed)?, shared))
}

fn point(bytes: &[u8]) -> Option<DisclosureKey> {
    let (coordinates, []) = bytes.strip_prefix(&[UNCOMPRESSED])?.as_chunks::<32>() else { return None };
    match coordinates {
        [x, y] => Some(DisclosureKey { x: *x, y: *y }),
        _ => None,
    }
}

/// Concat KDF (NIST SP 800-56A, section 5.8.1) for one key of 256 bits and parties without names: one round.
fn derived(shared: &Key) -> Key {
    let mut input = Zeroizing::new(Vec::with_capacity(128));
    input.extend_from_slice(&1_u32.to_be_bytes());
    input.extend_from_slice(shared.as_slice());
    let length = u32::try_from(ALG.len()).expect("a short name");
    input.extend_from_slice(&length.to_be_bytes());
    input.extend_from_slice(ALG.as_bytes());
    // PartyUInfo and PartyVInfo are empty.
    input.extend_from_slice(&[0; 8]);
    input.extend_from_slice(&256_u32.to_be_bytes());
    Zeroizing::new(*Digest::of(&input).bytes())
}

fn header(ours: &DisclosureKey) -> String {
    let (x, y) = (base64url(&ours.x), base64url(&ours.y));
    format!(r#"{{"alg":"{ALG}","enc":"A256GCM","epk":{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}}}"#)
}
