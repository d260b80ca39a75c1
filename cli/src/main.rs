//! The `counterfoil` program.

mod archive;
mod bridge;
mod chance;
mod clock;
mod commands;
mod demo;
mod deployment;
mod disclosure;
mod draft;
mod hosts;
mod import;
mod ledger;
mod log;
mod package;
mod prober;
mod provider;
mod remote;
mod watch;

use std::process::ExitCode;

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    match commands::Program::parse().run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("counterfoil: {error:#}");
            ExitCode::FAILURE
        }
    }
}
