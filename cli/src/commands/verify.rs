//! `counterfoil verify <receipt.json or package.zip> --trust <jwks.json>`: one receipt or one package, offline; with
//! `--dump <file>` instead, the whole ledger in a plain pg_dump.
//!
//! Exit codes of a receipt: 0 VERIFIED, 40 BROKEN, 50 UNPINNED; of a package: 10 UNANCHORED, 20 INCOMPLETE, 21 OMITTED,
//! 30 FORKED, 40 BROKEN, 50 UNPINNED; 2 when a file of yours cannot be read. Verified never means allowed: the verdict
//! stands on a line of its own.

use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use counterfoil_core::receipt::{Refusal, RefusalClass, Trust, Verified, verify};
use counterfoil_core::statement::Statement;
use serde_json::{Value, json};

use crate::ledger::dump::Dump;
use crate::ledger::{self, Pins, Report, Stored};
use crate::package::{self, Brought};

const BROKEN: u8 = 40;
const UNPINNED: u8 = 50;
const USAGE: u8 = 2;

/// Twice the largest statement that there is, and its proof.
const LARGEST_FILE: u64 = 4 << 20;

#[derive(clap::Args)]
pub struct Arguments {
    /// The receipt, as /v1/receipts/<seq> gives it, or the package
    #[arg(required_unless_present = "dump")]
    receipt: Option<PathBuf>,

    /// A plain pg_dump: recompute the pinned issuer's whole ledger instead of one receipt
    #[arg(long, conflicts_with = "receipt")]
    dump: Option<PathBuf>,

    /// With --dump: a checkpoint that you kept, which the record must pass through. With a package: a receipt that you
    /// kept, or a folder of them, each of which must stand in its place. May be given more than once
    #[arg(long)]
    held: Vec<PathBuf>,

    /// With a package: a checkpoint that you kept, which the record must pass through
    #[arg(long, conflicts_with = "dump")]
    since: Option<PathBuf>,

    /// With a package: keys that a provider gave you itself, a JWKS or one JWK. May be given more than once
    #[arg(long, conflicts_with = "dump")]
    provider_keys: Vec<PathBuf>,

    /// With a package made --with-rules: evaluate every decision again
    #[arg(long, requires = "disclosure_key")]
    replay: bool,

    /// With --replay: the private half of the project's disclosure key, mode 0600
    #[arg(long, requires = "replay")]
    disclosure_key: Option<PathBuf>,

    /// The keys that you pinned: a JWKS with iss, decision and log keys
    #[arg(long)]
    trust: PathBuf,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    match (&arguments.receipt, &arguments.dump) {
        (_, Some(dump)) => ledger_in(dump, arguments).unwrap_or_else(|error| mistaken(&error)),
        (Some(file), None) if package::is_zip(file) => {
            one_package(file, arguments).unwrap_or_else(|error| mistaken(&error))
        }
        (Some(_), None) if !arguments.held.is_empty() || arguments.since.is_some() || arguments.replay => {
            mistaken(&anyhow::anyhow!("--held, --since and --replay are for packages"))
        }
        (Some(receipt), None) => one_receipt(receipt, arguments),
        (None, None) => ExitCode::from(USAGE),
    }
}

fn mistaken(error: &anyhow::Error) -> ExitCode {
    eprintln!("counterfoil: {error:#}");
    ExitCode::from(USAGE)
}

fn one_package(file: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let keys = package::pinned(&arguments.trust, &arguments.provider_keys)?;
    let brought = Brought {
        since: arguments.since.clone(),
        held: arguments.held.clone(),
        disclosure_key: arguments.disclosure_key.clone(),
    };
    let outcome = package::verify(file, &keys, &brought)?;
    let text = if arguments.json { outcome.json() } else { outcome.lines() };
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(outcome.exit_code()))
}

/// The same audit as fsck's, on rows that a dump holds.
fn ledger_in(dump: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let pins = Pins::read(Some(&arguments.trust), &arguments.held)?;
    let mut dump = Dump::open(dump)?;
    let mut report = Report::default();
    for project in dump.projects()?.iter().filter(|row| pins.are_of(row)) {
        let found = ledger::audit(&mut dump, project, &pins)?;
        report.add(project, &pins, found);
    }
    Ok(report.finish(arguments.json))
}

fn one_receipt(receipt: &Path, arguments: &Arguments) -> ExitCode {
    let (receipt, trust) = match (read(receipt), trust(&arguments.trust)) {
        (Ok(receipt), Ok(trust)) => (receipt, trust),
        (Err(complaint), _) | (_, Err(complaint)) => {
            eprintln!("counterfoil: {complaint}");
            return ExitCode::from(USAGE);
        }
    };
    let (report, code) = match verify(&receipt, &trust) {
        Ok(verified) => (accepted(&verified, &trust), ExitCode::SUCCESS),
        Err(refusal) => refused(&refusal),
    };
    let text = if arguments.json { format!("{report:#}\n") } else { lines(&report) };
    // The exit code is the answer: it must come out right even where nobody reads the words to their end.
    let _ = std::io::stdout().write_all(text.as_bytes());
    code
}

fn accepted(verified: &Verified, trust: &Trust) -> Value {
    let mut report = json!({
        "outcome": "VERIFIED",
        "issuer": trust.issuer(),
        "kind": verified.entry.kind,
        "verdict": verified.verdict(),
        "seq": verified.entry.seq,
        "at": verified.entry.at,
        "digest": verified.digest,
        "key": verified.kid,
        "log_size": verified.checkpoint.size,
    });
    if let Statement::Decision(decision) = &verified.statement {
        report["reason"] = json!(decision.reason);
        report["rules"] = json!(decision.rules);
        report["action"] = json!(decision.action);
        report["agent"] = json!(decision.agent);
        report["provider"] = json!(decision.provider);
        report["tool"] = json!(decision.tool);
        report["effect"] = json!(decision.effect);
    }
    report
}

fn refused(refusal: &Refusal) -> (Value, ExitCode) {
    let (outcome, code) = match refusal.class() {
        RefusalClass::Unpinned => ("UNPINNED", UNPINNED),
        RefusalClass::Broken => ("BROKEN", BROKEN),
    };
    let report = json!({ "outcome": outcome, "code": refusal.code(), "why": refusal.to_string() });
    (report, ExitCode::from(code))
}

fn lines(report: &Value) -> String {
    let Some(members) = report.as_object() else { return String::new() };
    let mut text = format!("{}\n", plain(&members["outcome"]));
    for (name, value) in members.iter().filter(|(name, value)| *name != "outcome" && !is_empty(value)) {
        text.push_str(&format!("  {:<9} {}\n", name.replace('_', " "), plain(value)));
    }
    if members["outcome"] == "VERIFIED" {
        text.push_str(VERIFIED_SAYS);
    }
    text
}

const VERIFIED_SAYS: &str = "  Verified says who signed this and where it stands in the log; whether it was allowed, the \
                             verdict says.\n  Not checked: the rest of the log, and what the provider did.\n";

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn trust(path: &Path) -> Result<Trust, String> {
    Trust::from_jwks(&read(path)?).map_err(|error| format!("`{}`: {error}", path.display()))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let complaint = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let file = File::open(path).map_err(|error| complaint(&error))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| complaint(&error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(complaint(&"larger than 4 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
