//! Tells the evidence service what tools are listed as, so that a page can show what changed.
//!
//! Promised: a definition that is met is told once, the pinned one and each that takes its place, without keeping a
//! caller waiting. Not promised: that it arrives. What failed is told again when it is met again.

use crate::control::Control;
use crate::evidence::Evidence;
use crate::upstream::ListedTool;
use counterfoil_core::definition::{Definition, Definitions as Told, MAX_DEFINITION, MAX_DEFINITIONS};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProjectId, ProviderId, ToolName};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

pub struct Definitions {
    evidence: Arc<Evidence>,
    /// What was told last of each tool: the pin, and what it is listed as.
    told: Arc<Mutex<Last>>,
}

type Last = HashMap<ProviderId, HashMap<ToolName, (Digest, Digest)>>;

impl Definitions {
    pub fn new(evidence: Arc<Evidence>) -> Self {
        Self { evidence, told: Arc::default() }
    }

    /// Tells what is news among tools that a provider lists and the registry pins.
    pub fn met<'t>(
        &self,
        (project, provider): (ProjectId, &ProviderId),
        tools: impl Iterator<Item = &'t ListedTool>,
        control: &Control,
    ) {
        let mut news = Vec::new();
        {
            let mut told = lock(&self.told);
            for tool in tools {
                let Some(pin) = control.tool(provider, &tool.name).and_then(|tool| tool.pin()) else {
                    continue;
                };
                let now = (pin, tool.listed.pin());
                if told.get(provider).and_then(|tools| tools.get(&tool.name)) == Some(&now) {
                    continue;
                }
                told.entry(provider.clone()).or_default().insert(tool.name.clone(), now);
                if tool.text.len() <= MAX_DEFINITION {
                    let (provider, tool_name, text) =
                        (provider.clone(), tool.name.clone(), tool.text.clone());
                    news.push(Definition { provider, tool: tool_name, pin, text });
                }
            }
        }
        if !news.is_empty() {
            self.tell(project, news);
        }
    }

    fn tell(&self, project: ProjectId, news: Vec<Definition>) {
        let (evidence, told) = (self.evidence.clone(), self.told.clone());
        tokio::spawn(async move {
            for some in news.chunks(MAX_DEFINITIONS) {
                let request = Told { v: 1, project, definitions: some.to_vec() };
                if let Err(error) = evidence.define(&request).await {
                    tracing::warn!(%project, %error, "definitions not told");
                    let mut told = lock(&told);
                    for Definition { provider, tool, .. } in some {
                        told.get_mut(provider).and_then(|tools| tools.remove(tool));
                    }
                }
            }
        });
    }
}

fn lock(told: &Mutex<Last>) -> MutexGuard<'_, Last> {
    told.lock().expect("no holder panics")
}
