//! Who may see a project's page, and with it everything below its address (T12).

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Only with one of the project's own keys; to everybody else it is not there.
    Private,
    /// Whoever has the address; search engines are told to stay away.
    Unlisted,
    Public,
}

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is none of private, unlisted, public")]
pub struct VisibilityError(String);

impl Visibility {
    /// Where nobody said anything.
    pub const DEFAULT: Self = Self::Unlisted;

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Unlisted => "unlisted",
            Self::Public => "public",
        }
    }
}

impl FromStr for Visibility {
    type Err = VisibilityError;

    fn from_str(text: &str) -> Result<Self, VisibilityError> {
        let all = [Self::Private, Self::Unlisted, Self::Public];
        all.into_iter().find(|one| one.as_str() == text).ok_or_else(|| VisibilityError(text.to_owned()))
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
