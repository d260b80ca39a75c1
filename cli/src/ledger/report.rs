//! What an audit says of one ledger.

use std::io::Write;
use std::process::ExitCode;

use counterfoil_core::audit::{Broken, Clean};
use serde_json::{Value, json};

use super::{Pins, ProjectRow};

const BROKEN: u8 = 40;
const UNPINNED: u8 = 50;

/// One ledger after another.
#[derive(Default)]
pub struct Report {
    ledgers: Vec<Value>,
    broken: bool,
}

impl Report {
    pub fn add(&mut self, project: &ProjectRow, pins: &Pins, found: Result<Clean, Broken>) {
        let about = json!({ "issuer": project.issuer, "project": project.id });
        let rest = match found {
            Ok(clean) => json!({
                "outcome": "CLEAN",
                "size": clean.size,
                "root": clean.root,
                "verified": clean.verified,
                "erased": clean.erased,
                "keys": if pins.are_given() { "pinned" } else { "as the ledger names them" },
            }),
            Err(broken) => {
                self.broken = true;
                json!({ "outcome": "BROKEN", "place": broken.place.to_string(), "why": broken.fault.to_string() })
            }
        };
        let members = [about, rest].into_iter().filter_map(|value| value.as_object().cloned()).flatten();
        self.ledgers.push(members.collect::<serde_json::Map<_, _>>().into());
    }

    /// Prints it and gives the exit code: 0 all clean, 40 something broken, 50 no ledger of the pinned issuer.
    pub fn finish(&self, as_json: bool) -> ExitCode {
        let text = if as_json {
            format!("{:#}\n", json!(self.ledgers))
        } else {
            self.ledgers.iter().map(lines).collect()
        };
        // Whoever closed the pipe has read enough; the exit code still says what was found.
        let _ = std::io::stdout().write_all(text.as_bytes());
        match (self.broken, self.ledgers.is_empty()) {
            (true, _) => ExitCode::from(BROKEN),
            (false, true) => {
                eprintln!("UNPINNED: no such ledger here");
                ExitCode::from(UNPINNED)
            }
            (false, false) => ExitCode::SUCCESS,
        }
    }
}

fn lines(ledger: &Value) -> String {
    let text = |name: &str| ledger[name].as_str().map_or_else(|| ledger[name].to_string(), str::to_owned);
    let names = ["place", "why", "size", "root", "verified", "erased", "keys"];
    let members = names.into_iter().filter(|name| !ledger[*name].is_null());
    let first = format!("{:<9} {}\n", text("outcome"), text("issuer"));
    members.fold(first, |lines, name| lines + &format!("  {name:<9} {}\n", text(name)))
}
