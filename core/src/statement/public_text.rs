//! Free text that stands in public for ever: at most 280 characters, none that looks like an address.

use crate::id::{IdError, looks_like_an_address};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A sentence is enough; a body that is never erased is no place for more.
const MAX_CHARACTERS: usize = 280;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PublicText(String);

impl PublicText {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicText {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let short = (1..=MAX_CHARACTERS).contains(&text.chars().count());
        let printable = !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
        let personal = text.split_whitespace().any(looks_like_an_address) || looks_like_an_address(text);
        if short && printable && !personal {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::new(text, "a text of 1 to 280 characters without an address in it"))
        }
    }
}

impl fmt::Display for PublicText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for PublicText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PublicText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
