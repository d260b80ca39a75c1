//! What a vendor sends about a session. Pure.
//!
//! Members that are not known are no mistake: they are in the document that is sealed, and no one here reads them. What is known
//! reads strictly, because it is committed to for good.

use counterfoil_core::declared::MAX_EXTERNAL;
use counterfoil_core::digest::Digest;
use counterfoil_core::id::Principal;
use counterfoil_core::json::{self, JsonError, Profile};
use counterfoil_core::time::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Largest body, in bytes.
pub(super) const LARGEST: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    #[error(transparent)]
    Json(#[from] JsonError),
    #[error("session does not read: {0}")]
    Shape(String),
    #[error("external ids have 1 to {MAX_EXTERNAL} bytes")]
    External,
    #[error("`{0}` must be opaque: no address of a person, no spaces")]
    NotOpaque(&'static str),
    #[error("`grant.scope` holds an empty list: it allows nothing, or was meant to say something")]
    EmptyScope,
}

/// A session as it was declared.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) external: String,
    pub(super) principal: String,
    pub(super) request: Digest,
    pub(super) task: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) grant: Option<Digest>,
    /// Null where it is written in another way than ours.
    pub(super) started_at: Option<Timestamp>,
    /// All that was sent.
    pub(super) document: Value,
}

#[derive(Deserialize)]
struct Body {
    external_id: String,
    agent: Agent,
    principal: Who,
    original_request: Request,
    task: Option<Task>,
    grant: Option<Grant>,
    started_at: String,
}

#[derive(Deserialize)]
struct Agent {
    external_id: String,
}

#[derive(Deserialize)]
struct Who {
    #[serde(rename = "type")]
    kind: WhoKind,
    #[serde(rename = "ref")]
    name: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WhoKind {
    Human,
    Service,
}

#[derive(Deserialize)]
struct Request {
    hash: Digest,
    #[serde(rename = "anchors")]
    _anchors: Vec<Value>,
}

#[derive(Deserialize)]
struct Task {
    #[serde(rename = "ref")]
    name: String,
    parent_session_external_id: Option<String>,
}

#[derive(Deserialize)]
struct Grant {
    hash: Digest,
    scope: Option<Value>,
}

impl Declaration {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, WireError> {
        let document = json::parse_within(bytes, Profile::Foreign, LARGEST)?;
        let body = Body::deserialize(&document).map_err(|error| WireError::Shape(error.to_string()))?;
        let Body { external_id, agent, principal, original_request, task, grant, started_at } = body;
        let (WhoKind::Human | WhoKind::Service) = principal.kind;
        let (task, parent) = match task {
            Some(Task { name, parent_session_external_id }) => (Some(name), parent_session_external_id),
            None => (None, None),
        };
        let parent_is_good = parent.as_deref().is_none_or(is_external);
        if !is_external(&external_id) || !is_external(&agent.external_id) || !parent_is_good {
            return Err(WireError::External);
        }
        if principal.name.parse::<Principal>().is_err() {
            return Err(WireError::NotOpaque("principal.ref"));
        }
        if task.as_ref().is_some_and(|task| task.parse::<Principal>().is_err()) {
            return Err(WireError::NotOpaque("task.ref"));
        }
        if grant.as_ref().and_then(|grant| grant.scope.as_ref()).is_some_and(holds_an_empty_list) {
            return Err(WireError::EmptyScope);
        }
        Ok(Self {
            external: external_id,
            principal: principal.name,
            request: original_request.hash,
            task,
            parent,
            grant: grant.map(|grant| grant.hash),
            started_at: Timestamp::parse(&started_at).ok(),
            document,
        })
    }
}

pub(super) fn is_external(text: &str) -> bool {
    (1..=MAX_EXTERNAL).contains(&text.len())
}

fn holds_an_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.is_empty() || values.iter().any(holds_an_empty_list),
        Value::Object(members) => members.values().any(holds_an_empty_list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        json!({
            "external_id": "order-17", "agent": {"external_id": "a-1"},
            "principal": {"type": "human", "ref": "u-7f3a"},
            "original_request": {"hash": Digest::of(b"request"), "anchors": []},
            "task": {"ref": "t-1", "parent_session_external_id": "order-16"},
            "grant": {"hash": Digest::of(b"grant"), "scope": {"allowed_tools": ["send"], "bounds": {}}},
            "started_at": "2026-12-01T09:00:00.000Z", "more": {"of": "theirs"},
        })
    }

    fn read(change: impl Fn(&mut Value)) -> Result<Declaration, WireError> {
        let mut body = body();
        change(&mut body);
        Declaration::read(body.to_string().as_bytes())
    }

    #[test]
    fn what_a_vendor_declares_reads_with_members_that_we_do_not_know() {
        let declared = read(|_| {}).expect("reads");

        assert_eq!((declared.external.as_str(), declared.principal.as_str()), ("order-17", "u-7f3a"));
        assert_eq!((declared.task.as_deref(), declared.parent.as_deref()), (Some("t-1"), Some("order-16")));
        assert_eq!(declared.document["more"]["of"], "theirs");
        assert!(declared.started_at.is_some());
        assert!(
            read(|body| body["started_at"] = json!("2026-12-01T09:00:00Z"))
                .expect("reads")
                .started_at
                .is_none()
        );
    }

    /// T4: refused, not scrubbed.
    #[test]
    fn what_looks_like_a_persons_address_is_refused() {
        for address in ["ann@example.com", "+41 79 123 45 67", "ann example", ""] {
            assert!(matches!(
                read(|body| body["principal"]["ref"] = json!(address)),
                Err(WireError::NotOpaque(_))
            ));
            assert!(matches!(
                read(|body| body["task"]["ref"] = json!(address)),
                Err(WireError::NotOpaque(_))
            ));
        }
    }

    #[test]
    fn what_would_be_committed_to_without_meaning_is_refused() {
        let empty = read(|body| body["grant"]["scope"]["allowed_tools"] = json!([]));
        let deep = read(|body| body["grant"]["scope"]["bounds"] = json!({"to": []}));
        let digest = read(|body| body["original_request"]["hash"] = json!("sha256:00"));
        let grant = read(|body| body["grant"]["hash"] = json!("0"));
        let kind = read(|body| body["principal"]["type"] = json!("robot"));
        let external = read(|body| body["external_id"] = json!(""));

        assert!(matches!((&empty, &deep), (Err(WireError::EmptyScope), Err(WireError::EmptyScope))));
        assert!(matches!((&digest, &grant, &kind), (Err(_), Err(_), Err(_))));
        assert!(matches!(external, Err(WireError::External)));
    }
}
