//! `settings/v1`: how long bodies are kept, who may see the page. A change of one is an entry (T10).
//!
//!     {"typ":"settings/v1",…,"control":6,"floor":6,"gen":0,"behalf":"operator","authorization":null,
//!      "name":"retention_days","value":"30"}
//!
//! Promised: a name is a word and a value a public text, so a verifier reads settings that were invented after it.
//! Not promised: that a value means anything; who acts on a setting parses it, as [`RetentionDays`] does.

use super::ledger::Authorization;
use super::public_text::PublicText;
use super::{SettingsType, nullable};
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// `settings/v1`. It changes nothing that decides, so it carries the numbers in force and counts none up.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub typ: SettingsType,
    pub iss: Issuer,
    pub project: ProjectId,
    pub at: Timestamp,
    pub control: u64,
    pub floor: u64,
    #[serde(rename = "gen")]
    pub generation: u64,
    pub behalf: String,
    #[serde(deserialize_with = "nullable")]
    pub authorization: Option<Authorization>,
    pub name: SettingName,
    pub value: PublicText,
}

/// What is set: `[a-z][a-z0-9_]{0,31}`.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct SettingName(String);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SettingError {
    #[error("`{0}` is not the name of a setting: a-z, 0-9 and _, at most 32, a letter first")]
    Name(String),
    #[error("`{0}` is not a number of days between 1 and 3650")]
    RetentionDays(String),
}

impl SettingName {
    /// How many days bodies are kept, as [`RetentionDays`].
    pub fn retention_days() -> Self {
        Self("retention_days".to_owned())
    }

    /// Who may see the page: `private`, `unlisted` or `public`.
    pub fn visibility() -> Self {
        Self("visibility".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SettingName {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let starts = text.starts_with(|c: char| c.is_ascii_lowercase());
        let plain = text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        if starts && plain && text.len() <= 32 {
            Ok(Self(text.to_owned()))
        } else {
            Err(SettingError::Name(text.to_owned()))
        }
    }
}

impl fmt::Display for SettingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SettingName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How many whole days after its own a body is kept: 1 to 3650, 90 where nobody said anything.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RetentionDays(u16);

impl RetentionDays {
    pub const DEFAULT: Self = Self(90);
    const LONGEST: u16 = 3650;

    pub fn new(days: u16) -> Result<Self, SettingError> {
        if (1..=Self::LONGEST).contains(&days) {
            Ok(Self(days))
        } else {
            Err(SettingError::RetentionDays(days.to_string()))
        }
    }

    pub fn days(self) -> u16 {
        self.0
    }
}

impl FromStr for RetentionDays {
    type Err = SettingError;

    /// Decimal, without a sign or a leading zero: one number has one text.
    fn from_str(text: &str) -> Result<Self, SettingError> {
        let refused = || SettingError::RetentionDays(text.to_owned());
        let days = text.parse().map_err(|_| refused())?;
        let read = Self::new(days).map_err(|_| refused())?;
        if read.to_string() == text { Ok(read) } else { Err(refused()) }
    }
}

impl fmt::Display for RetentionDays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T5: 1 to 3650 days.
    #[test]
    fn retention_is_between_a_day_and_ten_years() {
        for good in ["1", "90", "3650"] {
            assert_eq!(good.parse::<RetentionDays>().unwrap().to_string(), good);
        }
        for bad in ["0", "3651", "-1", "+7", "007", "90 ", "", "ninety", "65537"] {
            assert!(bad.parse::<RetentionDays>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_setting_has_a_word_for_its_name() {
        assert_eq!("retention_days".parse::<SettingName>().unwrap(), SettingName::retention_days());
        for bad in ["", "_x", "9", "Retention", "a-b", "a@example.com", &"a".repeat(33)] {
            assert!(bad.parse::<SettingName>().is_err(), "{bad}");
        }
    }
}
