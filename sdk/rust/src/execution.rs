//! What a provider did, signed by the provider alone.
//!
//!     {"typ":"execution/v1","iss":"notes","action":"act_…","decision":"sha256:…","capability":"<jti>","outcome":"EXECUTED", …}
//!
//! Promised: arguments and result stand in it as commitments under the seed that came with the capability, so the gateway
//! can compare and a stranger cannot guess. Not promised: that what you sign is true; it is your statement.
//! Format and cases: docs/formats/execution.md, docs/vectors/executions.

mod bound;
mod signer;
mod statement;

pub use bound::bound_result;
#[cfg(any(feature = "tower", feature = "stdio"))]
pub(crate) use bound::bound_value;
pub use counterfoil_core::envelope::Envelope;
pub use counterfoil_core::execution::{ExecutionError, Submitted};
pub use counterfoil_core::statement::{ErrorCode, Outcome, ReceivedForm, SeenCheckpoint, VendorExecution};
pub use signer::{Callback, KeyTextError, SignError, Signer, SigningKey};
pub use statement::{Facts, SignedSixFields, decision_id, execution_statement, six_field_statement};
