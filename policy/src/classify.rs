//! Classification: from a tool call to what it is, by the registry alone.
//!
//! Promised: a pure function of the published registry, the listed definition and the arguments. What the registry does
//! not know, cannot find a noun for, or has pinned under another definition is held (G2).
//! Not promised: that the provider does what its definition says.

use crate::listed::Listed;
use crate::noun::{MAX_NOUNS, NounValue};
use crate::registry::{Dimensions, Provider, Registry, Tool};
use crate::shape;
use counterfoil_core::commitment::Commitment;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ProviderId, ToolName};
use counterfoil_core::statement::{
    Class, DataClass, Destination, Magnitude, NounCommitment, Operation, Reason, Reversibility, ServiceName,
    Shape, Source, Sources, Verb,
};
use counterfoil_core::verdict::{Dimension, Signals};
use serde_json::{Map, Value};

/// One `tools/call`, read and strictly parsed. Absent arguments are `{}`.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub provider: &'a str,
    pub tool: &'a str,
    pub listed: &'a Listed,
    pub arguments: &'a Value,
}

/// One call that a vendor makes itself and asks about. Nobody lists its tools: what they are, the registry alone says.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub provider: &'a ProviderId,
    pub tool: &'a ToolName,
    /// What the vendor shows of the arguments.
    pub shown: &'a Value,
    pub signals: &'a Signals,
}

/// Why a call is held before any rule is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unclassified {
    UnknownTool,
    NounMissing,
    DefinitionChanged,
}

impl Unclassified {
    pub fn reason(self) -> Reason {
        match self {
            Self::UnknownTool => Reason::UnknownTool,
            Self::NounMissing => Reason::NounMissing,
            Self::DefinitionChanged => Reason::DefinitionChanged,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Classification {
    Classified {
        /// None where no definition is listed and none was pinned, which only a question can be.
        pin: Option<Digest>,
        known: Known,
    },
    Held {
        pin: Option<Digest>,
        why: Unclassified,
        /// For people; names places, never values.
        detail: String,
        /// What the registry says all the same; `None` for an unknown tool.
        known: Option<Known>,
    },
}

/// What the registry says about a call.
#[derive(Clone, Debug)]
pub struct Known {
    service: ServiceName,
    verb: Verb,
    dimensions: Dimensions,
    sources: Sources,
    nouns: Vec<NounValue>,
    fields: Map<String, Value>,
    /// Names of declared fields that the call does not have.
    absent: Vec<String>,
    shape: Shape,
}

pub fn classify(registry: &Registry, call: &Call<'_>) -> Classification {
    let pin = call.listed.pin();
    let held = |why, detail: String, known| Classification::Held { pin: Some(pin), why, detail, known };
    let Some(tool) = registry.tool(call.provider, call.tool) else {
        let detail = "the registry does not know this tool".to_owned();
        return held(Unclassified::UnknownTool, detail, None);
    };
    let nouns = nouns(tool, call.provider, call.arguments);

    // Under another definition the argument names and fields may mean something else, so they are not read.
    let detail = match tool.pin() {
        Some(pinned) if pinned == pin => None,
        Some(_) => Some("the tool's definition is not the one that was pinned"),
        None => Some("the registry pins no definition of this tool"),
    };
    if let Some(detail) = detail {
        let known = Known::bare(tool, nouns.unwrap_or_default());
        return held(Unclassified::DefinitionChanged, detail.to_owned(), Some(known));
    }

    let shape = shape::of(call.arguments, call.listed, tool.redacted());
    match nouns {
        Ok(nouns) => Classification::Classified {
            pin: Some(pin),
            known: Known { shape, ..Known::bare(tool, nouns) }.with_fields(tool, call.arguments),
        },
        Err(detail) => {
            let known = Known { shape, ..Known::bare(tool, Vec::new()) };
            held(Unclassified::NounMissing, detail, Some(known))
        }
    }
}

/// The registry's tool of this name, where a vendor need not say whose it is. None is one nobody published, and so are two.
pub fn meant<'r>(
    registry: &'r Registry,
    provider: Option<&str>,
    tool: &str,
) -> Option<(&'r ProviderId, &'r ToolName)> {
    let named = |provider: &&Provider| provider.tool(tool).is_some();
    let found = match provider {
        Some(id) => registry.provider(id).filter(named),
        None => {
            let mut all = registry.providers().filter(named);
            let one = all.next();
            one.filter(|_| all.next().is_none())
        }
    }?;
    Some((found.id(), found.tool(tool)?.name()))
}

/// Classifies what a vendor asks about: by the registry, and where that leaves a dimension open, by what the vendor says of
/// it. Nothing that a person published is overruled by a signal.
pub fn classify_question(registry: &Registry, question: &Question<'_>) -> Classification {
    let Some(tool) = registry.tool(question.provider.as_str(), question.tool.as_str()) else {
        return Classification::unpublished();
    };
    let pin = tool.pin();
    let claimed = |nouns| Known::bare(tool, nouns).claimed(question.signals);
    match nouns(tool, question.provider.as_str(), question.shown) {
        Ok(nouns) => {
            let shape = shape::shown(question.shown, tool);
            let known = Known { shape, ..claimed(nouns) }.with_fields(tool, question.shown);
            Classification::Classified { pin, known }
        }
        Err(detail) => {
            let known = Some(claimed(Vec::new()));
            Classification::Held { pin, why: Unclassified::NounMissing, detail, known }
        }
    }
}

fn nouns(tool: &Tool, provider: &str, arguments: &Value) -> Result<Vec<NounValue>, String> {
    let itself = format!("{provider}/{}", tool.name());
    let mut nouns = Vec::new();
    for source in tool.nouns() {
        nouns.extend(source.extract(&itself, arguments)?);
    }
    if nouns.len() > MAX_NOUNS {
        return Err(format!("more than {MAX_NOUNS} nouns"));
    }
    Ok(nouns)
}

/// The arguments that rules may look at. Absent and null are alike; a value of another type is kept, so that the
/// evaluation fails on it instead of overlooking it.
fn fields(tool: &Tool, arguments: &Value) -> Map<String, Value> {
    tool.fields()
        .iter()
        .filter_map(|(name, field)| Some((name.clone(), arguments.pointer(field.at())?)))
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name, canonical_number(value)))
        .collect()
}

