//! A ledger with a provider that signs, and the calls that end in each way.

use crate::audit::tests::statements;
use crate::audit::tests::writer::{Writer, issuer, project};
use crate::commitment::{Commitment, OpeningSeed};
use crate::digest::Digest;
use crate::envelope::Signed;
use crate::id::{ActionId, AgentId, KeyId, SessionId};
use crate::key::{Execution as ExecutionKey, SigningKey};
use crate::nonce::Nonce16;
use crate::statement::*;
use std::rc::Rc;

pub(super) struct Scene {
    pub(super) writer: Writer,
    pub(super) provider: SigningKey<ExecutionKey>,
    /// Number of the entry that introduced the provider's key.
    pub(super) introduced: u64,
    actions: u128,
}

/// One allowed call: what names it.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) action: ActionId,
    pub(super) decision: Digest,
}

pub(super) struct SignedDecision {
    said: Decision,
    pub(super) call: Call,
}

fn value(name: &str) -> Commitment {
    OpeningSeed::from_bytes([0; 16]).commit("value", name).commitment()
}

impl Scene {
    pub(super) fn new() -> Self {
        let mut writer = Writer::new();
        // Away from midnight, so that an hour passes within a day.
        writer.now = writer.now.plus_millis(2 * 3_600_000);
        let provider = SigningKey::<ExecutionKey>::from_seed(&[0x21; 32]);
        let (ledger, log, decision) =
            (Rc::clone(&writer.ledger), Rc::clone(&writer.log), Rc::clone(&writer.decision));
        writer.key(KeyEvent::Introduced, &*ledger, &*ledger);
        writer.key(KeyEvent::Introduced, &*log, &*ledger);
        writer.key(KeyEvent::Introduced, &*decision, &*ledger);
        writer.publish(PublishedType::Registry, "registry 1");
        writer.publish(PublishedType::Rules, "rules 1");
        writer.commit();
        let mut scene = Self { writer, provider, introduced: 5, actions: 1000 };
        scene.provider_key(KeyEvent::Introduced);
        scene.writer.commit();
        scene
    }

