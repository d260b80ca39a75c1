//! What kind of act a call is: service, verb, nouns and five dimensions, each with the source of its value.

use crate::commitment::Commitment;
use crate::id::IdError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

macro_rules! vocabulary {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
        pub enum $name {
            $(#[serde(rename = $text)] $variant,)*
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}
pub(super) use vocabulary;

vocabulary! {
    /// The closed vocabulary of verbs.
    Verb {
        Read "read", List "list", Search "search", Create "create", Update "update", Delete "delete", Move "move",
        Send "send", Publish "publish", Pay "pay", Execute "execute", Authorize "authorize", Quote "quote",
    }

    Operation { Read "read", Write "write", Send "send", Delete "delete", Execute "execute", Unknown "unknown", }

    DataClass {
        None "none", Operational "operational", Financial "financial", Credential "credential", Personal "personal",
        Unknown "unknown",
    }

    Destination {
        None "none", Internal "internal", External "external", ThirdParty "third_party", Unknown "unknown",
    }

    Magnitude { None "none", Single "single", Bulk "bulk", Unknown "unknown", }

    Reversibility { Reversible "reversible", Costly "costly", Terminal "terminal", Unknown "unknown", }

    /// Where a dimension's value comes from, best first.
    Source {
        Declared "declared", Catalogued "catalogued", Inferred "inferred", Derived "derived", Unknown "unknown",
    }
}

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident, $wanted:literal;)*) => {$(
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
                let word = (1..=32).contains(&text.len())
                    && text.starts_with(|c: char| c.is_ascii_lowercase())
                    && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
                if word {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdError::new(text, $wanted))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

words! {
    /// What is acted on, such as `mail`. Public.
    ServiceName, "a service name (a-z, 0-9, _, at most 32)";
    /// What sort of thing a noun is, such as `address` or `path`. Public.
    NounType, "a noun type (a-z, 0-9, _, at most 32)";
}

/// One noun of a call: its type in clear, its value as a commitment named `noun/<place>`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NounCommitment {
    #[serde(rename = "type")]
    pub noun_type: NounType,
    pub commit: Commitment,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    pub service: ServiceName,
    pub verb: Verb,
    pub nouns: Vec<NounCommitment>,
    pub operation: Operation,
    pub data_class: DataClass,
    pub destination: Destination,
    pub magnitude: Magnitude,
    pub reversibility: Reversibility,
    pub source: Sources,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    pub operation: Source,
    pub data_class: Source,
    pub destination: Source,
    pub magnitude: Source,
    pub reversibility: Source,
}
