//! Definitions as they were when somebody reviewed them.
//!
//! Promised: a tool that the registry pins is shown in the pinned words or not at all, so a description that changed
//! after its review reaches no model; a tool that is hidden from an agent is not shown to it. A provider's
//! instructions stay what they were when first heard under the rules in force.
//! Not promised: memory over a restart. The registry holds digests, not texts, so a gateway that never saw the pinned
//! definition leaves its tool out. Tools without a pin are shown as they are: every call of them is held.

use crate::control::Control;
use crate::upstream::Catalogue;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, ProviderId, ToolName};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

#[derive(Default)]
pub struct Shelf {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    definitions: HashMap<(ProviderId, ToolName), (Digest, String)>,
    /// With the digest of the bundle under which they were first heard.
    instructions: HashMap<ProviderId, (Digest, Option<String>)>,
}

/// What one agent is shown of one provider.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Shown {
    /// Names and definitions, in the provider's order.
    pub tools: Vec<(ToolName, String)>,
    /// Tools whose definition is another than the pinned one. Calls of them are held.
    pub changed: Vec<ToolName>,
}

impl Shelf {
    pub fn shown(
        &self,
        provider: &ProviderId,
        catalogue: &Catalogue,
        (control, agent): (&Control, AgentId),
    ) -> Shown {
        let pin = |tool: &ToolName| control.tool(provider, tool).and_then(counterfoil_policy::Tool::pin);
        let mut kept = self.lock();
        kept.definitions.retain(|(of, tool), (digest, _)| of != provider || pin(tool) == Some(*digest));
        let mut shown = Shown::default();
        for tool in catalogue.tools() {
            let place = (provider.clone(), tool.name.clone());
            let pin = pin(&tool.name);
            let matches = pin.is_none_or(|pin| pin == tool.listed.pin());
            if let (true, Some(pin)) = (matches, pin) {
                kept.definitions.insert(place.clone(), (pin, tool.text.clone()));
            }
            if control.hides(provider, &tool.name, agent) {
                continue;
            }
            if matches {
                shown.tools.push((tool.name.clone(), tool.text.clone()));
                continue;
            }
            shown.changed.push(tool.name.clone());
            if let Some((_, text)) = kept.definitions.get(&place) {
                shown.tools.push((tool.name.clone(), text.clone()));
            }
        }
        shown
    }

    /// The provider's words for the model, as JSON.
    pub fn instructions(
        &self,
        provider: &ProviderId,
        now: Option<&str>,
        control: &Control,
    ) -> Option<String> {
        let policy = control.bundle.digest();
        let mut kept = self.lock();
        match kept.instructions.get(provider) {
            Some((under, text)) if *under == policy => text.clone(),
            Some(_) | None => {
                let text = now.map(str::to_owned);
                kept.instructions.insert(provider.clone(), (policy, text.clone()));
                text
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder panics")
    }
}
