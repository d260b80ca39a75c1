//! The key-encryption key: 32 bytes under which a store is sealed.
//!
//! It comes from a file of 64 hex digits that nobody else may read, or from an environment
//! variable of the same form. It is never printed; its id `k-1a2b3c4d` (eight hex digits of an
//! HMAC under it) tells two of them apart and reveals nothing.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use crate::chance::{self, NoChance};
use crate::file::{self, FileError};
use crate::sample::is_sample;

/// Where the services look when the configuration names no file.
pub const ENVIRONMENT: &str = "COUNTERFOIL_KEK";

#[derive(Debug, thiserror::Error)]
pub enum KekError {
    #[error("a key-encryption key is 64 hex digits, and `{0}` holds something else")]
    NotHex(String),
    #[error("the environment variable `{0}` is not set, and the configuration names no kek_file")]
    NotSet(String),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Chance(#[from] NoChance),
}

/// Not Clone, not Serialize, wiped on drop; Debug prints its id.
pub struct Kek(Zeroizing<[u8; 32]>);

impl Kek {
    pub fn mint() -> Result<Self, KekError> {
        Ok(Self(chance::seed()?))
    }

    /// `place` names where the text was found, for the error alone.
    pub fn from_hex(text: &str, place: &str) -> Result<Self, KekError> {
        let digits = text.trim_end_matches(['\n', '\r']).as_bytes();
        let mut bytes = Zeroizing::new([0; 32]);
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(KekError::NotHex(place.to_owned()));
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let value = hex_value(*high).zip(hex_value(*low));
            let (high, low) = value.ok_or_else(|| KekError::NotHex(place.to_owned()))?;
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }

    pub fn from_file(path: &Path) -> Result<Self, KekError> {
        let place = path.display().to_string();
        let bytes = file::read_private(path)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| KekError::NotHex(place.clone()))?;
        Self::from_hex(text, &place)
    }

    pub fn from_environment(variable: &str) -> Result<Self, KekError> {
        let text = env::var(variable).map_err(|_| KekError::NotSet(variable.to_owned()))?;
        Self::from_hex(&Zeroizing::new(text), variable)
    }

    /// Writes a new file of mode 0600; an existing one is never replaced, because what it sealed
    /// would be lost.
    pub fn write_new(&self, path: &Path) -> Result<(), KekError> {
        let mut text = Zeroizing::new(String::with_capacity(65));
        for byte in self.0.iter() {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).expect("four bits are one hex digit"));
            }
        }
        text.push('\n');
        Ok(file::write_new(path, text.as_bytes())?)
    }

    /// Tells two keys apart without revealing either.
    #[must_use]
    pub fn id(&self) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_slice());
        let tag = hmac::sign(&key, b"counterfoil/kek-id/v1");
        let digits: String = tag.as_ref().iter().take(4).map(|b| format!("{b:02x}")).collect();
        format!("k-{digits}")
    }

    /// A key that follows from one of these, for one purpose.
    pub(crate) fn derived(bytes: Zeroizing<[u8; 32]>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn is_sample(&self) -> bool {
        is_sample(&self.0)
    }
}

impl fmt::Debug for Kek {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Kek({})", self.id())
    }
}

/// Where a configuration says that the key is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KekSource {
    File(PathBuf),
    Environment(String),
}

impl KekSource {
    /// The named file, or the environment where none is named.
    #[must_use]
    pub fn from_parts(file: Option<&Path>) -> Self {
        match file {
            Some(path) => Self::File(path.to_owned()),
            None => Self::Environment(ENVIRONMENT.to_owned()),
        }
    }

    pub fn load(&self) -> Result<Kek, KekError> {
        match self {
            Self::File(path) => Kek::from_file(path),
            Self::Environment(variable) => Kek::from_environment(variable),
        }
    }
}

fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_file_is_written_for_its_owner_alone_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kek");
        let kek = Kek::mint().unwrap();
        kek.write_new(&path).unwrap();

        let again = Kek::mint().unwrap().write_new(&path);

        assert!(matches!(again, Err(KekError::File(FileError::Exists { .. }))));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(Kek::from_file(&path).unwrap().id(), kek.id());
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kek");
        Kek::mint().unwrap().write_new(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

        assert!(matches!(Kek::from_file(&path), Err(KekError::File(FileError::TooOpen { .. }))));
    }

    #[test]
    fn a_key_of_another_length_or_alphabet_is_refused_without_being_repeated() {
        for text in
            ["", "00", &"0".repeat(63), &"0".repeat(65), &"0".repeat(66), &"zz".repeat(32), &"é".repeat(32)]
        {
            let refused = Kek::from_hex(text, "the test").unwrap_err().to_string();

            assert!(refused.contains("the test"), "{refused}");
            assert!(text.is_empty() || !refused.contains(text) || text == "00", "{refused}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        let refused = Kek::from_environment("COUNTERFOIL_KEK_THAT_NOBODY_SETS").unwrap_err();

        assert!(refused.to_string().contains("COUNTERFOIL_KEK_THAT_NOBODY_SETS"));
    }

    #[test]
    fn the_id_is_not_a_part_of_the_key() {
        let text = "0123456789abcdef".repeat(4);
        let kek = Kek::from_hex(&text, "test").unwrap();

        assert!(!text.contains(kek.id().trim_start_matches("k-")));
        assert_eq!(format!("{kek:?}"), format!("Kek({})", kek.id()));
    }
}
