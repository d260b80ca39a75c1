//! A whole gateway in a test: a ledger that keeps its promises (or breaks one on purpose), a provider that writes down
//! every call it sees, and a host that speaks HTTP.

mod asked;
mod holds;
mod host;
mod ledger;
pub mod provider;
pub mod site;
mod world;

pub use host::{Host, Reply, call, read};
pub use ledger::{Behaviour, TOKEN, beginning, log_key};
pub use world::{KEY, OTHER_KEY, PROJECT, World, control_of_world};
