//! Statements: who says what. docs/formats has one page for each `typ`.
//!
//! Promised: a payload that parses has every member of its `typ`, null where the format allows it, and none beside.
//! Everything in a payload that we sign is public to whoever may see its entry.

mod class;
mod decision;
mod execution;
mod governance;
mod key_source;
mod ledger;
mod matching;
mod observation;
mod probe;
mod public_text;
mod received;
mod session;
mod settings;
mod upkeep;
mod vendor_wire;

pub use class::{
    Class, DataClass, Destination, Magnitude, NounCommitment, NounType, Operation, Reversibility,
    ServiceName, Source, Sources, Verb,
};
pub use decision::{
    Answers, Ask, Decision, Effect, Environment, JsonType, Mark, Mode, Origin, PlanStep, Quote, Reason,
    Shape, ShapeField, Verdict, Windows,
};
pub use execution::{ErrorCode, Execution, Outcome, SeenCheckpoint};
pub use governance::{
    Answer, AnsweredBy, Breakglass, Grant, GrantEvent, Hold, HoldEvent, Resume, Say, Scope, Shadow,
    WindowEvent,
};
pub use key_source::{KeySource, PublicUrl};
pub use ledger::{
    Authorization, Counts, Epoch, Incident, KeyEvent, KeyStatement, Kill, PublicJwk, Published,
    PublishedType, possession_message,
};
pub use matching::{Clearance, Finding, FindingCode, Resolution};
pub use observation::{Observation, ObservationReason, ObservationStatus};
pub use probe::{Probe, ProbeCase, ProbeOutcome, Tried};
pub use public_text::PublicText;
pub use received::{Received, ReceivedBytes, ReceivedForm, Signer};
pub use session::{Session, SessionEvent};
pub use settings::{RetentionDays, SettingError, SettingName, Settings};
pub use upkeep::{Basis, Coverage, ProviderCoverage, Removal, Share, Tombstone};
pub use vendor_wire::{VendorExecution, VendorSignature};

use crate::entry::Kind;
use crate::id::ProjectId;
use crate::issuer::Issuer;
use crate::key::Purpose;
use crate::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum StatementError {
    #[error("`{0}` is not a type of statement that this version knows")]
    UnknownType(String),
    #[error("{typ}: {why}")]
    Malformed { typ: String, why: String },
}

/// Declares a unit type that reads and writes as one fixed `typ`.
macro_rules! types {
    ($($name:ident $text:literal;)*) => {$(
        #[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
        pub enum $name {
            #[default]
            #[serde(rename = $text)]
            V1,
        }
    )*};
}

types! {
    DecisionType "decision/v1";
    ObservationType "observation/v1";
    ExecutionType "execution/v1";
    ReceivedType "received/v1";
    KeyType "key/v1";
    EpochType "epoch/v1";
    FindingType "finding/v1";
    ClearanceType "clearance/v1";
    ResolutionType "resolution/v1";
    CoverageType "coverage/v1";
    SettingsType "settings/v1";
    TombstoneType "tombstone/v1";
    ProbeType "probe/v1";
    KillType "kill/v1";
    IncidentType "incident/v1";
    HoldType "hold/v1";
    AnswerType "answer/v1";
    GrantType "grant/v1";
    ResumeType "resume/v1";
    BreakglassType "breakglass/v1";
    ShadowType "shadow/v1";
    SessionType "session/v1";
}

/// A member that must be present and may be null.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}

/// Every statement that an entry's body can be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Statement {
    Decision(Box<Decision>),
    Observation(Box<Observation>),
    Received(Box<Received>),
    Key(Box<KeyStatement>),
    Published(Box<Published>),
    Epoch(Box<Epoch>),
    Finding(Box<Finding>),
    Clearance(Box<Clearance>),
    Resolution(Box<Resolution>),
    Coverage(Box<Coverage>),
    Settings(Box<Settings>),
    Tombstone(Box<Tombstone>),
    Probe(Box<Probe>),
    Kill(Box<Kill>),
    Incident(Box<Incident>),
    Hold(Box<Hold>),
    Answer(Box<Answer>),
    Grant(Box<Grant>),
    Resume(Box<Resume>),
    Breakglass(Box<Breakglass>),
    Shadow(Box<Shadow>),
    Session(Box<Session>),
}

