//! What an audit says of one ledger.

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
        if as_json {
            println!("{:#}", json!(self.ledgers));
        } else {
            self.ledgers.iter().for_each(print_lines);
        }
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

fn print_lines(ledger: &Value) {
    let text = |name: &str| ledger[name].as_str().map_or_else(|| ledger[name].to_string(), str::to_owned);
    println!("{:<9} {}", text("outcome"), text("issuer"));
    let names = ["place", "why", "size", "root", "verified", "erased", "keys"];
    for name in names.into_iter().filter(|name| !ledger[*name].is_null()) {
        println!("  {name:<9} {}", text(name));
    }
}
