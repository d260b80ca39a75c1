//! What the services say while they run in this process, on standard error.

use tracing_subscriber::EnvFilter;

/// Warnings and worse; RUST_LOG asks for more.
pub fn to_standard_error() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
