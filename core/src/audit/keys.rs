//! Which keys count at a place in the chain: what the `key/v1` entries before it introduced and did not end.

use super::broken::{Broken, Fault, Place};
use super::stored::StoredKey;
use crate::key::{PublicKey, Purpose, Thumbprint};
use crate::reconcile::ProviderKey;
use crate::statement::{KeyEvent, KeyStatement, possession_message};
use crate::time::Timestamp;
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Keys {
    known: BTreeMap<Thumbprint, Known>,
    /// The first ledger key must be one of these; whichever it is, if there are none.
    trusted: Vec<Thumbprint>,
}

#[derive(Debug)]
struct Known {
    key: PublicKey,
    purpose: Purpose,
    provider: Option<String>,
    introduced: (i64, Timestamp),
    ended: Option<(i64, Timestamp)>,
    revoked: bool,
}

impl Keys {
    pub(crate) fn trusting(ledger: &[PublicKey]) -> Self {
        Self { known: BTreeMap::new(), trusted: ledger.iter().map(PublicKey::thumbprint).collect() }
    }

    /// The key that may sign a statement of that purpose at the next place.
    pub(crate) fn signer(&self, kid: &Thumbprint, wanted: Purpose) -> Result<&PublicKey, Fault> {
        let known = self.known.get(kid).ok_or_else(|| Fault::UnknownKey(kid.clone()))?;
        if known.purpose != wanted {
            return Err(Fault::OtherPurpose { kid: kid.clone(), wanted, found: known.purpose });
        }
        match known.ended {
            Some((seq, _)) => Err(Fault::EndedKey { kid: kid.clone(), seq }),
            None => Ok(&known.key),
        }
    }

    /// An execution key that was introduced so far, ended or not.
    pub(crate) fn execution(&self, kid: &Thumbprint) -> Option<ProviderKey> {
        self.known.get(kid).and_then(Known::of_a_provider)
    }

    /// All of them, by thumbprint.
    pub(crate) fn executions(&self) -> impl Iterator<Item = (&Thumbprint, ProviderKey)> + '_ {
        self.known.iter().filter_map(|(kid, known)| Some((kid, known.of_a_provider()?)))
    }

    /// A key of that purpose that was introduced so far, ended or not.
    pub(crate) fn ever(&self, kid: &Thumbprint, purpose: Purpose) -> Option<&PublicKey> {
        self.known.get(kid).filter(|known| known.purpose == purpose).map(|known| &known.key)
    }

    /// The chain's first statement introduces the ledger key that signs it.
    pub(super) fn first_signer(&self, kid: &Thumbprint, first: &KeyStatement) -> Result<PublicKey, Fault> {
        if first.purpose != Purpose::Ledger || first.event != KeyEvent::Introduced || first.thumbprint != *kid
        {
            return Err(Fault::UnknownKey(kid.clone()));
        }
        if !self.trusted.is_empty() && !self.trusted.contains(kid) {
            return Err(Fault::UntrustedLedgerKey(kid.clone()));
        }
        public_key(first)
    }

    /// Whether the chain introduced this log key below `size` and had not ended it when the commit began at `first`.
    pub(super) fn signs_log(&self, kid: &Thumbprint, first: u64, size: u64) -> Result<(), Fault> {
        let known = self.known.get(kid).ok_or_else(|| Fault::UnknownKey(kid.clone()))?;
        if known.purpose != Purpose::Log {
            let (wanted, found) = (Purpose::Log, known.purpose);
            return Err(Fault::OtherPurpose { kid: kid.clone(), wanted, found });
        }
        if known.introduced.0 >= signed(size) {
            return Err(Fault::UnknownKey(kid.clone()));
        }
        match known.ended {
            Some((seq, _)) if seq < signed(first) => Err(Fault::EndedKey { kid: kid.clone(), seq }),
            Some(_) | None => Ok(()),
        }
    }

    /// Takes over what a `key/v1` at `seq` says. Its signature was checked before.
    pub(crate) fn follow(&mut self, said: &KeyStatement, seq: i64, at: Timestamp) -> Result<(), Fault> {
        match said.event {
            KeyEvent::Introduced => self.introduce(said, seq, at),
            KeyEvent::Retired => self.end(said, seq, at, false),
            KeyEvent::Revoked => self.end(said, seq, at, true),
        }
    }

    fn introduce(&mut self, said: &KeyStatement, seq: i64, at: Timestamp) -> Result<(), Fault> {
        let (key, kid) = (public_key(said)?, &said.thumbprint);
        if self.known.contains_key(kid) {
            return Err(Fault::KeyTwice(kid.clone()));
        }
        // An execution key is imported from its owner, who shows possession by its first statement.
        let shown = match &said.possession {
            Some(signature) => key.verify(&possession_message(said.project, kid), &signature.0).is_ok(),
            None => said.purpose == Purpose::Execution,
        };
        if !shown {
            return Err(Fault::Possession(kid.clone()));
        }
        let provider = said.provider.as_ref().map(ToString::to_string);
        let known = Known {
            key,
            purpose: said.purpose,
            provider,
            introduced: (seq, at),
            ended: None,
            revoked: false,
        };
        self.known.insert(kid.clone(), known);
        Ok(())
    }

    fn end(&mut self, said: &KeyStatement, seq: i64, at: Timestamp, revoked: bool) -> Result<(), Fault> {
        let kid = &said.thumbprint;
        let known = self.known.get_mut(kid).ok_or_else(|| Fault::UnknownKey(kid.clone()))?;
        if known.purpose != said.purpose {
            let (wanted, found) = (said.purpose, known.purpose);
            return Err(Fault::OtherPurpose { kid: kid.clone(), wanted, found });
        }
        match known.ended {
            // A retired key can still turn out to have been stolen.
            Some((ended, _)) if known.revoked || !revoked => {
                Err(Fault::EndedKey { kid: kid.clone(), seq: ended })
            }
            Some(_) => {
                known.revoked = true;
                Ok(())
            }
            None => {
                (known.ended, known.revoked) = (Some((seq, at)), revoked);
                Ok(())
            }
        }
    }

    /// Compares the table of keys with what the chain says, both ways.
    pub(super) fn compare(&self, stored: &[StoredKey<'_>]) -> Result<(), Broken> {
        for row in stored {
            let at = |column| Place::Key { thumbprint: row.thumbprint.to_owned(), column };
            let found = self.known.iter().find(|(kid, _)| kid.as_str() == row.thumbprint);
            let (_, known) = found.ok_or_else(|| at("thumbprint").is(Fault::Surplus))?;
            known.compare(row)?;
        }
        let missing = self.known.keys().find(|kid| stored.iter().all(|row| row.thumbprint != kid.as_str()));
        match missing {
            Some(kid) => {
                Err(Place::Key { thumbprint: kid.to_string(), column: "thumbprint" }.is(Fault::Missing))
            }
            None => Ok(()),
        }
    }
}

