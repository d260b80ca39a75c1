//! A declaration, read strictly, and the entry that it becomes.

use std::collections::BTreeSet;

use counterfoil_core::entry::Kind;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ProviderId;
use counterfoil_core::issuer::Issuer;
use counterfoil_core::key::{Ledger as LedgerPurpose, SigningKey};
use counterfoil_core::statement::{Basis, Coverage, CoverageType, ProviderCoverage, PublicText, Share};
use counterfoil_core::time::Timestamp;
use serde::Deserialize;

use super::store;
use crate::database::{DatabaseError, ProjectTx};
use crate::ledger::append::{AppendError, Job, Plan};
use crate::ledger::facts::{Facts, Questions};
use crate::ledger::head::Head;
use crate::ledger::seal::{Accepted, Sealed};

/// What a vendor sends. A member that is not known is refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sent {
    providers: Vec<SentProvider>,
    #[serde(default)]
    reason: Option<PublicText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentProvider {
    provider: ProviderId,
    share: Share,
    #[serde(default)]
    basis: Option<Basis>,
}

/// What is declared, one line for each provider, sorted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Claim {
    pub(super) providers: Vec<ProviderCoverage>,
    pub(super) reason: Option<PublicText>,
}

/// A registry has fewer.
const MOST_PROVIDERS: usize = 200;

impl Claim {
    /// The reason why it cannot be declared is for the sender.
    pub(super) fn parse(sent: Sent) -> Result<Self, &'static str> {
        if sent.providers.len() > MOST_PROVIDERS {
            return Err("more than 200 providers");
        }
        let named: BTreeSet<&ProviderId> = sent.providers.iter().map(|one| &one.provider).collect();
        if named.len() != sent.providers.len() {
            return Err("a provider is named twice");
        }
        if sent.providers.iter().any(|one| one.basis.is_some_and(|basis| basis != Basis::Declared)) {
            return Err("what is sent here is declared; nobody can declare that it was measured or probed");
        }
        let line = |one: SentProvider| ProviderCoverage {
            provider: one.provider,
            share: one.share,
            basis: Basis::Declared,
        };
        let mut providers: Vec<ProviderCoverage> = sent.providers.into_iter().map(line).collect();
        providers.sort_by(|a, b| a.provider.cmp(&b.provider));
        Ok(Self { providers, reason: sent.reason })
    }

    pub(super) fn is_said_by(&self, coverage: &Coverage) -> bool {
        self.providers == coverage.providers && self.reason == coverage.reason
    }
}

/// The entry. It changes nothing that decides, so it carries the numbers in force.
pub(super) struct Declaring<'k> {
    pub(super) issuer: Issuer,
    pub(super) behalf: String,
    pub(super) claim: Claim,
    pub(super) signer: &'k SigningKey<LedgerPurpose>,
}

impl Job for Declaring<'_> {
    type Outcome = ();

    fn questions(&self) -> Questions {
        Questions::default()
    }

    fn plan(&self, head: &Head, _: &Facts, at: Timestamp) -> Result<Plan<()>, AppendError> {
        let statement = Coverage {
            typ: CoverageType::V1,
            iss: self.issuer.clone(),
            project: head.project,
            at,
            control: head.control,
            floor: head.floor,
            generation: head.generation,
            behalf: self.behalf.clone(),
            authorization: None,
            providers: self.claim.providers.clone(),
            reason: self.claim.reason.clone(),
        };
        let accepted = vec![Accepted::own(Kind::Coverage, &Signed::sign(statement, self.signer))];
        Ok(Plan::saying(head.clone(), accepted, ()))
    }

    /// Under the head's lock: somebody who said the same just now was first, and this commit is given up.
    async fn beside(&self, tx: &ProjectTx<'_>, sealed: &Sealed) -> Result<(), DatabaseError> {
        let own = sealed.placed.get(sealed.before).map_or(u64::MAX, |placed| placed.entry.seq);
        match store::newest(tx, own).await? {
            Some((_, said)) if self.claim.is_said_by(&said) => {
                Err(DatabaseError::Refused("this coverage is declared already".to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Claim, String> {
        let sent: Sent = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Claim::parse(sent).map_err(str::to_owned)
    }

    /// P10: a declared share is an operator's word, whatever it calls itself.
    #[test]
    fn nobody_declares_that_something_was_measured() {
        assert!(parse(r#"{"providers":[{"provider":"notes","share":"all","basis":"declared"}]}"#).is_ok());
        for basis in ["measured", "probed", "sworn"] {
            let text = format!(r#"{{"providers":[{{"provider":"notes","share":"all","basis":"{basis}"}}]}}"#);
            assert!(parse(&text).is_err(), "{basis}");
        }
    }

    #[test]
    fn a_declaration_has_one_line_for_each_provider_and_one_order() {
        let one = parse(r#"{"providers":[{"provider":"b","share":"some"},{"provider":"a","share":"none"}]}"#);
        let other = parse(
            r#"{"providers":[{"provider":"a","share":"none"},{"provider":"b","share":"some"}],"reason":null}"#,
        );
        assert_eq!(one.unwrap(), other.unwrap());
        for wrong in [
            r#"{"providers":[{"provider":"a","share":"all"},{"provider":"a","share":"none"}]}"#,
            r#"{"providers":[{"provider":"a","share":"most"}]}"#,
            r#"{"providers":[],"reason":"ask ann@example.com"}"#,
            r#"{"providers":[],"more":1}"#,
            r#"{}"#,
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
