//! `counterfoil fsck --database <evidence.toml or connection string>`: recompute every ledger from its signed bodies.
//!
//! Exit codes: 0 CLEAN, 40 BROKEN (the first thing that is not right, and where), 50 no ledger of the pinned issuer,
//! 1 when the database cannot be read. Without --trust the ledger is only held against itself: whoever owns the
//! database and its own keys passes; with --trust and --held, they do not.

use std::path::PathBuf;
use std::process::ExitCode;

use counterfoil_core::id::ProjectId;

use crate::ledger::database::{Database, connect};
use crate::ledger::{self, Pins, Report, Stored};

#[derive(clap::Args)]
pub struct Arguments {
    /// An evidence.toml, or a connection string such as `host=/run/postgresql dbname=counterfoil user=…`
    #[arg(long)]
    database: String,

    /// Only this project
    #[arg(long)]
    project: Option<ProjectId>,

    /// The keys that you pinned: a JWKS with iss and log keys; only that issuer's ledger is looked at
    #[arg(long)]
    trust: Option<PathBuf>,

    /// A checkpoint that you kept: the record must pass through it. May be given more than once
    #[arg(long, requires = "trust")]
    held: Vec<PathBuf>,

    /// Print one JSON document instead of lines
    #[arg(long)]
    json: bool,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    // The client is synchronous and brings its own executor, which may not run inside ours.
    tokio::task::spawn_blocking(move || check(&arguments)).await?
}

fn check(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let pins = Pins::read(arguments.trust.as_deref(), &arguments.held)?;
    let mut client = connect(&arguments.database)?;
    let mut database = Database::open(&mut client)?;
    let mut report = Report::default();
    let asked = |id| arguments.project.is_none_or(|asked| asked == id);
    for project in database.projects()?.iter().filter(|row| asked(row.id) && pins.are_of(row)) {
        let found = ledger::audit(&mut database, project, &pins)?;
        report.add(project, &pins, found);
    }
    Ok(report.finish(arguments.json))
}
