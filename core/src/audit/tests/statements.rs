//! Statements of a small ledger.

use super::writer::{Numbers, issuer, project};
use crate::commitment::Commitment;
use crate::digest::Digest;
use crate::envelope::SignatureBytes;
use crate::id::{ActionId, AgentId};
use crate::key::{KeyPurpose, SigningKey};
use crate::nonce::Nonce16;
use crate::statement::*;
use crate::time::Timestamp;
use crate::tree::Hash;
use uuid::Uuid;

pub(crate) fn key<S: KeyPurpose>(
    event: KeyEvent,
    key: &SigningKey<S>,
    numbers: Numbers,
    at: Timestamp,
) -> KeyStatement {
    let possession = SignatureBytes(key.sign(&possession_message(project(), key.kid())));
    KeyStatement {
        typ: KeyType::V1,
        iss: issuer(),
        project: project(),
        at,
        control: numbers.control,
        floor: numbers.floor,
        generation: numbers.generation,
        behalf: "setup".to_owned(),
        authorization: None,
        event,
        purpose: S::PURPOSE,
        provider: None,
        key: PublicJwk::new(key.public()),
        thumbprint: key.kid().clone(),
        replaces: None,
        compromised_since: None,
        possession: (event == KeyEvent::Introduced).then_some(possession),
        source: None,
    }
}

pub(crate) fn published(
    typ: PublishedType,
    document: Digest,
    policy: Digest,
    numbers: Numbers,
    at: Timestamp,
) -> Published {
    Published {
        typ,
        iss: issuer(),
        project: project(),
        at,
        control: numbers.control,
        floor: numbers.floor,
        generation: numbers.generation,
        behalf: "setup".to_owned(),
        authorization: None,
        document,
        policy,
        reason: None,
        expires_at: None,
    }
}

pub(crate) fn kill(numbers: Numbers, at: Timestamp) -> Kill {
    Kill {
        typ: KillType::V1,
        iss: issuer(),
        project: project(),
        at,
        control: numbers.control,
        floor: numbers.floor,
        generation: numbers.generation,
        behalf: "somebody".to_owned(),
        authorization: None,
        reason: None,
        scope: None,
    }
}

pub(crate) fn retention(days: u16, numbers: Numbers, at: Timestamp) -> Settings {
    Settings {
        typ: SettingsType::V1,
        iss: issuer(),
        project: project(),
        at,
        control: numbers.control,
        floor: numbers.floor,
        generation: numbers.generation,
        behalf: "somebody".to_owned(),
        authorization: None,
        name: SettingName::retention_days(),
        value: days.to_string().parse().expect("a number is a public text"),
    }
}

pub(crate) fn finding(action: u128, at: Timestamp) -> Finding {
    Finding {
        typ: FindingType::V1,
        iss: issuer(),
        project: project(),
        at,
        code: FindingCode::OutcomeUnknown,
        action: Some(ActionId::from_uuid(Uuid::from_u128(action))),
        statement: None,
        seq: None,
    }
}

pub(crate) fn tombstone(first: u64, last: u64, at: Timestamp) -> Tombstone {
    Tombstone {
        typ: TombstoneType::V1,
        iss: issuer(),
        project: project(),
        at,
        behalf: "retention".to_owned(),
        removal: Removal::Retention,
        epoch: "2026-11-30".to_owned(),
        first,
        last,
    }
}

pub(crate) fn epoch(closed: &str, first: u64, last: u64, root: Hash, counts: Counts, at: Timestamp) -> Epoch {
    let (typ, epoch) = (EpochType::V1, closed.to_owned());
    Epoch { typ, iss: issuer(), project: project(), at, epoch, first, last, root, counts }
}

fn commitment() -> Commitment {
    "A".repeat(43).parse().expect("43 characters of base64url")
}

pub(crate) fn decision(
    action: u128,
    verdict: Verdict,
    numbers: Numbers,
    policy: Digest,
    at: Timestamp,
) -> Decision {
    Decision {
        typ: DecisionType::V1,
        iss: issuer(),
        project: project(),
        env: Environment::Test,
        action: ActionId::from_uuid(Uuid::from_u128(action)),
        follows: None,
        supersedes: None,
        session: None,
        run: None,
        at,
        nonce: Nonce16::from_bytes(action.to_be_bytes()),
        origin: Origin::Mcp,
        mode: Mode::Gateway,
        via: "key_00000000000000000000000000000001".to_owned(),
        agent: AgentId::from_uuid(Uuid::from_u128(7)),
        principal: None,
        provider: Some("notes".parse().expect("good id")),
        tool: Some("note_read".parse().expect("good name")),
        pin: None,
        class: None,
        shape: None,
        args: None,
        facts: commitment(),
        verdict,
        reason: Reason::Rule,
        rules: Vec::new(),
        policy,
        grants: Digest::of(b"grants"),
        control: numbers.control,
        generation: numbers.generation,
        effect: Effect::Enforced,
        marks: Vec::new(),
        hold: None,
        answers: None,
        capability: None,
        ask: None,
        quote: None,
        plan: None,
    }
}

pub(crate) fn observation(action: u128, decision: Digest, at: Timestamp) -> Observation {
    Observation {
        typ: ObservationType::V1,
        iss: issuer(),
        project: project(),
        env: Environment::Test,
        action: ActionId::from_uuid(Uuid::from_u128(action)),
        decision,
        provider: "notes".parse().expect("good id"),
        tool: "note_read".parse().expect("good name"),
        status: ObservationStatus::NotSent,
        reason: Some(ObservationReason::TooLate),
        is_error: None,
        result: None,
        error: None,
        sent_at: None,
        at,
        nonce: Nonce16::from_bytes([9; 16]),
    }
}
