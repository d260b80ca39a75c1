//! Which keys count at a place: those that the chain introduced from its first entry on, or, where the package starts
//! later, those that the holder pinned.

use crate::audit::keys::Keys;
use crate::audit::{Fault, body};
use crate::catalog::Catalog;
use crate::entry::Entry;
use crate::envelope::Envelope;
use crate::execution::{Said, Submitted};
use crate::id::ProviderId;
use crate::key::{PublicKey, Purpose, Thumbprint};
use crate::package::base::Base;
use crate::package::files::{Stop, broken};
use crate::package::report::{Pin, ProviderPin, Report, Verdict};
use crate::package::trust::Trust;
use crate::receipt::counts_at;
use crate::reconcile::{ProviderKey, Standing};
use crate::statement::{KeyStatement, Received, Statement};
use std::collections::BTreeMap;

pub(super) struct Keyring<'a> {
    base: &'a Base,
    trust: &'a Trust<'a>,
    keys: Keys,
    /// Providers' keys from before the first entry: the package's word, unless the holder pinned them.
    earlier: BTreeMap<Thumbprint, ProviderKey>,
}

impl<'a> Keyring<'a> {
    pub(super) fn new(base: &'a Base, trust: &'a Trust<'a>) -> Self {
        let ledger = trust.keys.keys().iter().filter(|jwk| jwk.purpose == Purpose::Ledger);
        let pinned: Vec<PublicKey> = ledger.filter_map(|jwk| jwk.public_key().ok()).collect();
        let earlier = if base.first() == 0 { BTreeMap::new() } else { earlier(base) };
        Self { base, trust, keys: Keys::trusting(&pinned), earlier }
    }

    pub(super) fn signed(
        &self,
        envelope: &Envelope,
        statement: &Statement,
        entry: &Entry,
    ) -> Result<(), Fault> {
        let kid = envelope.kid();
        let pins_a_ledger_key = self.trust.keys.keys().iter().any(|jwk| jwk.purpose == Purpose::Ledger);
        if !pins_a_ledger_key {
            return Err(Fault::UntrustedLedgerKey(kid.clone()));
        }
        match body::signed(envelope, statement, &self.keys, entry.seq) {
            Err(Fault::UnknownKey(_)) if self.base.first() > 0 => self.pinned(envelope, statement, entry),
            answer => answer,
        }
    }

    /// By a key that the holder pinned, within the time that the pin names.
    fn pinned(&self, envelope: &Envelope, statement: &Statement, entry: &Entry) -> Result<(), Fault> {
        let kid = envelope.kid();
        let (jwk, key) = self.trust.keys.by_kid(kid).ok_or_else(|| Fault::UnknownKey(kid.clone()))?;
        let wanted = statement.purpose();
        if jwk.purpose != wanted {
            return Err(Fault::OtherPurpose { kid: kid.clone(), wanted, found: jwk.purpose });
        }
        if !counts_at(jwk, entry.at) {
            return Err(Fault::UnknownKey(kid.clone()));
        }
        envelope.verify(&key).map_err(|_| Fault::Signature(kid.clone()))
    }

    pub(super) fn follow(&mut self, said: &KeyStatement, entry: &Entry) -> Result<(), Fault> {
        match self.keys.follow(said, super::number(entry.seq), entry.at) {
            // The entry that introduced it may stand before the first of this package.
            Err(Fault::UnknownKey(kid)) if self.base.first() > 0 => {
                if let Some(key) = self.earlier.get_mut(&kid) {
                    key.ended.get_or_insert(entry.seq);
                }
                Ok(())
            }
            answer => answer,
        }
    }

    fn find(&self, kid: &Thumbprint) -> Option<ProviderKey> {
        self.keys.execution(kid).or_else(|| self.earlier.get(kid).cloned())
    }

    /// Whether a key of the provider counts at that place.
    pub(super) fn can_sign(&self, provider: &ProviderId, seq: u64) -> bool {
        let earlier = self.earlier.values().any(|key| key.provider == *provider && key.counts_at(seq));
        earlier || self.keys.executions().any(|(_, key)| key.provider == *provider && key.counts_at(seq))
    }

