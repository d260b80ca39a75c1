//! What a public page may contain. This file decides it, and no other (T4).
//!
//! A member of a statement reaches a page only if it is named here: labels that operators and providers chose
//! (provider, tool and rule ids, service and verb), kinds and codes, times, digests, thumbprints, and the notes that
//! are public by their format. Principals, nouns, arguments, results and amounts are commitments in the statement
//! already; not even those are shown. What somebody else wrote is shown only as far as it is a word of ours: of a
//! statement whose signature does not hold, nothing but its outcome. One exception: of a tool that is not listed as it
//! was pinned, the lines of its definition that differ, as `definitions` read them (no address, nothing hidden).
//! Long because it is one file on purpose: whoever asks what a page may show reads this one.

use counterfoil_core::digest::Digest;
use counterfoil_core::entry::{Entry, Kind};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::execution::{Said, Submitted};
use counterfoil_core::id::ActionId;
use counterfoil_core::key::{Purpose, Thumbprint};
use counterfoil_core::package::{Line, Withheld};
use counterfoil_core::statement::{
    AnsweredBy, Class, Counts, Coverage, Decision, Effect, Finding, FindingCode, KeyEvent, KeyStatement,
    Observation, Probe, ProbeOutcome, ProviderCoverage, Received, ReceivedForm, Scope, Signer, Statement,
    Verdict,
};
use counterfoil_core::time::Timestamp;
use serde::Serialize;

use crate::ledger::store::EntryRow;

/// An entry whose body was read once. What the body says stays in this file.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) entry: Entry,
    erased: bool,
    /// The statement, and whose key signed it. None if the body does not read.
    said: Option<(Thumbprint, Statement)>,
}

/// One named value.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
}

/// How much of a body a page shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum BodyShown {
    /// Read and shown; its receipt can be had.
    Shown,
    /// Somebody else's form: digest, form, signer and standing are shown.
    Withheld,
    Erased,
    Unreadable,
}

/// One entry.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct PublicEntry {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    /// What it is about, in public words.
    pub(super) about: String,
    pub(super) verdict: Option<Verdict>,
    pub(super) detail: String,
    pub(super) facts: Vec<Fact>,
    /// Whose key signed the statement; of what we received, the key that its own signature held under.
    pub(super) signer: Option<Thumbprint>,
    pub(super) digest: Digest,
    pub(super) body: BodyShown,
}

/// A call: what was decided.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Decided {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) action: ActionId,
    pub(super) act: String,
    pub(super) verdict: Verdict,
    pub(super) why: String,
    /// Whether it may go out: an ALLOW, or a verdict that was only advisory.
    pub(super) cleared: bool,
    pub(super) marks: Vec<&'static str>,
}

/// What a provider said about a call.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Executed {
    pub(super) seq: u64,
    pub(super) outcome: &'static str,
    pub(super) signer: Option<Thumbprint>,
    pub(super) holds: bool,
}

/// What a finding says.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct PublicFinding {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) code: FindingCode,
    pub(super) action: Option<ActionId>,
    /// The entry that it is about.
    pub(super) about: Option<u64>,
}

/// One change of one key.
#[derive(Clone, Debug)]
pub(super) struct KeyLine {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) event: KeyEvent,
    pub(super) purpose: Purpose,
    pub(super) provider: Option<String>,
    pub(super) thumbprint: Thumbprint,
    pub(super) compromised_since: Option<Timestamp>,
}

/// A closed day.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Day {
    pub(super) day: String,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) counts: Counts,
}

/// A published text, by its digest.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct PublishedText {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    pub(super) document: Digest,
    pub(super) policy: Digest,
    pub(super) control: u64,
    pub(super) reason: Option<String>,
}

impl Seen {
    /// Reads the signed body, never a projection column.
    pub(super) fn read(row: EntryRow) -> Self {
        Self { said: read(&row), erased: row.body.is_none(), entry: row.entry }
    }

    fn statement(&self) -> Option<&Statement> {
        self.said.as_ref().map(|(_, statement)| statement)
    }
}

impl PublicEntry {
    pub(super) fn of(row: &Seen) -> Self {
        let blank = |body, detail: &str| Self {
            seq: row.entry.seq,
            at: row.entry.at,
            kind: row.entry.kind.as_str(),
            about: String::new(),
            verdict: None,
            detail: detail.to_owned(),
            facts: Vec::new(),
            signer: None,
            digest: row.entry.body,
            body,
        };
        if row.erased {
            return blank(BodyShown::Erased, "body erased");
        }
        let Some((signer, statement)) = &row.said else {
            return blank(BodyShown::Unreadable, "body does not read");
        };
        let (about, verdict, detail) = says(statement);
        Self {
            about,
            verdict,
            facts: facts(statement),
            signer: signed_by(statement, signer),
            body: match statement {
                Statement::Received(received) if is_withheld(received) => BodyShown::Withheld,
                _ => BodyShown::Shown,
            },
            ..blank(BodyShown::Shown, &detail)
        }
    }
}

