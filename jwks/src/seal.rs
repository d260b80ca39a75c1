//! One sealed secret: AES-256-GCM, a fresh 96-bit nonce each time, and what the secret is for
//! bound as additional data, so that a seal cannot be moved to another place.
//!
//!     {"nonce":"<16 base64url chars>","box":"<64 base64url chars: 32 bytes and the tag>"}

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::chance::{self, NoChance};
use crate::kek::Kek;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    nonce: String,
    #[serde(rename = "box")]
    content: String,
}

/// The seal does not open: another key, another place, or changed bytes. AES-GCM cannot say which.
#[derive(Debug)]
pub struct Unopened;

pub fn seal(secret: &[u8], bound: &[u8], kek: &Kek) -> Result<Sealed, NoChance> {
    let nonce = chance::nonce()?;
    // Capacity for the tag, so that growing leaves no unwiped copy of the secret behind.
    let mut content = Zeroizing::new(Vec::with_capacity(secret.len() + 16));
    content.extend_from_slice(secret);
    key(kek)
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound), &mut *content)
        .expect("AES-GCM seals anything shorter than 64 GiB");
    Ok(Sealed { nonce: URL_SAFE_NO_PAD.encode(nonce), content: URL_SAFE_NO_PAD.encode(content.as_slice()) })
}

pub fn open(sealed: &Sealed, bound: &[u8], kek: &Kek) -> Result<Zeroizing<Vec<u8>>, Unopened> {
    let nonce = URL_SAFE_NO_PAD.decode(&sealed.nonce).map_err(|_| Unopened)?;
    let nonce = Nonce::try_assume_unique_for_key(&nonce).map_err(|_| Unopened)?;
    let content = URL_SAFE_NO_PAD.decode(&sealed.content).map_err(|_| Unopened)?;
    let mut content = Zeroizing::new(content);
    let length = key(kek).open_in_place(nonce, Aad::from(bound), &mut content).map_err(|_| Unopened)?.len();
    content.truncate(length);
    Ok(content)
}

/// The same for a 32-byte secret.
pub fn open_seed(sealed: &Sealed, bound: &[u8], kek: &Kek) -> Result<Zeroizing<[u8; 32]>, Unopened> {
    let content = open(sealed, bound, kek)?;
    let seed: &[u8; 32] = content.as_slice().try_into().map_err(|_| Unopened)?;
    Ok(Zeroizing::new(*seed))
}

fn key(kek: &Kek) -> LessSafeKey {
    let unbound = UnboundKey::new(&AES_256_GCM, kek.bytes());
    LessSafeKey::new(unbound.expect("an AES-256 key is 32 bytes"))
}
