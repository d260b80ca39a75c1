//! Whom a message is addressed to: one provider, or all of the caller's project at once.
//!
//! Behind `/mcp/<provider>` tools have the provider's own names. Behind `/mcp` they are called `<provider>__<tool>`. A
//! provider's id has no underscore, so the first two always are the seam.

use crate::house::Provider;
use counterfoil_core::id::ProviderId;
use std::sync::Arc;

pub enum Address {
    One(Arc<Provider>),
    All(Vec<Arc<Provider>>),
}

const SEAM: &str = "__";
/// Hosts put this before our names, and many model interfaces take 64 characters of `A-Z a-z 0-9 _ -` altogether.
const HOST_PREFIX: &str = "mcp__counterfoil__";
const LONGEST_NAME: usize = 64;

impl Address {
    /// None for the address of all.
    pub fn id(&self) -> Option<&ProviderId> {
        match self {
            Self::One(provider) => Some(&provider.id),
            Self::All(_) => None,
        }
    }

    pub fn providers(&self) -> &[Arc<Provider>] {
        match self {
            Self::One(provider) => std::slice::from_ref(provider),
            Self::All(providers) => providers,
        }
    }

    /// The provider that a name means, and the tool's name there.
    pub fn find<'a>(&self, name: &'a str) -> Option<(&Arc<Provider>, &'a str)> {
        match self {
            Self::One(provider) => Some((provider, name)),
            Self::All(providers) => {
                let (id, tool) = name.split_once(SEAM)?;
                let provider = providers.iter().find(|provider| provider.id.as_str() == id)?;
                Some((provider, tool))
            }
        }
    }

    /// A tool's name as hosts of this address read it.
    pub fn name_of(&self, provider: &ProviderId, tool: &str) -> String {
        match self {
            Self::One(_) => tool.to_owned(),
            Self::All(_) => format!("{provider}{SEAM}{tool}"),
        }
    }
}

/// Whether some hosts will shorten or rewrite this name.
pub fn is_awkward(name: &str) -> bool {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    !plain || HOST_PREFIX.len() + name.len() > LONGEST_NAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hosts_rewrite_are_known() {
        assert!(!is_awkward("notes__note_read"));
        assert!(!is_awkward(&"x".repeat(46)));
        assert!(is_awkward(&"x".repeat(47)));
        assert!(is_awkward("notes__a.b"));
    }
}