/// The line of an entry in what strangers verify: pages and their packages. The alias that somebody else's key came
/// under is their text, so it is not repeated; the thumbprint is the identity. `None` if the body is not what the
/// ledger stores.
pub(crate) fn line(row: &EntryRow) -> Option<Line> {
    let seq = row.entry.seq;
    let Some(body) = &row.body else { return Some(Line::of_absent(seq)) };
    if may_be_wrapped(row.entry.kind)
        && let (_, Statement::Received(received)) = read(row)?
        && is_withheld(&received)
    {
        let signer = Signer { kid: None, thumbprint: received.signer.thumbprint };
        return Some(Line::of_withheld(seq, Withheld { form: received.form, signer, holds: received.holds }));
    }
    Line::of_body(seq, body)
}

/// Only these are read: a million decisions are not parsed to find out that they are ours.
fn may_be_wrapped(kind: Kind) -> bool {
    matches!(kind, Kind::Execution | Kind::Catalog | Kind::Answer)
}

/// Whether the receipt of an entry, which holds its whole body, is for everybody.
pub(super) fn has_public_receipt(row: &EntryRow) -> bool {
    match read(row) {
        Some((_, Statement::Received(received))) => !is_withheld(&received),
        Some(_) => true,
        None => false,
    }
}

/// Native executions hold typed members only; other wrapped forms may hold anything.
fn is_withheld(received: &Received) -> bool {
    match received.form {
        ReceivedForm::ExecutionNative => false,
        ReceivedForm::VendorWire | ReceivedForm::Catalog | ReceivedForm::Webauthn => true,
    }
}

pub(super) fn decided(row: &Seen) -> Option<Decided> {
    let Statement::Decision(decision) = row.statement()? else { return None };
    Some(Decided {
        seq: row.entry.seq,
        at: row.entry.at,
        action: decision.action,
        act: act(decision),
        verdict: decision.verdict,
        why: why(decision),
        cleared: decision.is_cleared(),
        marks: decision.marks.iter().map(|mark| mark.as_str()).collect(),
    })
}

pub(super) fn executed(row: &Seen) -> Option<Executed> {
    let Statement::Received(received) = row.statement()? else { return None };
    let submitted = Submitted::unwrap(received).ok()??;
    Some(Executed {
        seq: row.entry.seq,
        outcome: submitted.outcome().as_str(),
        signer: received.signer.thumbprint.clone().filter(|_| received.holds),
        holds: received.holds,
    })
}

/// What the gateway saw, in words.
pub(super) fn observed(row: &Seen) -> Option<String> {
    let Statement::Observation(seen) = row.statement()? else { return None };
    Some(saw(seen))
}

pub(super) fn finding(row: &Seen) -> Option<PublicFinding> {
    let Statement::Finding(finding) = row.statement()? else { return None };
    let Finding { code, action, seq: about, .. } = **finding;
    Some(PublicFinding { seq: row.entry.seq, at: row.entry.at, code, action, about })
}

/// The note of a resolution.
pub(super) fn note(row: &Seen) -> Option<String> {
    let Statement::Resolution(resolution) = row.statement()? else { return None };
    Some(resolution.note.to_string())
}

pub(super) fn key(row: &Seen) -> Option<KeyLine> {
    let Statement::Key(key) = row.statement()? else { return None };
    let KeyStatement { event, purpose, compromised_since, .. } = **key;
    let (provider, thumbprint) = (key.provider.as_ref().map(ToString::to_string), key.thumbprint.clone());
    let (seq, at) = (row.entry.seq, row.entry.at);
    Some(KeyLine { seq, at, event, purpose, provider, thumbprint, compromised_since })
}

pub(super) fn day(row: &Seen) -> Option<Day> {
    let Statement::Epoch(epoch) = row.statement()? else { return None };
    Some(Day { day: epoch.epoch.clone(), first: epoch.first, last: epoch.last, counts: epoch.counts.clone() })
}

/// How the person of an answer was known.
pub(super) fn answered_by(row: &Seen) -> Option<AnsweredBy> {
    let Statement::Answer(answer) = row.statement()? else { return None };
    Some(answer.by)
}

