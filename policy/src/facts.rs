//! The facts of one action: the exact input of its evaluation, as one JSON document.
//!
//! A decision commits to it; whoever is given the document and the bundle evaluates again and gets the same judgement
//! (P8). It holds values in clear, so it is sealed to the vendor and never public.
//!
//!     {"v":2,"agent":"agt_…","principal":null,"provider":"notes","tool":"note_read","pin":"sha256:…",
//!      "unclassified":null,"action":"notes.read","resources":[{"type":"path","value":"/notes/a.txt"}],
//!      "args":"sha256:…","context":{"now":"2026-11-30T11:20:00.123Z","env":"live","origin":"mcp","mode":"gateway",
//!      "operation":"read",…,"args":{}},"session":null,"windows":null,"run":null,"base_verdict":"STEP_UP",
//!      "grants":[],"approval":null,"breakglass_until":null,"shadow_until":null,"stopped":false}
//!
//! Version 1 is the same without the last five members; a decision made on it is replayed as one that had none of them.
//! Version 4 has a member more, `signals`: what a vendor said about a call that it asks about (mode `hook`). Version 3 is
//! the same as 2 with a `session`, and only where the rules speak of one; version 4 may have one:
//!
//!     {"session":"ses_…","since":"2026-11-30T11:02:00.000Z","upto":41,"operations":{"read":12},"data_classes":{"personal":2},
//!      "destinations":{"internal":12},"cleared":12,"refused":1}

use crate::classify::Classification;
use crate::noun::{NounKind, NounValue};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::AgentId;
use counterfoil_core::json::{self, JsonError, Profile};
use counterfoil_core::session::Summary;
use counterfoil_core::statement::{
    Answers, DataClass, Destination, Environment, Magnitude, Mode, NounType, Operation, Origin, Reason,
    Reversibility, Verdict,
};
use counterfoil_core::time::Timestamp;
use counterfoil_core::verdict::Signals;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a project says where no rule says anything. There is no ALLOW here.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum BaseVerdict {
    #[serde(rename = "STEP_UP")]
    StepUp,
    #[serde(rename = "DENY")]
    Deny,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a base verdict is STEP_UP or DENY, not {0}")]
pub struct BaseVerdictError(Verdict);

impl TryFrom<Verdict> for BaseVerdict {
    type Error = BaseVerdictError;

    fn try_from(verdict: Verdict) -> Result<Self, BaseVerdictError> {
        match verdict {
            Verdict::StepUp => Ok(Self::StepUp),
            Verdict::Deny => Ok(Self::Deny),
            Verdict::Allow | Verdict::Modify | Verdict::Defer => Err(BaseVerdictError(verdict)),
        }
    }
}

/// Who asks for what, when, by which listener.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub agent: AgentId,
    pub principal: Option<&'a str>,
    pub origin: Origin,
    pub mode: Mode,
    pub env: Environment,
    pub provider: Option<&'a str>,
    pub tool: Option<&'a str>,
    /// SHA-256 of the canonical arguments; `None` where they have none.
    pub args: Option<Digest>,
    pub now: Timestamp,
    pub base_verdict: BaseVerdict,
    pub standing: Standing<'a>,
}

/// What people did about what may run, as it stands for this call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing<'a> {
    /// [`Grants::digests`](crate::Grants::digests) of the agent.
    pub grants: &'a [Digest],
    /// The answer that the call is judged under; set only for a call that was parked.
    pub approval: Option<&'a Answers>,
    pub breakglass_until: Option<Timestamp>,
    pub shadow_until: Option<Timestamp>,
    /// What the key did so far, where the rules speak of it.
    pub session: Option<&'a Summary>,
    /// What a vendor says beside the call that it asks about; none where the call itself comes.
    pub signals: Option<&'a Signals>,
    /// A kill covers the call: of the project, of its agent, of its key or of its environment.
    pub stopped: bool,
}

/// Why a call never reached classification.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    NoSuchTool,
    NotBindable,
    Malformed,
    /// It asked for something that only an operator does.
    ControlVerb,
}

#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("not a facts document: {0}")]
    Members(String),
    #[error("facts of version {0} are not known, only 1 to 4")]
    Version(u32),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    v: u32,
    pub(crate) agent: AgentId,
    pub(crate) principal: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) pin: Option<Digest>,
    /// Why no rule was asked.
    pub(crate) unclassified: Option<Reason>,
    pub(crate) action: Option<String>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) args: Option<Digest>,
    pub(crate) context: Context,
    pub(crate) session: Option<Summary>,
    // Always null until spending windows and runs exist; then they become facts like the others.
    windows: (),
    run: (),
    pub(crate) base_verdict: BaseVerdict,
    /// Digests of the agent's grants, sorted.
    pub(crate) grants: Vec<Digest>,
    pub(crate) approval: Option<Answers>,
    pub(crate) breakglass_until: Option<Timestamp>,
    pub(crate) shadow_until: Option<Timestamp>,
    pub(crate) stopped: bool,
    /// Version 4 has them, empty or not; no other has the member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signals: Option<Signals>,
}

/// What version 2 has and version 1 has not, and its value where there is nothing.
const SINCE_2: [(&str, Value); 5] = [
    ("grants", Value::Array(Vec::new())),
    ("approval", Value::Null),
    ("breakglass_until", Value::Null),
    ("shadow_until", Value::Null),
    ("stopped", Value::Bool(false)),
];

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resource {
    #[serde(rename = "type")]
    noun_type: NounType,
    value: String,
}

impl Resource {
    fn of(noun: &NounValue) -> Self {
        Self { noun_type: noun.kind().noun_type(), value: noun.value().to_owned() }
    }

