//! How a gateway hands statements to the evidence service: `POST /internal/v1/record`.
//!
//! Each item is accepted or refused alone, in order, and answered in the same order. An acknowledgement is a receipt:
//! the gateway checks it before it forwards anything.

use crate::digest::Digest;
use crate::hold::Parked;
use crate::id::{InstanceId, KeyId, ProjectId, ProviderId};
use crate::receipt::Receipt;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Most items in one request.
pub const MAX_ITEMS: usize = 1024;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RecordRequest {
    pub v: u8,
    /// The gateway process that asks.
    pub instance: InstanceId,
    pub items: Vec<RawItem>,
}

/// An item as it travels. A bare RawValue keeps statement bytes as they were signed.
pub type RawItem = Box<RawValue>;

/// What an item says. Written with [`Item::to_raw`], read with [`Item::from_raw`].
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "read one by one, and soon taken apart")]
pub enum Item {
    Statement(StatementItem),
    Opening(OpeningItem),
    Execution(ExecutionItem),
}

/// A signed envelope to be numbered.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StatementItem {
    pub project: ProjectId,
    /// The API key whose call this decides; checked for revocation under the head lock.
    pub credential: Option<KeyId>,
    pub idempotency: Option<Idempotency>,
    /// With a held decision that opens a hold; absent where it opens none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parked: Option<Parked>,
    /// With a decision that names a session: the newest decision of it that the judgement counted; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_on: Option<u64>,
    pub statement: Box<RawValue>,
}

/// The sealed openings of one decision, kept beside its body.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningItem {
    pub project: ProjectId,
    pub decision: Digest,
    /// JWE compact serialization (RFC 7516) to the project's disclosure key.
    pub jwe: String,
}

/// What a provider put into a result about its own execution: an `execution/v1` envelope, as it came.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionItem {
    pub project: ProjectId,
    /// In whose result it was. Whose key signed it is another question.
    pub provider: ProviderId,
    pub execution: Box<RawValue>,
}

/// Same key and fingerprint: the stored answer. Same key, other fingerprint: `conflict`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Idempotency {
    pub key: String,
    pub fingerprint: Digest,
}

#[derive(Clone, Debug, thiserror::Error)]
#[error("item does not read as a statement, an opening or an execution: {0}")]
pub struct ItemError(String);

impl Item {
    pub fn project(&self) -> ProjectId {
        match self {
            Self::Statement(item) => item.project,
            Self::Opening(item) => item.project,
            Self::Execution(item) => item.project,
        }
    }

    pub fn to_raw(&self) -> RawItem {
        #[derive(Serialize)]
        struct Tagged<'a, T> {
            item: &'static str,
            #[serde(flatten)]
            rest: &'a T,
        }
        // serde's flatten buffers through a map, which a RawValue survives on the way out only.
        match self {
            Self::Statement(rest) => serde_json::value::to_raw_value(&Tagged { item: "statement", rest }),
            Self::Opening(rest) => serde_json::value::to_raw_value(&Tagged { item: "opening", rest }),
            Self::Execution(rest) => serde_json::value::to_raw_value(&Tagged { item: "execution", rest }),
        }
        .expect("items have string keys only")
    }

    pub fn from_raw(raw: &RawItem) -> Result<Self, ItemError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Any {
            item: String,
            project: ProjectId,
            #[serde(default)]
            credential: Option<KeyId>,
            #[serde(default)]
            idempotency: Option<Idempotency>,
            #[serde(default)]
            parked: Option<Parked>,
            #[serde(default)]
            judged_on: Option<u64>,
            #[serde(default)]
            statement: Option<Box<RawValue>>,
            #[serde(default)]
            decision: Option<Digest>,
            #[serde(default)]
            jwe: Option<String>,
            #[serde(default)]
            provider: Option<ProviderId>,
            #[serde(default)]
            execution: Option<Box<RawValue>>,
        }
        let any: Any = serde_json::from_str(raw.get()).map_err(|error| ItemError(error.to_string()))?;
        let project = any.project;
        let stated = any.provider.zip(any.execution);
        match (any.item.as_str(), any.statement, any.decision, any.jwe, stated) {
            ("statement", Some(statement), None, None, None) => Ok(Self::Statement(StatementItem {
                project,
                credential: any.credential,
                idempotency: any.idempotency,
                parked: any.parked,
                judged_on: any.judged_on,
                statement,
            })),
            ("opening", None, Some(decision), Some(jwe), None) => {
                Ok(Self::Opening(OpeningItem { project, decision, jwe }))
            }
            ("execution", None, None, None, Some((provider, execution))) => {
                Ok(Self::Execution(ExecutionItem { project, provider, execution }))
            }
            (other, ..) => Err(ItemError(format!("`{other}` with other members than its own"))),
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RecordAnswer {
    pub v: u8,
    /// The ledger's clock when it answered; gateways stamp decisions with it.
    pub ledger_time: Timestamp,
    pub answers: Vec<ItemAnswer>,
}

/// [`RecordAnswer`] as a gateway reads it: each item's answer only as far as it is needed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRecordAnswer {
    pub v: u8,
    pub ledger_time: Timestamp,
    /// Each is an [`ItemAnswer`], or for what nobody waits for a [`Trailed`].
    pub answers: Vec<Box<RawValue>>,
}

