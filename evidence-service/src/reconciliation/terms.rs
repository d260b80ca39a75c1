//! What each provider promised, by the registry in force where a call was decided.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use counterfoil_core::digest::Digest;
use counterfoil_core::id::ProviderId;
use counterfoil_core::reconcile::{DEFAULT_SIGN_WITHIN, Duty, Terms};
use counterfoil_core::statement::{Decision, PublishedType, Statement};
use counterfoil_policy::Registry;

use super::keys::Keys;
use super::store::entries;
use crate::control;
use crate::database::{DatabaseError, ProjectTx};

/// The registries that a project published, as far as they were asked for.
#[derive(Default)]
pub(super) struct Registries {
    /// Publications below this place are in `by_control`.
    upto: u64,
    by_control: BTreeMap<u64, Digest>,
    promises: HashMap<Digest, Promises>,
}

/// Of each provider: whether it signs, and within how many milliseconds.
type Promises = HashMap<ProviderId, (bool, i64)>;

impl Registries {
    /// Takes over what was published below `size`, and the texts that these decisions were judged by.
    pub(super) async fn learn(
        &mut self,
        tx: &ProjectTx<'_>,
        size: u64,
        decisions: impl Iterator<Item = &Decision> + Send,
    ) -> Result<(), DatabaseError> {
        if self.upto < size {
            for entered in entries::registries(tx, self.upto).await? {
                if let Some(Statement::Published(said)) = &entered.statement {
                    self.by_control.insert(said.control, said.document);
                }
            }
            self.upto = size;
        }
        let mut wanted: Vec<Digest> = decisions
            .filter(|decision| decision.provider.is_some())
            .filter_map(|decision| Some(self.in_force(decision.control)?.1))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        for document in wanted {
            if let Entry::Vacant(place) = self.promises.entry(document) {
                let text = control::store::document(tx, PublishedType::Registry, document).await?;
                place.insert(promises(&text));
            }
        }
        Ok(())
    }

    /// Under which control number the registry of that moment was published, and its digest.
    pub(super) fn in_force(&self, control: u64) -> Option<(u64, Digest)> {
        let (control, document) = self.by_control.range(..=control).next_back()?;
        Some((*control, *document))
    }

    /// What was owed for the decision of that place.
    pub(super) fn terms(&self, decision: &Decision, seq: u64, keys: &Keys) -> Terms {
        let promised = decision.provider.as_ref().and_then(|provider| {
            let (_, document) = self.in_force(decision.control)?;
            let (signs, within) = self.promises.get(&document)?.get(provider)?;
            Some((*signs && keys.can_sign(provider, seq), *within))
        });
        match promised {
            Some((true, sign_within)) => Terms { duty: Duty::Owes, sign_within },
            Some((false, sign_within)) => Terms { duty: Duty::OwesNothing, sign_within },
            None => Terms { duty: Duty::OwesNothing, sign_within: DEFAULT_SIGN_WITHIN },
        }
    }
}

/// A text that this version cannot read promises nothing: nobody is accused for it.
fn promises(text: &str) -> Promises {
    let registry = match Registry::parse(text) {
        Ok(registry) => registry,
        Err(_) => {
            tracing::warn!("a published registry does not read any more");
            return Promises::new();
        }
    };
    let promise = |provider: &counterfoil_policy::Provider| {
        let within = i64::try_from(provider.sign_within().as_millis()).unwrap_or(i64::MAX);
        (provider.id().clone(), (provider.signs(), within))
    };
    registry.providers().map(promise).collect()
}
