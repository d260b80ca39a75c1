//! What a public page may contain. This file decides it, and no other (T4).
//!
//! A member of a statement reaches a page only if it is named here: labels that operators and providers chose
//! (agent, provider, tool and rule ids, service and verb), kinds and codes, times, digests. Principals, nouns,
//! arguments, results and amounts are commitments in the statement already; not even those are shown.

use counterfoil_core::envelope::Envelope;
use counterfoil_core::statement::{Class, Decision, Statement, Verdict};
use counterfoil_core::time::Timestamp;

use crate::ledger::store::EntryRow;

/// One line of the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct PublicEntry {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    /// What it is about, in public words.
    pub(super) about: String,
    pub(super) verdict: Option<Verdict>,
    pub(super) detail: String,
    pub(super) digest: String,
}

impl PublicEntry {
    /// Reads the signed body, never a projection column. A body that does not read is shown as erased or unreadable.
    pub(super) fn of(row: &EntryRow) -> Self {
        let blank = |detail: &str| Self {
            seq: row.entry.seq,
            at: row.entry.at,
            kind: row.entry.kind.as_str(),
            about: String::new(),
            verdict: None,
            detail: detail.to_owned(),
            digest: row.entry.body.to_string(),
        };
        let Some(body) = &row.body else { return blank("body erased") };
        let Some(statement) = Envelope::parse(body).ok().and_then(|envelope| envelope.statement().ok())
        else {
            return blank("body does not read");
        };
        let (about, verdict, detail) = says(&statement);
        Self { about, verdict, detail, ..blank("") }
    }
}

fn says(statement: &Statement) -> (String, Option<Verdict>, String) {
    match statement {
        Statement::Decision(decision) => (act(decision), Some(decision.verdict), why(decision)),
        Statement::Observation(seen) => {
            let reason = seen.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            (format!("{}: {}", seen.provider, seen.tool), None, format!("{}{reason}", seen.status))
        }
        Statement::Received(received) => {
            let holds = if received.holds { "signature holds" } else { "signature does not hold" };
            (received.form.to_string(), None, holds.to_owned())
        }
        Statement::Key(key) => {
            let event = format!("{:?}", key.event).to_lowercase();
            (format!("{} key", key.purpose), None, format!("{event} {}", key.thumbprint))
        }
        Statement::Published(published) => {
            let until = published.expires_at.map(|at| format!(", until {at}")).unwrap_or_default();
            (published.document.to_string(), None, format!("control {}{until}", published.control))
        }
        Statement::Epoch(epoch) => {
            (epoch.epoch.clone(), None, format!("entries {} to {}", epoch.first, epoch.last))
        }
        Statement::Finding(finding) => (finding.code.to_string(), None, String::new()),
        Statement::Clearance(clearance) => {
            (clearance.code.to_string(), None, "what was missing came".to_owned())
        }
        Statement::Resolution(resolution) => {
            (resolution.finding.to_string(), None, resolution.note.to_string())
        }
        Statement::Coverage(coverage) => {
            (format!("{} providers", coverage.providers.len()), None, String::new())
        }
        Statement::Settings(settings) => (settings.name.to_string(), None, settings.value.to_string()),
        Statement::Tombstone(tombstone) => {
            (tombstone.epoch.clone(), None, format!("entries {} to {}", tombstone.first, tombstone.last))
        }
        Statement::Kill(kill) => ("everything".to_owned(), None, format!("generation {}", kill.generation)),
        Statement::Incident(incident) => (incident.code.clone(), None, String::new()),
    }
}

fn act(decision: &Decision) -> String {
    let tool = decision.tool.as_ref().map(ToString::to_string);
    let provider = decision.provider.as_ref().map(ToString::to_string);
    let named = match (provider, tool) {
        (Some(provider), Some(tool)) => format!("{provider}: {tool}"),
        (Some(provider), None) => format!("{provider}: a tool it does not list"),
        (None, _) => "unreadable call".to_owned(),
    };
    decision.class.as_ref().map_or(named.clone(), |class| format!("{named} · {}", reach(class)))
}

/// Service, verb and kinds of nouns; `the whole tool` where the tool's reach is the tool itself.
fn reach(class: &Class) -> String {
    let nouns = class.nouns.iter().map(|noun| match noun.noun_type.as_str() {
        NOUN_OF_A_TOOL => "the whole tool".to_owned(),
        other => other.to_owned(),
    });
    let nouns: Vec<String> = nouns.collect();
    format!("{}.{} · {}", class.service, class.verb, nouns.join(", "))
}

const NOUN_OF_A_TOOL: &str = "tool";

fn why(decision: &Decision) -> String {
    let rules: Vec<String> = decision.rules.iter().map(ToString::to_string).collect();
    let rules = if rules.is_empty() { String::new() } else { format!(" {}", rules.join(", ")) };
    format!("{}{rules}", decision.reason)
}