/// An [`ItemAnswer`] without its receipt, which nobody looks at where nobody waits.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Trailed {
    Recorded,
    Duplicate,
    Refused { reason: RefusedReason },
    Kept,
    Unknown,
}

/// The fate of one item. `digest` is that of the envelope (of the decision, for an opening).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum ItemAnswer {
    /// Committed, with this receipt. For an execution `digest` is that of the `received/v1` around it.
    Recorded(Recorded),
    /// The same key and fingerprint was recorded before; this is its receipt.
    Duplicate(Recorded),
    Refused {
        digest: Option<Digest>,
        reason: RefusedReason,
    },
    /// An opening was stored.
    Kept {
        digest: Digest,
    },
    /// Whether it was committed could not be found out. Nothing may be sent.
    Unknown {
        digest: Digest,
    },
}

#[derive(Clone, Debug)]
pub struct Recorded {
    pub digest: Digest,
    pub receipt: Receipt,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedReason {
    Malformed,
    TooLarge,
    BadSignature,
    Skew,
    Killed,
    Stale,
    Revoked,
    OverCap,
    StepGone,
    HoldGone,
    /// The idempotency key, or the place in the session, is taken by another request.
    Conflict,
    /// The session that it names was not declared by the key that the call came by.
    SessionUnknown,
    /// The session that it names is closed.
    SessionClosed,
    /// The project takes no entries: its head ran ahead, was shortened, or another copy of the database is live.
    ReadOnly,
}

// A receipt holds a RawValue, which serde's tagged enums cannot read back; it travels as JSON text.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RecordedText {
    digest: Digest,
    receipt: String,
}

impl Serialize for Recorded {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let receipt = serde_json::to_string(&self.receipt).map_err(serde::ser::Error::custom)?;
        RecordedText { digest: self.digest, receipt }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Recorded {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = RecordedText::deserialize(deserializer)?;
        let receipt = serde_json::from_str(&text.receipt).map_err(serde::de::Error::custom)?;
        Ok(Self { digest: text.digest, receipt })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_keeps_the_bytes_of_its_statement() {
        // Not canonical on purpose: what was signed must arrive as it was sent.
        let statement = r#"{"b":1 , "a":"\u0061"}"#.to_owned();
        let item = Item::Statement(StatementItem {
            project: "prj_019355a0c0007000800000000000a001".parse().expect("project"),
            credential: None,
            idempotency: None,
            parked: None,
            judged_on: Some(41),
            statement: RawValue::from_string(statement.clone()).expect("JSON"),
        });
        let request = RecordRequest {
            v: 1,
            instance: "gwi_019355a0c0007000800000000000a001".parse().expect("instance"),
            items: vec![item.to_raw()],
        };

        let sent = serde_json::to_vec(&request).expect("serialises");
        let arrived: RecordRequest = serde_json::from_slice(&sent).expect("reads back");

        match Item::from_raw(&arrived.items[0]).expect("an item") {
            Item::Statement(item) => {
                assert_eq!((item.statement.get(), item.judged_on), (statement.as_str(), Some(41)));
            }
            other => panic!("a statement became {other:?}"),
        }
    }

    #[test]
    fn what_trails_is_answered_alike_with_and_without_its_receipt() {
        let vector: serde_json::Value =
            serde_json::from_str(include_str!("../../docs/vectors/receipts/observation.json")).expect("JSON");
        let receipt: Receipt = serde_json::from_str(&vector["receipt"].to_string()).expect("a receipt");
        let digest = Digest::of(b"statement");
        let recorded = || Recorded { digest, receipt: receipt.clone() };
        let answers = vec![
            ItemAnswer::Recorded(recorded()),
            ItemAnswer::Duplicate(recorded()),
            ItemAnswer::Refused { digest: None, reason: RefusedReason::Malformed },
            ItemAnswer::Kept { digest },
            ItemAnswer::Unknown { digest },
        ];
        let ledger_time = Timestamp::parse("2026-11-30T11:20:00.123Z").expect("a time");
        let sent = serde_json::to_string(&RecordAnswer { v: 1, ledger_time, answers }).expect("serialises");

        let arrived: RawRecordAnswer = serde_json::from_str(&sent).expect("reads back");

        let trailed: Vec<Trailed> =
            arrived.answers.iter().map(|raw| serde_json::from_str(raw.get()).expect("an answer")).collect();
        let refused = Trailed::Refused { reason: RefusedReason::Malformed };
        assert_eq!(
            trailed,
            [Trailed::Recorded, Trailed::Duplicate, refused, Trailed::Kept, Trailed::Unknown]
        );
        assert!(arrived.answers.iter().all(|raw| serde_json::from_str::<ItemAnswer>(raw.get()).is_ok()));
    }

    #[test]
    fn an_item_with_another_items_members_is_refused() {
        for text in [
            r#"{"item":"opening","project":"prj_019355a0c0007000800000000000a001","statement":{}}"#,
            r#"{"item":"statement","project":"prj_019355a0c0007000800000000000a001"}"#,
            r#"{"item":"kill","project":"prj_019355a0c0007000800000000000a001","statement":{}}"#,
        ] {
            let raw = RawValue::from_string(text.to_owned()).expect("JSON");
            assert!(Item::from_raw(&raw).is_err(), "{text}");
        }
    }
}