    /// What the signature is worth, and the key that the statement names. An alias that the wrapper resolves to no
    /// key is tried against every key: the log operator cannot disown a statement by forgetting whose it is.
    pub(super) fn standing(
        &self,
        submitted: &Submitted,
        received: &Received,
        seq: u64,
    ) -> (Standing, Option<Thumbprint>) {
        let named = match submitted.said() {
            Said::Native(_) => submitted.kid().parse().ok(),
            Said::Vendor(_) => received.signer.thumbprint.clone(),
        };
        if let Some(kid) = named {
            let key = self.find(&kid);
            let known = key.is_some().then_some(kid);
            return (Standing::of(submitted, key.as_ref(), seq), known);
        }
        let holds = |(kid, key): (&Thumbprint, ProviderKey)| {
            let standing = Standing::of(submitted, Some(&key), seq);
            standing.holds().then(|| (standing, Some(kid.clone())))
        };
        self.keys.executions().find_map(holds).unwrap_or((Standing::Fails, None))
    }

    /// Whether a key that counts there signed the catalogue: the one that the wrapper says its key id stood for, else any.
    pub(super) fn signed_catalog(&self, catalog: &Catalog, received: &Received, seq: u64) -> bool {
        let holds =
            |key: ProviderKey| Standing::when(|key| catalog.verify(key).is_ok(), Some(&key), seq).holds();
        match &received.signer.thumbprint {
            Some(kid) => self.find(kid).is_some_and(holds),
            None => self.keys.executions().any(|(_, key)| holds(key)),
        }
    }

    /// The manifest's signer, the package's own key files, and who vouches for each provider's key.
    pub(super) fn vouch(&self, report: &mut Report) -> Result<(), Stop> {
        self.manifest()?;
        let unknown = |kid: &Thumbprint| {
            Stop::from(Verdict::Unpinned(format!("key `{kid}` is found only inside the package")))
        };
        for jwk in &self.base.jwks.keys {
            let known = self.keys.ever(&jwk.kid, jwk.purpose).is_some()
                || self.earlier.contains_key(&jwk.kid)
                || self.trust.keys.by_kid(&jwk.kid).is_some_and(|(pinned, _)| pinned.purpose == jwk.purpose);
            if !known {
                return Err(unknown(&jwk.kid));
            }
        }
        for line in &self.base.provider_keys.keys {
            let key = self.find(&line.thumbprint).ok_or_else(|| unknown(&line.thumbprint))?;
            let said = (&line.provider, line.introduced, line.ended);
            if said != (&key.provider, key.introduced, key.ended) || line.key.x != key.key.x() {
                return Err(broken(format!(
                    "provider-keys.json: `{}` is not as in the record",
                    line.thumbprint
                )));
            }
        }
        let introduced = self.keys.executions().map(|(kid, key)| (kid.clone(), key.provider));
        let earlier = self.earlier.iter().map(|(kid, key)| (kid.clone(), key.provider.clone()));
        for (thumbprint, provider) in introduced.chain(earlier) {
            let pinned = self.trust.keys.by_kid(&thumbprint);
            let by_holder = pinned.is_some_and(|(jwk, _)| jwk.purpose == Purpose::Execution);
            let pin = if by_holder { Pin::ByTheHolder } else { Pin::ByTheOperator };
            report.providers.push(ProviderPin { provider, thumbprint, pin });
        }
        Ok(())
    }

    fn manifest(&self) -> Result<(), Stop> {
        let envelope = &self.base.manifest_envelope;
        let kid = envelope.kid();
        let pinned = self.trust.keys.by_kid(kid).filter(|(jwk, _)| jwk.purpose == Purpose::Ledger);
        let key = self.keys.ever(kid, Purpose::Ledger).cloned().or_else(|| pinned.map(|(_, key)| key));
        let key = key.ok_or_else(|| Verdict::Unpinned(format!("manifest.json is signed by key `{kid}`")))?;
        envelope.verify(&key).map_err(|_| broken("manifest.json: signature does not hold"))
    }
}

fn earlier(base: &Base) -> BTreeMap<Thumbprint, ProviderKey> {
    let before = base.provider_keys.keys.iter().filter(|line| line.introduced < base.first());
    let read = before.filter_map(|line| {
        let key = PublicKey::parse(&line.key.x).ok()?;
        // An end inside the package is taken from its entry, one before from here.
        let ended = line.ended.filter(|seq| *seq < base.first());
        let known = ProviderKey {
            key: key.clone(),
            provider: line.provider.clone(),
            introduced: line.introduced,
            ended,
        };
        Some((key.thumbprint(), known))
    });
    read.collect()
}
