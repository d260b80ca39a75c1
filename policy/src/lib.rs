//! Policy: what a call is, and what the published rules say about it.
//!
//! Promised: everything here is a pure function. No input or output, no clock, no randomness, no model; the time of a
//! decision is a member of its facts, so that whoever holds bundle and facts gets the same judgement (P8, G1).
//! What nothing allows is never allowed (G3); a tool never classifies itself (G2).
//! Not promised: that an operator's registry and rules say what they meant.
//!
//! Formats: docs/formats/policy.md, cases: docs/vectors/policy.

mod boot;
mod bundle;
pub mod cases;
mod classify;
mod evaluate;
mod facts;
mod grants;
mod label;
mod lint;
mod listed;
mod noun;
mod registry;
mod rules;
mod schema;
mod sentences;
mod shape;

pub use boot::{BootError, no_rules_means_no_allow};
pub use bundle::{Bundle, engine};
pub use classify::{Call, Classification, Known, Question, Unclassified, classify, classify_question, meant};
pub use evaluate::{Judgement, evaluate};
pub use facts::{Asked, BaseVerdict, BaseVerdictError, Facts, FactsError, Refusal, Standing};
pub use grants::{GrantFault, Grants, MAX_GRANTS, VoidGrant};
pub use lint::{Fault, LintError};
pub use listed::{Listed, pin_of};
pub use noun::{NounKind, NounValue};
pub use registry::{Changed, Difference, Provider, Registry, Risk, Store, Tool, with_pins};
pub use rules::{Effect, Rule, RuleFault};
pub use sentences::Sentence;
