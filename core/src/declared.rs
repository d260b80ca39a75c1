//! Sessions that a vendor declares, and what a gateway asks before it judges an action in one: `POST /internal/v1/asked`.
//!
//! One question, before anything is judged: which session is that, and was this action asked before. The answer may be
//! the stored decision, to be told again instead of judged again. It is advice: the record transaction looks once more, under
//! the head's lock, and has the last word. External ids travel in a body, so no log of addresses has them.
//!
//!     → {"v":1,"project":"prj_…","key":"key_…","external":"order-17","idempotency":"…","action":{"seq":0,"tool":…}}
//!     ← {"v":1,"ledger_time":"…","session":{"session":"ses_…","head_hash":"sha256:…","closed":false},"before":{"before":"nothing"}}
//!
//! The six members of `action` with the session are its fingerprint: times, the hash of the call before, and signals may
//! differ from one try to the next. Source: docs/formats/session.md, docs/formats/record.md.

use crate::digest::Digest;
use crate::id::{ActionId, KeyId, ProjectId, SessionId};
use crate::json::canonical;
use crate::record::{Idempotency, Recorded};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest external id of a session, in bytes.
pub const MAX_EXTERNAL: usize = 256;

/// What a gateway asks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    pub v: u8,
    pub project: ProjectId,
    /// The API key that the call came by: a session belongs to the key that declared it.
    pub key: KeyId,
    /// The vendor's own id of the session, 1 to [`MAX_EXTERNAL`] bytes.
    pub external: String,
    /// `Idempotency-Key` of the call, or null where it has none.
    pub idempotency: Option<String>,
    pub action: AskedAction,
}

/// What makes an action the same one again.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AskedAction {
    /// Unique in its session.
    pub seq: u64,
    pub tool: AskedTool,
    pub args_hash: Digest,
    /// As the vendor names it, whatever it names.
    pub resolves_action: Option<String>,
    pub human_decision: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AskedTool {
    pub name: String,
    pub provider: Option<String>,
    pub server: Option<String>,
}

impl AskedAction {
    /// SHA-256 of JCS [session, seq, [name, provider, server], args_hash, resolves_action, human_decision].
    pub fn fingerprint(&self, session: SessionId) -> Digest {
        let AskedTool { name, provider, server } = &self.tool;
        let tool = (name, provider, server);
        let what = (&self.args_hash, &self.resolves_action, &self.human_decision);
        Digest::of(&canonical(&(session, self.seq, tool, what.0, what.1, what.2)))
    }

    /// What goes with the statement that decides it. Without a key of the caller's own, the place is the key.
    pub fn idempotency(&self, session: SessionId, key: Option<&str>) -> Idempotency {
        let place = || format!("{session}/{}", self.seq);
        Idempotency { key: key.map_or_else(place, str::to_owned), fingerprint: self.fingerprint(session) }
    }
}

/// What it is answered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    pub v: u8,
    pub ledger_time: Timestamp,
    /// Null where that key declared no such session.
    pub session: Option<DeclaredSession>,
    pub before: Before,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredSession {
    pub session: SessionId,
    /// Hash of the entry that opened it: the first that `chain.prev_hash` may name.
    pub head_hash: Digest,
    /// Nothing new is decided in it. What was decided before is told again.
    pub closed: bool,
}

/// What is known of the action.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "before", rename_all = "snake_case", deny_unknown_fields)]
pub enum Before {
    /// Nobody asked it: judge.
    Nothing,
    /// It was decided, and this is the answer still. Nothing is to be recorded.
    Answered(Recorded),
    /// It was let go, and may be no longer: judge the same action again, naming the decision in `supersedes`.
    Again { action: ActionId, decision: Digest },
    /// The key or the seq is taken by another action: 409.
    Conflict,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action() -> AskedAction {
        AskedAction {
            seq: 3,
            tool: AskedTool { name: "send".to_owned(), provider: Some("mail".to_owned()), server: None },
            args_hash: Digest::of(b"{}"),
            resolves_action: None,
            human_decision: None,
        }
    }

    #[test]
    fn a_fingerprint_changes_with_every_member() {
        let session: SessionId = "ses_019355a0c0007000800000000000a001".parse().expect("an id");
        let other: SessionId = "ses_019355a0c0007000800000000000a002".parse().expect("an id");
        let mut tool = action();
        tool.tool = AskedTool { name: "send".to_owned(), provider: None, server: Some("mail".to_owned()) };
        let changed = [
            AskedAction { seq: 4, ..action() },
            tool,
            AskedAction { args_hash: Digest::of(b"[]"), ..action() },
            AskedAction { resolves_action: Some("APPROVE".to_owned()), ..action() },
            AskedAction { human_decision: Some("APPROVE".to_owned()), ..action() },
        ];

        let mut all: Vec<Digest> = changed.iter().map(|action| action.fingerprint(session)).collect();
        all.extend([action().fingerprint(session), action().fingerprint(other)]);

        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn without_a_key_the_place_is_the_key() {
        let session: SessionId = "ses_019355a0c0007000800000000000a001".parse().expect("an id");

        assert_eq!(action().idempotency(session, Some("k")).key, "k");
        assert_eq!(action().idempotency(session, None).key, format!("{session}/3"));
    }

    #[test]
    fn an_answer_reads_back_as_written() {
        let asked = Asked {
            v: 1,
            ledger_time: Timestamp::from_millis(0).expect("a time"),
            session: Some(DeclaredSession {
                session: "ses_019355a0c0007000800000000000a001".parse().expect("an id"),
                head_hash: Digest::of(b"entry"),
                closed: false,
            }),
            before: Before::Again {
                action: "act_019355a0c0007000800000000000a001".parse().expect("an id"),
                decision: Digest::of(b"decision"),
            },
        };

        let text = serde_json::to_string(&asked).expect("text");
        let read: Asked = serde_json::from_str(&text).expect("reads");

        assert_eq!(serde_json::to_string(&read).expect("text"), text);
        assert!(text.contains(r#""before":{"before":"again""#), "{text}");
    }
}
