//! A header's name and value, as they may be sealed.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::constant_time;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Longer than any token that servers take: most refuse headers of 8 KiB altogether.
const MOST_BYTES: usize = 8 << 10;

#[derive(Debug, thiserror::Error)]
#[error("a header's value is 1 to {MOST_BYTES} visible ASCII characters, with spaces between them alone")]
pub struct NotACredential;

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not the name of a header")]
pub struct NotAHeader(String);

/// A header's value. Not Clone, not Serialize, wiped on drop; Debug prints nothing of it.
pub struct Credential(Zeroizing<String>);

impl Credential {
    /// The text as it stands; the error does not repeat it.
    pub fn parse(text: &str) -> Result<Self, NotACredential> {
        let is_visible = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
        if text.is_empty() || text.len() > MOST_BYTES || !is_visible || text.trim_ascii() != text {
            return Err(NotACredential);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// For the one request that it goes out with.
    #[must_use]
    pub fn dangerous_text(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(self.0.as_bytes(), other.0.as_bytes()).is_ok()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credential(…)")
    }
}

/// A header's name, in lower case: names of headers have no other.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HeaderName(String);

impl HeaderName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HeaderName {
    type Err = NotAHeader;

    /// A token of RFC 9110, as long as names of headers are.
    fn from_str(text: &str) -> Result<Self, NotAHeader> {
        let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if text.is_empty() || text.len() > 64 || !text.bytes().all(is_token) {
            // Whoever writes `Name: value` where a name belongs has a secret in it.
            let name = text.split(|c: char| c == ':' || c == '=' || c.is_whitespace()).next();
            return Err(NotAHeader(name.unwrap_or_default().chars().take(64).collect()));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl TryFrom<String> for HeaderName {
    type Error = NotAHeader;

    fn try_from(text: String) -> Result<Self, NotAHeader> {
        text.parse()
    }
}

impl From<HeaderName> for String {
    fn from(name: HeaderName) -> Self {
        name.0
    }
}

impl fmt::Display for HeaderName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