impl Known {
    fn of_a_provider(&self) -> Option<ProviderKey> {
        if self.purpose != Purpose::Execution {
            return None;
        }
        Some(ProviderKey {
            key: self.key.clone(),
            provider: self.provider.as_ref()?.parse().ok()?,
            introduced: u64::try_from(self.introduced.0).ok()?,
            ended: self.ended.and_then(|(seq, _)| u64::try_from(seq).ok()),
        })
    }

    fn compare(&self, row: &StoredKey<'_>) -> Result<(), Broken> {
        let at = |column| Place::Key { thumbprint: row.thumbprint.to_owned(), column };
        at("purpose").same(row.purpose, self.purpose.as_str())?;
        at("provider").same_or_null(row.provider, self.provider.as_deref())?;
        at("x").same(row.x, self.key.x().as_str())?;
        at("introduced").same(row.introduced, self.introduced.0)?;
        at("introduced_at").same(row.introduced_at, self.introduced.1.millis())?;
        at("ended").same_or_null(row.ended, self.ended.map(|(seq, _)| seq))?;
        at("ended_at").same_or_null(row.ended_at, self.ended.map(|(_, at)| at.millis()))?;
        at("revoked").same(row.revoked, self.revoked)
    }
}

fn public_key(said: &KeyStatement) -> Result<PublicKey, Fault> {
    let unreadable = |why: String| Fault::Unreadable(why);
    if said.key.kty != "OKP" || said.key.crv != "Ed25519" {
        return Err(unreadable("key is not of kty OKP and crv Ed25519".to_owned()));
    }
    let key = PublicKey::parse(&said.key.x).map_err(|error| unreadable(error.to_string()))?;
    if key.thumbprint() == said.thumbprint {
        Ok(key)
    } else {
        let (stored, follows) = (said.thumbprint.to_string(), key.thumbprint().to_string());
        Err(Fault::Differs { stored, follows })
    }
}

pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