    /// The noun again, under the same conditions as when it was extracted.
    pub(crate) fn noun(&self) -> Result<NounValue, String> {
        NounValue::parse(NounKind::of(self.noun_type.clone())?, &self.value)
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Context {
    pub now: Timestamp,
    pub env: Environment,
    pub origin: Origin,
    pub mode: Mode,
    pub operation: Operation,
    pub data_class: DataClass,
    pub destination: Destination,
    pub magnitude: Magnitude,
    pub reversibility: Reversibility,
    /// Declared fields of the arguments.
    pub args: Map<String, Value>,
}

impl Facts {
    /// The facts of a call that was classified or held.
    pub fn of(asked: &Asked<'_>, classification: &Classification) -> Self {
        let mut facts = Self::bare(asked);
        facts.pin = classification.pin();
        facts.unclassified = match classification {
            Classification::Classified { .. } => None,
            Classification::Held { why, .. } => Some(why.reason()),
        };
        if let Some(known) = classification.known() {
            let dimensions = known.dimensions();
            facts.action = Some(known.action());
            facts.resources = known.nouns().iter().map(Resource::of).collect();
            facts.context = Context {
                operation: dimensions.operation.unwrap_or(Operation::Unknown),
                data_class: dimensions.data_class.unwrap_or(DataClass::Unknown),
                destination: dimensions.destination.unwrap_or(Destination::Unknown),
                magnitude: dimensions.magnitude.unwrap_or(Magnitude::Unknown),
                reversibility: dimensions.reversibility.unwrap_or(Reversibility::Unknown),
                args: known.fields().clone(),
                ..facts.context
            };
        }
        facts
    }

    /// The facts of a call that could not be read, bound or matched to a listed tool.
    pub fn refused(asked: &Asked<'_>, refusal: Refusal) -> Self {
        let mut facts = Self::bare(asked);
        facts.unclassified = Some(match refusal {
            Refusal::NoSuchTool => Reason::NoSuchTool,
            Refusal::NotBindable => Reason::NotBindable,
            Refusal::Malformed => Reason::Malformed,
            Refusal::ControlVerb => Reason::ControlVerb,
        });
        facts
    }

    fn bare(asked: &Asked<'_>) -> Self {
        let standing = &asked.standing;
        Self {
            v: match (standing.signals, standing.session) {
                (Some(_), _) => 4,
                (None, Some(_)) => 3,
                (None, None) => 2,
            },
            agent: asked.agent,
            principal: asked.principal.map(str::to_owned),
            provider: asked.provider.map(str::to_owned),
            tool: asked.tool.map(str::to_owned),
            pin: None,
            unclassified: None,
            action: None,
            resources: Vec::new(),
            args: asked.args,
            context: Context {
                now: asked.now,
                env: asked.env,
                origin: asked.origin,
                mode: asked.mode,
                operation: Operation::Unknown,
                data_class: DataClass::Unknown,
                destination: Destination::Unknown,
                magnitude: Magnitude::Unknown,
                reversibility: Reversibility::Unknown,
                args: Map::new(),
            },
            session: standing.session.cloned(),
            windows: (),
            run: (),
            base_verdict: asked.base_verdict,
            grants: standing.grants.to_vec(),
            approval: standing.approval.cloned(),
            breakglass_until: standing.breakglass_until,
            shadow_until: standing.shadow_until,
            stopped: standing.stopped,
            signals: standing.signals.cloned(),
        }
    }

    /// Reads a document that was opened. Every member must be there, null where it has no value.
    pub fn parse(bytes: &[u8]) -> Result<Self, FactsError> {
        let document = json::parse_within(bytes, Profile::Foreign, json::MAX_BOUND)?;
        let facts =
            Self::deserialize(&in_full(&document)?).map_err(|e| FactsError::Members(e.to_string()))?;
        match (facts.v, &facts.session, &facts.signals) {
            (1 | 2, None, None) | (3, Some(_), None) | (4, _, Some(_)) => {}
            (1..=4, _, _) => {
                let said = "a session needs version 3 or 4, and signals are what makes version 4";
                return Err(FactsError::Members(said.to_owned()));
            }
            (other, _, _) => return Err(FactsError::Version(other)),
        }
        if facts.bytes() != json::canonical(&document) {
            return Err(FactsError::Members("a member is missing".to_owned()));
        }
        Ok(facts)
    }

    /// The canonical bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self.v {
            1 => json::canonical(&self.document()),
            _ => json::canonical(self),
        }
    }

    /// The document as it is sealed in an opening.
    pub fn document(&self) -> Value {
        let mut document = serde_json::to_value(self).expect("facts have string keys only");
        if let (1, Some(members)) = (self.v, document.as_object_mut()) {
            members.retain(|name, _| SINCE_2.iter().all(|(since, _)| since != name));
        }
        document
    }

    /// The value of the commitment `facts`, `sha256:…`.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes())
    }

    /// The session that the evaluation took into account.
    pub fn session(&self) -> Option<&Summary> {
        self.session.as_ref()
    }

    /// The documents of grants that the evaluation needs, by digest.
    pub fn grants(&self) -> &[Digest] {
        &self.grants
    }

    /// Whether a window that ends then is open; the end itself is too late.
    pub(crate) fn is_before(&self, until: Option<Timestamp>) -> bool {
        until.is_some_and(|until| self.context.now < until)
    }
}

/// The document with every member that this version reads. One of version 1 may not have the newer ones itself.
fn in_full(document: &Value) -> Result<Value, FactsError> {
    let mut full = document.clone();
    if let (Some(1), Some(members)) = (document["v"].as_u64(), full.as_object_mut()) {
        for (name, nothing) in SINCE_2 {
            if members.insert(name.to_owned(), nothing).is_some() {
                return Err(FactsError::Members(format!("version 1 has no `{name}`")));
            }
        }
    }
    Ok(full)
}