pub(super) fn published(row: &Seen) -> Option<PublishedText> {
    let Statement::Published(published) = row.statement()? else { return None };
    Some(PublishedText {
        seq: row.entry.seq,
        at: row.entry.at,
        kind: row.entry.kind.as_str(),
        document: published.document,
        policy: published.policy,
        control: published.control,
        reason: published.reason.clone(),
    })
}

/// What an operator declared of each provider, and why.
pub(super) fn coverage(row: &Seen) -> Option<(Vec<ProviderCoverage>, Option<String>)> {
    let Statement::Coverage(coverage) = row.statement()? else { return None };
    let Coverage { providers, reason, .. } = &**coverage;
    Some((providers.clone(), reason.as_ref().map(ToString::to_string)))
}

/// What a gateway tried of a provider.
pub(super) fn probe(row: &Seen) -> Option<&Probe> {
    let Statement::Probe(probe) = row.statement()? else { return None };
    Some(probe)
}

/// The action that an entry is about.
pub(super) fn action_of(row: &Seen) -> Option<ActionId> {
    match row.statement()? {
        Statement::Decision(decision) => Some(decision.action),
        Statement::Observation(seen) => Some(seen.action),
        Statement::Received(received) => Submitted::unwrap(received).ok()??.action(),
        Statement::Finding(finding) => finding.action,
        Statement::Clearance(clearance) => Some(clearance.action),
        Statement::Hold(hold) => Some(hold.action),
        Statement::Answer(answer) => Some(answer.action),
        Statement::Key(_)
        | Statement::Published(_)
        | Statement::Epoch(_)
        | Statement::Resolution(_)
        | Statement::Coverage(_)
        | Statement::Settings(_)
        | Statement::Tombstone(_)
        | Statement::Probe(_)
        | Statement::Kill(_)
        | Statement::Incident(_)
        | Statement::Grant(_)
        | Statement::Resume(_)
        | Statement::Breakglass(_)
        | Statement::Shadow(_)
        | Statement::Session(_) => None,
    }
}

fn read(row: &EntryRow) -> Option<(Thumbprint, Statement)> {
    let envelope = Envelope::parse(row.body.as_ref()?).ok()?;
    let statement = envelope.statement().ok()?;
    Some((envelope.kid().clone(), statement))
}

fn signed_by(statement: &Statement, signer: &Thumbprint) -> Option<Thumbprint> {
    match statement {
        Statement::Received(received) => received.signer.thumbprint.clone().filter(|_| received.holds),
        _ => Some(signer.clone()),
    }
}

fn says(statement: &Statement) -> (String, Option<Verdict>, String) {
    let text = |about: String, detail: String| (about, None, detail);
    match statement {
        Statement::Decision(decision) => (act(decision), Some(decision.verdict), why(decision)),
        Statement::Observation(seen) => text(format!("{}: {}", seen.provider, seen.tool), saw(seen)),
        Statement::Received(received) => text(received.form.to_string(), standing(received).to_owned()),
        Statement::Key(key) => {
            text(format!("{} key", key.purpose), format!("{} {}", key.event, key.thumbprint))
        }
        Statement::Published(published) => {
            let until = published.expires_at.map(|at| format!(", until {at}")).unwrap_or_default();
            text(published.document.to_string(), format!("control {}{until}", published.control))
        }
        Statement::Epoch(epoch) => {
            text(epoch.epoch.clone(), format!("entries {} to {}", epoch.first, epoch.last))
        }
        Statement::Finding(finding) => text(finding.code.to_string(), about(finding.seq)),
        Statement::Clearance(clearance) => {
            text(clearance.code.to_string(), format!("entry {} brought what was missing", clearance.seq))
        }
        Statement::Resolution(resolution) => {
            text(resolution.finding.to_string(), resolution.note.to_string())
        }
        Statement::Coverage(coverage) => {
            text(format!("{} providers", coverage.providers.len()), String::new())
        }
        Statement::Settings(settings) => (settings.name.to_string(), None, settings.value.to_string()),
        Statement::Tombstone(tombstone) => {
            text(tombstone.epoch.clone(), format!("entries {} to {}", tombstone.first, tombstone.last))
        }
        Statement::Probe(probe) => {
            let refused = probe.count(ProbeOutcome::Refused);
            text(
                format!("{}: {}", probe.provider, probe.tool),
                format!("{refused} of {} refused", probe.cases.len()),
            )
        }
        Statement::Kill(kill) => text(scope(kill.scope.as_ref()), format!("generation {}", kill.generation)),
        Statement::Resume(resume) => text(scope(resume.scope.as_ref()), String::new()),
        Statement::Hold(hold) => text(hold.hold.to_string(), hold.event.to_string()),
        Statement::Answer(answer) => {
            let until = answer.until.map(|at| format!(", until {at}")).unwrap_or_default();
            let by = match answer.by {
                AnsweredBy::Login => "by a login",
                AnsweredBy::Local => "local: by whoever runs programs on the machine itself",
            };
            text(answer.hold.to_string(), format!("{}{until}, {by}", answer.answer))
        }
        Statement::Grant(grant) => text(
            format!("{}: {}.{}", grant.agent, grant.service, grant.verb),
            format!("{}, until {}", grant.event, grant.until),
        ),
        Statement::Breakglass(window) => {
            text(window.reason.to_string(), format!("{}, until {}", window.event, window.until))
        }
        Statement::Shadow(window) => {
            text(window.reason.to_string(), format!("{}, until {}", window.event, window.until))
        }
        Statement::Session(session) => text(session.session.to_string(), session.event.to_string()),
        Statement::Incident(incident) => text(incident.code.clone(), String::new()),
    }
}

