//! Stage 1: what is it?
//!
//! Promised: a call leaves this stage as one of two things: a tool that its provider lists now, classified by the
//! registry, or a refusal with its reason. Both go on to be judged and recorded; neither is sent from here.

use super::Turn;
use super::clear::denied;
use crate::answer::{Body, Fault};
use crate::call::{Asked, Proposed, Received};
use crate::chance;
use crate::control::Control;
use crate::control_verbs::is_control_verb;
use crate::decision::bound_arguments;
use crate::envelope::{Params, Unbindable};
use crate::house::{House, Provider};
use crate::upstream::{Away, Connection};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{ActionId, AgentId, ProviderId, ToolName};
use counterfoil_core::json::canonical;
use counterfoil_core::statement::Reason;
use counterfoil_policy::{
    Call, Classification, Question, Refusal, classify as by_registry, classify_question, meant,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub struct Classified {
    pub received: Received,
    pub action: ActionId,
    /// What decides, as it stood when the call was classified: all later stages use this copy.
    pub control: Arc<Control>,
    pub subject: Subject,
}

pub enum Subject {
    Tool {
        tool: ToolName,
        classification: Box<Classification>,
        arguments: Value,
        connection: Arc<Connection>,
    },
    /// What a vendor asks about. Nobody lists it here: it is known by the registry or not at all.
    Proposed {
        /// None where the registry has no such tool, so that a caller's word never becomes a public label.
        named: Option<(ProviderId, ToolName)>,
        classification: Box<Classification>,
    },
    Refused {
        why: Refusal,
        /// Known when the provider lists it, so that a caller's word never becomes a public label.
        tool: Option<(ToolName, Digest)>,
        /// What the caller reads.
        tell: Body,
    },
}

pub async fn classify(received: Received, house: &House) -> Result<Classified, Turn> {
    let project = &received.caller.project;
    let control = project.control.known().ok_or(Turn::Unrecorded)?;
    let now = project.clock.now().map_err(|_| Turn::Unrecorded)?;
    let subject = match (&received.asked, received.provider.clone()) {
        (Asked::Tool { name, .. }, provider) if is_operators(name, provider.as_deref(), &control) => {
            control_verb(denied(Reason::ControlVerb))
        }
        (Asked::Tool { name, params }, Some(provider)) => {
            let unbindable = params.arguments().err().cloned();
            let arguments = bound_arguments(params);
            let found = find(name, &provider, (&received, &control), house).await;
            // A tool that is hidden from this agent is to it like one that nobody lists.
            let agent = received.caller.agent;
            let found = found.map(|found| found.filter(|f| !control.hides(&provider.id, &f.tool, agent)));
            subject(asked_as(params, name), found, unbindable, arguments, &control, &provider)
        }
        (Asked::Tool { name, params }, None) => no_such_tool(unknown_tool(asked_as(params, name))),
        (Asked::Verdict(proposed), _) => asked_about(proposed, received.caller.agent, &control),
        (Asked::ControlVerb, _) => control_verb(denied(Reason::ControlVerb)),
        (Asked::Unreadable, _) => malformed(),
    };
    // A held call stays the action that it was.
    let before = received.reopened.as_ref().map(|reopened| reopened.action);
    let before = before.or_else(|| Some(received.proposed()?.again?.0));
    let action = before.unwrap_or_else(|| chance::action(now));
    Ok(Classified { action, received, control, subject })
}

/// The name as the caller wrote it, with the provider's in front where all are at one address.
fn asked_as<'a>(params: &'a Params, name: &'a str) -> &'a str {
    params.value().get("name").and_then(Value::as_str).unwrap_or(name)
}

impl Classified {
    /// Whether this is a call of a tool that its provider lists.
    pub fn tool_is_listed(&self) -> bool {
        matches!(self.subject, Subject::Tool { .. })
    }

    pub fn tool(&self) -> Option<&ToolName> {
        match &self.subject {
            Subject::Tool { tool, .. } => Some(tool),
            Subject::Proposed { named, .. } => named.as_ref().map(|(_, tool)| tool),
            Subject::Refused { tool, .. } => tool.as_ref().map(|(name, _)| name),
        }
    }

    pub fn pin(&self) -> Option<Digest> {
        match &self.subject {
            Subject::Tool { classification, .. } | Subject::Proposed { classification, .. } => {
                classification.pin()
            }
            Subject::Refused { tool, .. } => tool.as_ref().map(|(_, pin)| *pin),
        }
    }

    /// Whose tool it is: the provider that the call is for, or the one that the registry means.
    pub fn provider(&self) -> Option<&ProviderId> {
        match &self.subject {
            Subject::Proposed { named, .. } => named.as_ref().map(|(provider, _)| provider),
            Subject::Tool { .. } | Subject::Refused { .. } => {
                self.received.provider.as_ref().map(|provider| &provider.id)
            }
        }
    }

    /// What was classified, where something was.
    pub fn classification(&self) -> Option<&Classification> {
        match &self.subject {
            Subject::Tool { classification, .. } | Subject::Proposed { classification, .. } => {
                Some(classification)
            }
            Subject::Refused { .. } => None,
        }
    }

    /// SHA-256 of the canonical arguments. A vendor says it, and says it of a tool that the registry has.
    pub fn args(&self) -> Option<Digest> {
        match (&self.subject, self.received.proposed()) {
            (Subject::Tool { arguments, .. }, _) => Some(Digest::of(&canonical(arguments))),
            (Subject::Proposed { named: Some(_), .. }, Some(proposed)) => Some(proposed.request.args_hash),
            (Subject::Proposed { .. } | Subject::Refused { .. }, _) => None,
        }
    }
}

struct Found {
    tool: ToolName,
    listed: counterfoil_policy::Listed,
    connection: Arc<Connection>,
}

async fn find(
    name: &str,
    provider: &Provider,
    (received, control): (&Received, &Control),
    house: &House,
) -> Result<Option<Found>, Away> {
    let connection = house.fleet.connect(received.caller.holder(), &provider.start).await?;
    let catalogue = connection.catalogue().await?;
    let tool = catalogue.tool(name);
    house.definitions.met((received.caller.project.id, &provider.id), tool.into_iter(), control);
    Ok(tool.map(|tool| Found {
        tool: tool.name.clone(),
        listed: tool.listed.clone(),
        connection: connection.clone(),
    }))
}

fn subject(
    name: &str,
    found: Result<Option<Found>, Away>,
    unbindable: Option<Unbindable>,
    arguments: Option<Value>,
    control: &Control,
    provider: &Provider,
) -> Subject {
    let found = match found {
        Ok(Some(found)) => found,
        Ok(None) => return no_such_tool(unknown_tool(name)),
        // A provider that is away lists no tool at all.
        Err(away) => return no_such_tool(provider_away(&away)),
    };
    let Some(arguments) = arguments else {
        let unbindable = unbindable.unwrap_or(Unbindable {
            path: "$.params.arguments".into(),
            reason: "arguments are one object".into(),
        });
        return Subject::Refused {
            why: Refusal::NotBindable,
            tool: Some((found.tool, found.listed.pin())),
            tell: not_bindable(&unbindable),
        };
    };
    let classification = Box::new(by_registry(
        control.bundle.registry(),
        &Call {
            provider: provider.id.as_str(),
            tool: found.tool.as_str(),
            listed: &found.listed,
            arguments: &arguments,
        },
    ));
    Subject::Tool { tool: found.tool, classification, arguments, connection: found.connection }
}

/// G2: what the vendor calls the tool is looked up, and believed in nothing else.
fn asked_about(proposed: &Proposed, agent: AgentId, control: &Control) -> Subject {
    let request = &proposed.request;
    let provider = request.tool.provider.as_deref().or(request.tool.server.as_deref());
    let registry = control.bundle.registry();
    let found = meant(registry, provider, &request.tool.name);
    // A tool that is hidden from this agent is to it like one that nobody published.
    let found = found.filter(|(provider, tool)| !control.hides(provider, tool, agent));
    let Some((provider, tool)) = found else {
        return match is_control_verb(&request.tool.name) {
            true => control_verb(denied(Reason::ControlVerb)),
            false => {
                Subject::Proposed { named: None, classification: Box::new(Classification::unpublished()) }
            }
        };
    };
    let (shown, signals) = (&request.shown(), &request.signals);
    let classification = classify_question(registry, &Question { provider, tool, shown, signals });
    Subject::Proposed {
        named: Some((provider.clone(), tool.clone())),
        classification: Box::new(classification),
    }
}

/// Whether the name is one that only an operator uses, and no person has published a tool under it.
fn is_operators(name: &str, provider: Option<&Provider>, control: &Control) -> bool {
    let published =
        provider.zip(name.parse().ok()).and_then(|(provider, name)| control.tool(&provider.id, &name));
    published.is_none() && is_control_verb(name)
}

fn control_verb(words: String) -> Subject {
    Subject::Refused { why: Refusal::ControlVerb, tool: None, tell: Body::refusing(&words) }
}

fn malformed() -> Subject {
    Subject::Refused {
        why: Refusal::Malformed,
        tool: None,
        // The front says what is wrong with a message that it could not read.
        tell: Body::Error { code: -32602, message: "malformed".into(), data: None, fault: Fault::Message },
    }
}

fn no_such_tool(tell: Body) -> Subject {
    Subject::Refused { why: Refusal::NoSuchTool, tool: None, tell }
}

fn unknown_tool(name: &str) -> Body {
    Body::Error { code: -32602, message: format!("Unknown tool: {name}"), data: None, fault: Fault::Call }
}

fn provider_away(away: &Away) -> Body {
    Body::refusing(&format!("Not executed. The tool provider {away}, so nothing was sent. Try again later."))
}

fn not_bindable(refused: &Unbindable) -> Body {
    let Unbindable { path, reason } = refused;
    Body::Error {
        code: -32602,
        message: format!("`{path}`: {reason}"),
        data: Some(json!({"path": path, "reason": reason, "hint": "send it as a string"}).to_string()),
        fault: Fault::Message,
    }
}
