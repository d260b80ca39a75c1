//! A bearer secret on its way to the one person who gets to see it.

use std::fmt;

use counterfoil_core::digest::Digest;
use counterfoil_core::nonce::base64url;
use zeroize::Zeroizing;

use crate::clock::{self, NoChance};

/// `cfk_…`, `cfs_…` or `cfo_…`: 256 random bits. Not Clone, not Serialize, wiped on drop.
pub struct BearerSecret(Zeroizing<String>);

impl BearerSecret {
    pub(crate) fn mint(prefix: &str) -> Result<Self, NoChance> {
        let bytes = Zeroizing::new(clock::fresh_bytes::<32>()?);
        Ok(Self(Zeroizing::new(format!("{prefix}{}", base64url(bytes.as_slice())))))
    }

    /// The text itself, to be shown once or written to a file that only its owner reads.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for BearerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BearerSecret({}…)", self.0.get(..4).unwrap_or_default())
    }
}
