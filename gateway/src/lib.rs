//! The gateway: stands between agent hosts and tool providers and decides every call before it is made.
//!
//! Promised: a call is forwarded only under a decision that is signed, recorded and acknowledged (`pipeline` is the
//! whole way, on one screen). Not promised: anything about calls that do not come through here.

mod answer;
mod call;
mod capability;
mod chance;
mod clock;
pub mod config;
mod control;
mod control_verbs;
mod decision;
mod definitions;
mod envelope;
mod evidence;
mod executions;
mod front;
mod holds;
mod house;
mod in_flight;
mod listener;
pub mod listing;
mod metrics;
mod observation;
mod past;
mod pipeline;
mod probes;
pub mod raw;
mod recorder;
mod self_test;
mod serve;
mod shelf;
mod slip;
#[cfg(test)]
mod testing;
mod told;
mod upstream;

pub use config::{Config, ConfigError};
pub use serve::{Gateway, ServeError, serve};
pub use upstream::{Away, Sharing, Site, SiteError};
