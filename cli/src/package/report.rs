//! What a package is found to be, for people and as one JSON document.

use std::fmt::Write as _;

use counterfoil_core::package::{Pin, Report, Verdict};
use counterfoil_core::receipt;
use serde_json::{Map, Value, json};

use super::replay::Replayed;

pub struct Outcome {
    report: Value,
    exit: u8,
}

impl Outcome {
    /// Of a package that could not even be opened.
    pub(super) fn of_verdict(keys: &receipt::Trust, verdict: Verdict) -> Self {
        let exit = verdict.exit_code();
        let mut report = said(&verdict);
        report.insert("issuer".to_owned(), json!(keys.issuer()));
        Self { report: report.into(), exit }
    }

    pub(super) fn new(keys: &receipt::Trust, found: Report, replayed: Option<Replayed>) -> Self {
        let verdict = with_replay(found.verdict.clone(), replayed.as_ref());
        let mut report = said(&verdict);
        report.insert("issuer".to_owned(), json!(keys.issuer()));
        let Value::Object(rest) = counts(&found) else { unreachable!("an object was written") };
        report.extend(rest);
        let mut not_checked: Vec<String> = found.not_checked.iter().map(ToString::to_string).collect();
        if let Some(replayed) = &replayed {
            // Its place is taken by what replay itself says.
            not_checked.retain(|what| *what != counterfoil_core::package::NotChecked::Replay.to_string());
            report.insert("replay".to_owned(), replay(replayed));
        }
        report.insert("not_checked".to_owned(), json!(not_checked));
        Self { report: report.into(), exit: verdict.exit_code() }
    }

    pub fn exit_code(&self) -> u8 {
        self.exit
    }

    /// Whether what is in the package holds, so that it is worth looking at.
    pub fn stands(&self) -> bool {
        matches!(self.exit, 0 | 10 | 20 | 21)
    }

    /// One line: the answer and why.
    pub fn headline(&self) -> String {
        let text = |name: &str| self.report[name].as_str().unwrap_or_default();
        format!("{}: {}", text("outcome"), text("why"))
    }

    /// How many findings stand in the record, and how many decisions were evaluated again and agreed.
    pub fn found_and_agreed(&self) -> (u64, u64) {
        let findings = self.report["findings"].as_object();
        let findings = findings.map_or(0, |codes| codes.values().filter_map(Value::as_u64).sum());
        (findings, self.report["replay"]["agreed"].as_u64().unwrap_or_default())
    }

    pub fn json(&self) -> String {
        format!("{:#}\n", self.report)
    }

    pub fn lines(&self) -> String {
        lines(&self.report).expect("writing to a string does not fail")
    }
}

/// A decision that does not follow from what it commits to is broken; one that could not be looked at is missing.
fn with_replay(verdict: Verdict, replayed: Option<&Replayed>) -> Verdict {
    let Some(replayed) = replayed else { return verdict };
    match (&replayed.differs, &replayed.first_unopened, verdict) {
        (Some(why), ..) => Verdict::Broken(why.clone()),
        (None, Some(first), Verdict::Unanchored) => Verdict::Incomplete(format!(
            "{} decisions could not be evaluated again: {first}",
            replayed.unopened
        )),
        (None, _, verdict) => verdict,
    }
}

fn said(verdict: &Verdict) -> Map<String, Value> {
    let mut said = Map::new();
    said.insert("outcome".to_owned(), json!(verdict.word()));
    said.insert("exit".to_owned(), json!(verdict.exit_code()));
    match verdict {
        Verdict::Forked { one, other } => {
            said.insert("why".to_owned(), json!("two signed notes of one log contradict each other"));
            said.insert("notes".to_owned(), json!([one, other]));
        }
        other => {
            let text = other.to_string();
            let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
            said.insert("why".to_owned(), json!(why));
        }
    }
    said
}