impl Statement {
    pub fn from_payload(payload: &Value) -> Result<Self, StatementError> {
        let typ = payload.get("typ").and_then(Value::as_str).unwrap_or("");
        match typ {
            "decision/v1" => read(payload, typ, Self::Decision),
            "observation/v1" => read(payload, typ, Self::Observation),
            "received/v1" => read(payload, typ, Self::Received),
            "key/v1" => read(payload, typ, Self::Key),
            "rules/v1" | "registry/v1" => read(payload, typ, Self::Published),
            "epoch/v1" => read(payload, typ, Self::Epoch),
            "finding/v1" => read(payload, typ, Self::Finding),
            "clearance/v1" => read(payload, typ, Self::Clearance),
            "resolution/v1" => read(payload, typ, Self::Resolution),
            "coverage/v1" => read(payload, typ, Self::Coverage),
            "settings/v1" => read(payload, typ, Self::Settings),
            "tombstone/v1" => read(payload, typ, Self::Tombstone),
            "probe/v1" => read(payload, typ, Self::Probe),
            "kill/v1" => read(payload, typ, Self::Kill),
            "incident/v1" => read(payload, typ, Self::Incident),
            "hold/v1" => read(payload, typ, Self::Hold),
            "answer/v1" => read(payload, typ, Self::Answer),
            "grant/v1" => read(payload, typ, Self::Grant),
            "resume/v1" => read(payload, typ, Self::Resume),
            "breakglass/v1" => read(payload, typ, Self::Breakglass),
            "shadow/v1" => read(payload, typ, Self::Shadow),
            "session/v1" => read(payload, typ, Self::Session),
            other => Err(StatementError::UnknownType(other.to_owned())),
        }
    }

