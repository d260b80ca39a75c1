//! Ids: `<3 letters>_<32 hex digits of a UUIDv7>`, and the public labels that operators choose.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct IdError {
    text: String,
    wanted: &'static str,
}

impl IdError {
    pub(crate) fn new(text: &str, wanted: &'static str) -> Self {
        Self { text: text.to_owned(), wanted }
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub fn uuid(&self) -> Uuid {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(crate::digest::unhex)
                    .map(|bytes| Self(Uuid::from_bytes(bytes)))
                    .ok_or_else(|| IdError {
                        text: text.to_owned(),
                        wanted: concat!("an id like ", $prefix, "_<32 hex digits>"),
                    })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        text_serde!($name);
    )*};
}

macro_rules! text_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

ids! {
    OrganizationId "org";
    /// The enforcement boundary: one chain, one log, one set of rules.
    ProjectId "prj";
    /// An API key, without its secret.
    KeyId "key";
    AgentId "agt";
    /// One call that is judged.
    ActionId "act";
    SessionId "ses";
    HoldId "hld";
    GrantId "grt";
    RunId "run";
    FindingId "fnd";
    WebhookId "whk";
    PackageId "pkg";
    ConnectionId "con";
    /// One running gateway process.
    InstanceId "gwi";
}

macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident, $wanted:literal, $accepts:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let accepts: fn(&str) -> bool = $accepts;
                if accepts(text) && !looks_like_an_address(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdError { text: text.to_owned(), wanted: $wanted })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_serde!($name);
    )*};
}

labels! {
    /// A tool provider as the operator named it. Public.
    ProviderId, "a provider id like `notes` (a-z, 0-9, -, at most 16)", is_provider_id;
    /// A tool as its provider lists it. Public.
    ToolName, "a tool name of 1 to 128 printable characters that does not look like an address", is_printable;
    /// Whom an agent acts for, under a name that says nothing. Never public; refused, not scrubbed, where it could be an
    /// address. Whoever refuses one does not repeat it.
    Principal, "an opaque name of 1 to 128 printable ASCII characters without `@`", is_opaque;
    /// A rule's `@id`. Public.
    RuleId, "a rule id of 1 to 64 characters A-Z a-z 0-9 _ . -", is_rule_id;
}

fn is_provider_id(text: &str) -> bool {
    text.len() <= 16
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

fn is_printable(text: &str) -> bool {
    (1..=128).contains(&text.chars().count())
        && !text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

fn is_opaque(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b'@')
}

fn is_rule_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// Whether a text that is to be public could be somebody's e-mail address or telephone number.
/// Errs towards yes: an opaque name never needs an `@` followed by a dot, nor seven digits behind a plus.
pub fn looks_like_an_address(text: &str) -> bool {
    let mail = text.split_once('@').is_some_and(|(local, host)| !local.is_empty() && host.contains('.'));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let phone = text.trim_start().starts_with('+') && digits >= 7;
    mail || phone
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_written_and_other_spellings_are_refused() {
        let text = "prj_019355a0c0007000800000000000a001";
        let id: ProjectId = text.parse().expect("good id");
        assert_eq!(id.to_string(), text);

        for bad in [
            "org_019355a0c0007000800000000000a001",
            "prj_019355A0C0007000800000000000A001",
            "prj_019355a0-c000-7000-8000-00000000a001",
            "prj_",
            "",
        ] {
            assert!(bad.parse::<ProjectId>().is_err(), "{bad}");
        }
    }

    /// T4: labels are public, so they may not carry a person's address.
    #[test]
    fn a_label_that_looks_like_an_address_is_refused() {
        assert!("send".parse::<ToolName>().is_ok());
        assert!("mail@v2".parse::<ToolName>().is_ok());
        assert!("a.b@example.com".parse::<ToolName>().is_err());
        assert!("+41 79 123 45 67".parse::<ToolName>().is_err());
        assert!("a\nb".parse::<ToolName>().is_err());
        assert!("Notes".parse::<ProviderId>().is_err());
        assert!("notes-2".parse::<ProviderId>().is_ok());
    }
}