fn counts(found: &Report) -> Value {
    let calls: Vec<Value> = found.calls.iter().map(|((account, status), count)| {
        json!({ "account": account.as_str(), "status": status.as_str(), "count": count })
    }).collect();
    let findings: Map<String, Value> =
        found.findings.iter().map(|(code, count)| (code.to_string(), json!(count))).collect();
    let providers: Vec<Value> = found
        .providers
        .iter()
        .map(|pin| {
            let by = match pin.pin {
                Pin::ByTheHolder => "you",
                Pin::ByTheOperator => "the log operator only",
            };
            json!({ "provider": pin.provider, "key": pin.thumbprint, "pinned_by": by })
        })
        .collect();
    json!({
        "first": found.first,
        "size": found.size,
        "root": found.root,
        "verified": found.verified,
        "withheld": found.withheld,
        "erased": found.erased,
        "calls": calls,
        "findings": findings,
        "open": { "count": found.open, "actions": found.open_actions },
        "most_open": found.most_open,
        "providers": providers,
    })
}

fn replay(replayed: &Replayed) -> Value {
    json!({
        "agreed": replayed.agreed,
        "without_rules": replayed.without_rules,
        "unseen": replayed.unseen,
        "unopened": replayed.unopened,
    })
}

fn lines(report: &Value) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let plain = |name: &str| report[name].as_str().map_or_else(|| report[name].to_string(), str::to_owned);
    writeln!(text, "{}: {}", plain("outcome"), plain("why"))?;
    writeln!(text, "  {:<13} {}", "issuer", plain("issuer"))?;
    for note in report["notes"].as_array().into_iter().flatten() {
        writeln!(text, "\n{}", note.as_str().unwrap_or_default())?;
    }
    let Some(size) = report["size"].as_u64() else { return Ok(text) };
    let first = report["first"].as_u64().unwrap_or_default();
    writeln!(text, "  {:<13} {} to {}, root {}", "entries", first, size.saturating_sub(1), plain("root"))?;
    let bodies = ["verified", "withheld", "erased"].map(|name| format!("{} {name}", report[name]));
    writeln!(text, "  {:<13} {}", "bodies", bodies.join(", "))?;
    for call in report["calls"].as_array().into_iter().flatten() {
        let word = |name: &str| call[name].as_str().unwrap_or_default().replace('_', " ");
        writeln!(text, "  {:<13} {} {}, {}", "calls", call["count"], word("status"), word("account"))?;
    }
    let findings = report["findings"].as_object().filter(|findings| !findings.is_empty());
    let findings = findings.map(|codes| {
        let codes = codes.iter().map(|(code, count)| format!("{count} {code}"));
        codes.collect::<Vec<_>>().join(", ")
    });
    writeln!(text, "  {:<13} {}", "findings", findings.as_deref().unwrap_or("none in the record"))?;
    for action in report["open"]["actions"].as_array().into_iter().flatten() {
        writeln!(text, "  {:<13} {}", "open", action.as_str().unwrap_or_default())?;
    }
    let named = report["open"]["actions"].as_array().map_or(0, Vec::len) as u64;
    let open = report["open"]["count"].as_u64().unwrap_or_default();
    if open > named {
        writeln!(text, "  {:<13} {} more", "open", open - named)?;
    }
    for pin in report["providers"].as_array().into_iter().flatten() {
        let word = |name: &str| pin[name].as_str().unwrap_or_default();
        let (provider, key, by) = (word("provider"), word("key"), word("pinned_by"));
        writeln!(text, "  {:<13} {provider}: key {key}, pinned by {by}", "provider")?;
    }
    if let Some(replay) = report.get("replay") {
        let words = [
            ("agreed", "agree"),
            ("without_rules", "were not the rules' to make"),
            ("unopened", "could not be opened"),
        ];
        let words = words.map(|(name, word)| format!("{} {word}", replay[name]));
        writeln!(text, "  {:<13} evaluated again: {}", "replay", words.join(", "))?;
    }
    for what in report["not_checked"].as_array().into_iter().flatten() {
        writeln!(text, "  {:<13} {}", "not checked", what.as_str().unwrap_or_default())?;
    }
    text.push_str(
        "  Verified says that the record holds together under your keys, not that a call was allowed.\n",
    );
    Ok(text)
}
