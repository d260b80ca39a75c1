//! What a service keeps sealed outside its key file: AES-256-GCM under a key of its own for each purpose, the record it
//! belongs to bound as additional data, so that no seal opens for another purpose or in another row.
//!
//! The key is HMAC-SHA-256 of the purpose under the key-encryption key: there is no second secret to keep, and every
//! process that may open the key file may open these. A new key-encryption key leaves them unopened.
//!
//!     {"nonce":"<16 base64url chars>","box":"<base64url: the text and the tag>"}

use std::fmt;

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::chance::NoChance;
use crate::kek::Kek;
use crate::seal::{self, Sealed};

/// Not Clone, not Serialize, wiped on drop; Debug prints its purpose.
pub struct AtRest {
    key: Kek,
    purpose: &'static str,
}

/// The seal does not open: another key-encryption key, another record, or changed bytes. AES-GCM cannot say which.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a sealed record does not open under this key-encryption key")]
pub struct Unopened;

impl AtRest {
    pub fn new(kek: &Kek, purpose: &'static str) -> Self {
        let under = hmac::Key::new(hmac::HMAC_SHA256, kek.bytes());
        let tag = hmac::sign(&under, format!("counterfoil/at-rest/v1/{purpose}").as_bytes());
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(tag.as_ref());
        Self { key: Kek::derived(key), purpose }
    }

    /// Seals what belongs to the named record.
    pub fn seal(&self, text: &[u8], record: &str) -> Result<String, NoChance> {
        let sealed = seal::seal(text, &self.bound(record), &self.key)?;
        Ok(serde_json::to_string(&sealed).expect("two strings are JSON"))
    }

    pub fn open(&self, sealed: &str, record: &str) -> Result<Zeroizing<Vec<u8>>, Unopened> {
        let sealed: Sealed = serde_json::from_str(sealed).map_err(|_| Unopened)?;
        seal::open(&sealed, &self.bound(record), &self.key).map_err(|_| Unopened)
    }

    /// HMAC-SHA-256 of a name under a key of its own: finds a row again, and tells whoever has the database alone nothing that
    /// could be guessed.
    pub fn mac(&self, name: &str) -> [u8; 32] {
        let under = hmac::Key::new(hmac::HMAC_SHA256, self.key.bytes());
        let under =
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&under, b"counterfoil/at-rest/v1/mac").as_ref());
        let mut mac = [0; 32];
        mac.copy_from_slice(hmac::sign(&under, &self.bound(name)).as_ref());
        mac
    }

    fn bound(&self, record: &str) -> Vec<u8> {
        format!("counterfoil/at-rest/v1/{}\n{record}", self.purpose).into_bytes()
    }
}

impl fmt::Debug for AtRest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AtRest({})", self.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rests_sealed_opens_for_its_own_purpose_and_record_alone() {
        let kek = Kek::mint().unwrap();
        let cards = AtRest::new(&kek, "card");
        let sealed = cards.seal(b"to ann", "hld_1").unwrap();

        assert!(!sealed.contains("ann"), "{sealed}");
        assert_eq!(cards.open(&sealed, "hld_1").unwrap().as_slice(), b"to ann");
        assert_eq!(AtRest::new(&kek, "card").open(&sealed, "hld_1").unwrap().as_slice(), b"to ann");
        assert_eq!(cards.open(&sealed, "hld_2").unwrap_err(), Unopened);
        assert_eq!(AtRest::new(&kek, "other").open(&sealed, "hld_1").unwrap_err(), Unopened);
        assert_eq!(AtRest::new(&Kek::mint().unwrap(), "card").open(&sealed, "hld_1").unwrap_err(), Unopened);
        assert_eq!(cards.open("{}", "hld_1").unwrap_err(), Unopened);
    }
}
