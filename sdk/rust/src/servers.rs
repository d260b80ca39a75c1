//! The guard in front of a server.
//!
//! | feature | for |
//! |---|---|
//! | `tower` | anything that serves HTTP through tower: axum, hyper, rmcp's `StreamableHttpService` |
//! | `stdio` | anything that speaks MCP over two byte streams: rmcp, or a server of your own |
//!
//! Promised: the server sees a `tools/call` only after its capability was used up; what is hashed is `params.arguments` as
//! it stood in the bytes, before anything decodes them; what is signed is the result whose bytes leave. A message with two
//! readings is refused. Not promised: anything about calls that reach the server another way.

#[cfg(any(feature = "tower", feature = "stdio"))]
mod message;
#[cfg(feature = "stdio")]
mod pipe;
#[cfg(feature = "tower")]
mod rewriter;
#[cfg(feature = "tower")]
mod tower;

#[cfg(feature = "tower")]
pub use self::tower::{BoxError, GuardLayer, GuardService, ResponseBody};
#[cfg(feature = "stdio")]
pub use pipe::guarded;

/// As long as a message may be at the gateway, in bytes.
pub const LARGEST_MESSAGE: usize = 4 * 1024 * 1024;