/// `1.0` and `1e0` are `1` in canonical bytes; a replay from those bytes must see what the decision saw.
fn canonical_number(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() <= EXACT => (number as i64).into(),
        Some(_) | None => value.clone(),
    }
}

impl Known {
    fn bare(tool: &Tool, nouns: Vec<NounValue>) -> Self {
        Self {
            service: tool.service().clone(),
            verb: tool.verb(),
            dimensions: *tool.dimensions(),
            sources: tool.dimensions().sources(),
            nouns,
            fields: Map::new(),
            absent: Vec::new(),
            shape: Shape::new(),
        }
    }

    /// Fills what the registry leaves open.
    fn claimed(mut self, signals: &Signals) -> Self {
        self.dimensions = self.dimensions.or_claimed(signals);
        let dimensions = &self.dimensions;
        let sources = &mut self.sources;
        let claims = [
            (dimensions.operation.is_some(), &mut sources.operation, Dimension::Operation),
            (dimensions.data_class.is_some(), &mut sources.data_class, Dimension::DataClass),
            (dimensions.destination.is_some(), &mut sources.destination, Dimension::Destination),
            (dimensions.magnitude.is_some(), &mut sources.magnitude, Dimension::Magnitude),
            (dimensions.reversibility.is_some(), &mut sources.reversibility, Dimension::Reversibility),
        ];
        for (is_said, source, dimension) in claims {
            if is_said && *source == Source::Unknown {
                *source = signals.source(dimension);
            }
        }
        self
    }

    fn with_fields(self, tool: &Tool, arguments: &Value) -> Self {
        let fields = fields(tool, arguments);
        let absent = tool.fields().keys().filter(|name| !fields.contains_key(*name)).cloned().collect();
        Self { fields, absent, ..self }
    }

    /// `<service>.<verb>`
    pub fn action(&self) -> String {
        format!("{}.{}", self.service, self.verb)
    }

    pub fn nouns(&self) -> &[NounValue] {
        &self.nouns
    }

    /// The arguments that the registry declares as fields.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// The same, and null for each that the call does not have: what a person saw to be absent must stay so.
    pub fn fields_and_gaps(&self) -> Map<String, Value> {
        let gaps = self.absent.iter().map(|name| (name.clone(), Value::Null));
        self.fields.clone().into_iter().chain(gaps).collect()
    }

    pub(crate) fn dimensions(&self) -> &Dimensions {
        &self.dimensions
    }
}

impl Classification {
    /// What no registry has, asked about by somebody who lists nothing.
    pub fn unpublished() -> Self {
        let detail = "the registry does not know this tool".to_owned();
        Self::Held { pin: None, why: Unclassified::UnknownTool, detail, known: None }
    }

    /// Digest of the definition as listed now; of the pinned one where nothing is listed.
    pub fn pin(&self) -> Option<Digest> {
        match self {
            Self::Classified { pin, .. } | Self::Held { pin, .. } => *pin,
        }
    }

    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Classified { known, .. } => Some(known),
            Self::Held { known, .. } => known.as_ref(),
        }
    }

    /// The values to commit to as `noun/0`, `noun/1` …
    pub fn nouns(&self) -> &[NounValue] {
        self.known().map_or(&[], |known| &known.nouns)
    }

    pub fn shape(&self) -> Shape {
        self.known().map(|known| known.shape.clone()).unwrap_or_default()
    }

    /// The public class, with the commitments of [`Self::nouns`] in the same order; `None` for an unknown tool.
    pub fn class(&self, commitments: &[Commitment]) -> Option<Class> {
        let known = self.known()?;
        let nouns = known.nouns.iter().zip(commitments);
        let d = &known.dimensions;
        Some(Class {
            service: known.service.clone(),
            verb: known.verb,
            nouns: nouns
                .map(|(noun, commit)| NounCommitment { noun_type: noun.kind().noun_type(), commit: *commit })
                .collect(),
            operation: d.operation.unwrap_or(Operation::Unknown),
            data_class: d.data_class.unwrap_or(DataClass::Unknown),
            destination: d.destination.unwrap_or(Destination::Unknown),
            magnitude: d.magnitude.unwrap_or(Magnitude::Unknown),
            reversibility: d.reversibility.unwrap_or(Reversibility::Unknown),
            source: known.sources,
        })
    }
}

#[cfg(test)]
mod tests;