fn scope(scope: Option<&Scope>) -> String {
    scope.map_or_else(|| "everything".to_owned(), ToString::to_string)
}

/// What a page about one action shows beside [`says`].
fn facts(statement: &Statement) -> Vec<Fact> {
    let fact = |name, value: &dyn ToString| Fact { name, value: value.to_string() };
    match statement {
        Statement::Decision(decision) => facts_of_decision(decision),
        Statement::Observation(seen) => {
            let mut facts = vec![fact("about decision", &seen.decision)];
            facts.extend(seen.sent_at.map(|at| fact("sent", &at)));
            facts
        }
        Statement::Received(received) => facts_of_received(received),
        Statement::Clearance(clearance) => vec![fact("about finding", &clearance.finding)],
        Statement::Finding(finding) => {
            finding.statement.map(|said| fact("about body", &said)).into_iter().collect()
        }
        Statement::Key(_)
        | Statement::Published(_)
        | Statement::Epoch(_)
        | Statement::Resolution(_)
        | Statement::Coverage(_)
        | Statement::Settings(_)
        | Statement::Tombstone(_)
        | Statement::Probe(_)
        | Statement::Kill(_)
        | Statement::Incident(_)
        | Statement::Hold(_)
        | Statement::Answer(_)
        | Statement::Grant(_)
        | Statement::Resume(_)
        | Statement::Breakglass(_)
        | Statement::Shadow(_)
        | Statement::Session(_) => Vec::new(),
    }
}

fn facts_of_decision(decision: &Decision) -> Vec<Fact> {
    let fact = |name, value: &dyn ToString| Fact { name, value: value.to_string() };
    let mut facts = Vec::new();
    if let Some(class) = &decision.class {
        let words = format!(
            "{}, data {}, destination {}, magnitude {}, {}",
            class.operation, class.data_class, class.destination, class.magnitude, class.reversibility
        );
        facts.push(fact("classified as", &words));
    }
    let binds = match decision.effect {
        Effect::Enforced => "it binds",
        Effect::Advisory => "advisory: it only says what it would have been",
    };
    facts.push(fact("effect", &binds));
    facts.extend(decision.marks.iter().map(|mark| fact("mark", mark)));
    facts.push(fact("came by", &decision.origin));
    facts.push(fact("policy", &decision.policy));
    facts.push(fact("control", &decision.control));
    facts.push(fact("kill generation", &decision.generation));
    facts.extend(decision.follows.map(|action| fact("follows action", &action)));
    facts.extend(decision.supersedes.map(|digest| fact("takes the place of decision", &digest)));
    facts.extend(decision.pin.map(|pin| fact("definition of the tool", &pin)));
    facts
}

fn facts_of_received(received: &Received) -> Vec<Fact> {
    let fact = |name, value: &dyn ToString| Fact { name, value: value.to_string() };
    let Ok(Some(submitted)) = Submitted::unwrap(received) else { return Vec::new() };
    let mut facts = vec![fact("outcome", &submitted.outcome())];
    if let (true, Said::Native(said)) = (received.holds, submitted.said()) {
        facts.push(fact("by provider", &format!("{}: {}", said.provider, said.tool)));
        facts.push(fact("executed, by its own clock", &said.executed_at));
    }
    facts.extend(submitted.decision().map(|digest| fact("about decision", &digest)));
    facts
}

fn saw(seen: &Observation) -> String {
    let reason = seen.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let error = if seen.is_error == Some(true) { ", as an error" } else { "" };
    format!("{}{reason}{error}", seen.status)
}

fn standing(received: &Received) -> &'static str {
    if received.holds { "signature holds" } else { "signature does not hold" }
}

fn about(seq: Option<u64>) -> String {
    seq.map(|seq| format!("about entry {seq}")).unwrap_or_default()
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