    /// The entry kind that this statement is filed under.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Decision(_) => Kind::Decision,
            Self::Observation(_) => Kind::Observation,
            Self::Received(received) => received.form.kind(),
            Self::Key(_) => Kind::Key,
            Self::Published(published) => published.typ.kind(),
            Self::Epoch(_) => Kind::Epoch,
            Self::Finding(_) => Kind::Finding,
            Self::Clearance(_) => Kind::Clearance,
            Self::Resolution(_) => Kind::Resolution,
            Self::Coverage(_) => Kind::Coverage,
            Self::Settings(_) => Kind::Settings,
            Self::Tombstone(_) => Kind::Tombstone,
            Self::Probe(_) => Kind::Probe,
            Self::Kill(_) => Kind::Kill,
            Self::Incident(_) => Kind::Incident,
            Self::Hold(_) => Kind::Hold,
            Self::Answer(_) => Kind::Answer,
            Self::Grant(_) => Kind::Grant,
            Self::Resume(_) => Kind::Resume,
            Self::Breakglass(_) => Kind::Breakglass,
            Self::Shadow(_) => Kind::Shadow,
            Self::Session(_) => Kind::Session,
        }
    }

    /// The purpose of the only keys that may sign it.
    pub fn purpose(&self) -> Purpose {
        match self {
            Self::Decision(_) | Self::Observation(_) => Purpose::Decision,
            Self::Received(_)
            | Self::Key(_)
            | Self::Published(_)
            | Self::Epoch(_)
            | Self::Finding(_)
            | Self::Clearance(_)
            | Self::Resolution(_)
            | Self::Coverage(_)
            | Self::Settings(_)
            | Self::Tombstone(_)
            | Self::Probe(_)
            | Self::Kill(_)
            | Self::Incident(_)
            | Self::Hold(_)
            | Self::Answer(_)
            | Self::Grant(_)
            | Self::Resume(_)
            | Self::Breakglass(_)
            | Self::Shadow(_)
            | Self::Session(_) => Purpose::Ledger,
        }
    }

    pub fn project(&self) -> ProjectId {
        match self {
            Self::Decision(s) => s.project,
            Self::Observation(s) => s.project,
            Self::Received(s) => s.project,
            Self::Key(s) => s.project,
            Self::Published(s) => s.project,
            Self::Epoch(s) => s.project,
            Self::Finding(s) => s.project,
            Self::Clearance(s) => s.project,
            Self::Resolution(s) => s.project,
            Self::Coverage(s) => s.project,
            Self::Settings(s) => s.project,
            Self::Tombstone(s) => s.project,
            Self::Probe(s) => s.project,
            Self::Kill(s) => s.project,
            Self::Incident(s) => s.project,
            Self::Hold(s) => s.project,
            Self::Answer(s) => s.project,
            Self::Grant(s) => s.project,
            Self::Resume(s) => s.project,
            Self::Breakglass(s) => s.project,
            Self::Shadow(s) => s.project,
            Self::Session(s) => s.project,
        }
    }

    /// Who speaks. `received/v1` names no issuer: it is bound to the project and to the log it stands in.
    pub fn issuer(&self) -> Option<&Issuer> {
        match self {
            Self::Decision(s) => Some(&s.iss),
            Self::Observation(s) => Some(&s.iss),
            Self::Received(_) => None,
            Self::Key(s) => Some(&s.iss),
            Self::Published(s) => Some(&s.iss),
            Self::Epoch(s) => Some(&s.iss),
            Self::Finding(s) => Some(&s.iss),
            Self::Clearance(s) => Some(&s.iss),
            Self::Resolution(s) => Some(&s.iss),
            Self::Coverage(s) => Some(&s.iss),
            Self::Settings(s) => Some(&s.iss),
            Self::Tombstone(s) => Some(&s.iss),
            Self::Probe(s) => Some(&s.iss),
            Self::Kill(s) => Some(&s.iss),
            Self::Incident(s) => Some(&s.iss),
            Self::Hold(s) => Some(&s.iss),
            Self::Answer(s) => Some(&s.iss),
            Self::Grant(s) => Some(&s.iss),
            Self::Resume(s) => Some(&s.iss),
            Self::Breakglass(s) => Some(&s.iss),
            Self::Shadow(s) => Some(&s.iss),
            Self::Session(s) => Some(&s.iss),
        }
    }

    /// When the signer says it was made.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Decision(s) => s.at,
            Self::Observation(s) => s.at,
            Self::Received(s) => s.at,
            Self::Key(s) => s.at,
            Self::Published(s) => s.at,
            Self::Epoch(s) => s.at,
            Self::Finding(s) => s.at,
            Self::Clearance(s) => s.at,
            Self::Resolution(s) => s.at,
            Self::Coverage(s) => s.at,
            Self::Settings(s) => s.at,
            Self::Tombstone(s) => s.at,
            Self::Probe(s) => s.at,
            Self::Kill(s) => s.at,
            Self::Incident(s) => s.at,
            Self::Hold(s) => s.at,
            Self::Answer(s) => s.at,
            Self::Grant(s) => s.at,
            Self::Resume(s) => s.at,
            Self::Breakglass(s) => s.at,
            Self::Shadow(s) => s.at,
            Self::Session(s) => s.at,
        }
    }
}

fn read<T: for<'de> Deserialize<'de>>(
    payload: &Value,
    typ: &str,
    wrap: fn(Box<T>) -> Statement,
) -> Result<Statement, StatementError> {
    T::deserialize(payload)
        .map(|statement| wrap(Box::new(statement)))
        .map_err(|error| StatementError::Malformed { typ: typ.to_owned(), why: error.to_string() })
}
