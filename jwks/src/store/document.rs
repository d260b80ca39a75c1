//! The file as it lies on disk.
//!
//!     {"v":1,"holder":"gateway","kek":"k-1a2b3c4d",
//!      "keys":[{"purpose":"decision","kid":"…","x":"…","from":"…","until":null,"state":"current","sealed":{…}}],
//!      "secrets":[{"name":"pairwise-sub","sealed":{…}}],
//!      "check":{"nonce":"…","box":"<the tag alone>"}}
//!
//! `check` is a seal over nothing that binds all the rest: a record that was removed, added or
//! taken from an older file is noticed, except that a whole older file is a whole file.

use counterfoil_core::json::canonical;
use counterfoil_core::key::Purpose;
use counterfoil_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::chance::NoChance;
use crate::kek::Kek;
use crate::mode::Holder;
use crate::seal::{self, Sealed, Unopened};

pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub v: u32,
    pub holder: Holder,
    pub kek: String,
    pub keys: Vec<KeyRecord>,
    pub secrets: Vec<SecretRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Sealed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    pub purpose: Purpose,
    pub kid: String,
    pub x: String,
    pub from: Timestamp,
    pub until: Option<Timestamp>,
    pub state: State,
    pub sealed: Option<Sealed>,
}

/// A key is staged, then current, then retired. The private half exists in the first two only.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Staged,
    Current,
    Retired,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretRecord {
    pub name: String,
    pub sealed: Sealed,
}

impl Document {
    pub fn empty(holder: Holder, kek: &Kek) -> Self {
        Self { v: VERSION, holder, kek: kek.id(), keys: Vec::new(), secrets: Vec::new(), check: None }
    }

    /// The bytes to write, with a fresh check.
    pub fn sealed_bytes(&mut self, kek: &Kek) -> Result<Vec<u8>, NoChance> {
        self.check = None;
        self.check = Some(seal::seal(&[], &canonical(self), kek)?);
        let mut bytes = serde_json::to_vec_pretty(self).expect("a document has text keys alone");
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Whether everything is as the holder of this key wrote it.
    pub fn check(&mut self, kek: &Kek) -> Result<(), Unopened> {
        let check = self.check.take().ok_or(Unopened)?;
        seal::open(&check, &canonical(self), kek)?;
        self.check = Some(check);
        Ok(())
    }
}

/// What the seal of a signing key is bound to.
pub fn key_bound(holder: Holder, purpose: Purpose, kid: &str) -> Vec<u8> {
    canonical(&serde_json::json!({ "v": VERSION, "holder": holder, "purpose": purpose, "kid": kid }))
}

/// What the seal of a named secret is bound to.
pub fn secret_bound(holder: Holder, name: &str) -> Vec<u8> {
    canonical(&serde_json::json!({ "v": VERSION, "holder": holder, "secret": name }))
}