    pub(super) fn provider_key(&mut self, event: KeyEvent) {
        self.writer.numbers.control += 1;
        let mut said = statements::key(event, &self.provider, self.writer.numbers, self.writer.now);
        said.provider = "notes".parse().ok();
        let ledger = Rc::clone(&self.writer.ledger);
        self.writer.state(said, &ledger);
    }

    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.writer.rows.entries.len()).expect("small")
    }

    pub(super) fn wait(&mut self, millis: i64) {
        self.writer.now = self.writer.now.plus_millis(millis);
    }

    pub(super) fn decide(&mut self, verdict: Verdict) -> Call {
        let signed = self.sign_decision(verdict);
        self.enter_decision(signed)
    }

    /// A decision that is signed and not yet in the record.
    pub(super) fn sign_decision(&mut self, verdict: Verdict) -> SignedDecision {
        self.actions += 1;
        let (numbers, policy, now) = (self.writer.numbers, self.writer.policy, self.writer.now);
        let mut said = statements::decision(self.actions, verdict, numbers, policy, now);
        said.args = Some(value("args"));
        let action = said.action;
        let decision = Signed::sign(said.clone(), &*self.writer.decision).digest();
        SignedDecision { said, call: Call { action, decision } }
    }

    pub(super) fn enter_decision(&mut self, signed: SignedDecision) -> Call {
        let key = Rc::clone(&self.writer.decision);
        self.writer.state(signed.said, &key);
        self.writer.commit();
        signed.call
    }

    /// A vendor's session opens. Returns the hash of its entry.
    pub(super) fn open(&mut self, session: SessionId) -> Digest {
        let said = Session {
            typ: SessionType::V1,
            iss: issuer(),
            project: project(),
            at: self.writer.now,
            session,
            event: SessionEvent::Opened,
            via: KeyId::from_uuid(uuid::Uuid::from_u128(5)),
            agent: AgentId::from_uuid(uuid::Uuid::from_u128(6)),
            external: Some(value("external")),
            declared: Some(value("declared")),
            principal: Some(value("principal")),
            request: Some(value("request")),
            task: None,
            grant: None,
            parent: None,
            started_at: None,
        };
        let ledger = Rc::clone(&self.writer.ledger);
        self.writer.state(said, &ledger);
        self.writer.commit();
        self.last_hash()
    }

    /// A vendor asks, and names that as the call before.
    pub(super) fn ask(&mut self, session: SessionId, prev: Option<String>) -> Call {
        let SignedDecision { mut said, call } = self.sign_decision(Verdict::Deny);
        (said.mode, said.session) = (Mode::Hook, Some(session));
        said.ask = Some(Ask { seq: 0, prev, at: self.writer.now });
        let decision = Signed::sign(said.clone(), &*self.writer.decision).digest();
        self.enter_decision(SignedDecision { said, call: Call { decision, ..call } })
    }

    pub(super) fn last_hash(&self) -> Digest {
        let hash = self.writer.rows.entries.last().expect("an entry").hash.as_slice();
        Digest::from_bytes(hash.try_into().expect("32 bytes"))
    }

    /// A catalogue that this key signed. Returns the digest of the body.
    pub(super) fn catalog(&mut self, key: &SigningKey<ExecutionKey>, holds: bool) -> Digest {
        let mut body = serde_json::json!({"v": 1, "tools": [{"name": "send", "signals": {"op": "send"}}]});
        let signature = crate::nonce::base64url(&key.sign(&crate::json::canonical(&body)));
        body["signature"] = serde_json::json!({"kid": "k1", "alg": "Ed25519", "value": signature});
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::Catalog,
            signer: Signer { kid: Some("k1".to_owned()), thumbprint: None },
            project: project(),
            at: self.writer.now,
            holds,
            bytes: ReceivedBytes(body.to_string().into_bytes()),
        };
        let ledger = Rc::clone(&self.writer.ledger);
        let digest = self.writer.state(received, &ledger);
        self.writer.commit();
        digest
    }

    pub(super) fn observe(&mut self, call: Call, status: ObservationStatus) {
        let mut said = statements::observation(0, call.decision, self.writer.now);
        said.action = call.action;
        said.status = status;
        said.reason = (status == ObservationStatus::NotSent).then_some(ObservationReason::TooLate);
        said.is_error = (status == ObservationStatus::Returned).then_some(false);
        said.result = (status == ObservationStatus::Returned).then(|| value("result"));
        let key = Rc::clone(&self.writer.decision);
        self.writer.state(said, &key);
        self.writer.commit();
    }

    pub(super) fn execution(&self, call: Call, outcome: Outcome) -> Execution {
        Execution {
            typ: ExecutionType::V1,
            iss: "notes".parse().expect("good id"),
            project: project(),
            action: call.action,
            provider: "notes".parse().expect("good id"),
            tool: "note_read".parse().expect("good name"),
            decision: call.decision,
            capability: None,
            args: Some(value("args")),
            outcome,
            result: (outcome == Outcome::Executed).then(|| value("result")),
            error_code: None,
            charged: None,
            started_at: None,
            executed_at: self.writer.now,
            nonce: Nonce16::from_bytes([3; 16]),
            seen: None,
        }
    }

    /// The provider signs, the ledger wraps. Returns the digest of the body.
    pub(super) fn sign(&mut self, said: Execution) -> Digest {
        let key = SigningKey::from_seed(&[0x21; 32]);
        self.submit(said, &key, true)
    }

    pub(super) fn submit(&mut self, said: Execution, key: &SigningKey<ExecutionKey>, holds: bool) -> Digest {
        let bytes = Signed::sign(said, key).bytes().to_vec();
        let kid = key.kid().clone();
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::ExecutionNative,
            signer: Signer { kid: Some(kid.to_string()), thumbprint: Some(kid) },
            project: project(),
            at: self.writer.now,
            holds,
            bytes: ReceivedBytes(bytes),
        };
        let ledger = Rc::clone(&self.writer.ledger);
        let digest = self.writer.state(received, &ledger);
        self.writer.commit();
        digest
    }

    pub(super) fn find(&mut self, code: FindingCode, action: ActionId, statement: Digest) -> Digest {
        let finding = Finding {
            typ: FindingType::V1,
            iss: issuer(),
            project: project(),
            at: self.writer.now,
            code,
            action: Some(action),
            statement: Some(statement),
            seq: Some(0),
        };
        let ledger = Rc::clone(&self.writer.ledger);
        let digest = self.writer.state(finding, &ledger);
        self.writer.commit();
        digest
    }

    pub(super) fn clear(&mut self, finding: Digest, code: FindingCode, action: ActionId, by: Digest) {
        let clearance = Clearance {
            typ: ClearanceType::V1,
            iss: issuer(),
            project: project(),
            at: self.writer.now,
            finding,
            code,
            action,
            statement: by,
            seq: 0,
        };
        let ledger = Rc::clone(&self.writer.ledger);
        self.writer.state(clearance, &ledger);
        self.writer.commit();
    }

    pub(super) fn tombstone(&mut self, first: u64, last: u64) {
        let tombstone = Tombstone {
            typ: TombstoneType::V1,
            iss: issuer(),
            project: project(),
            at: self.writer.now,
            behalf: "retention".to_owned(),
            removal: Removal::Retention,
            epoch: self.writer.now.epoch(),
            first,
            last,
        };
        let ledger = Rc::clone(&self.writer.ledger);
        self.writer.state(tombstone, &ledger);
        self.writer.commit();
    }

    /// An allowed call that returned and was signed for, like most.
    pub(super) fn honest_call(&mut self) -> Call {
        let call = self.decide(Verdict::Allow);
        self.observe(call, ObservationStatus::Returned);
        let said = self.execution(call, Outcome::Executed);
        self.sign(said);
        call
    }
}
