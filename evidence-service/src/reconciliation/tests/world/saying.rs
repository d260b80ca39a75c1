//! What gateway and providers say in a world.

use super::*;

impl World {
    pub(in crate::reconciliation::tests) fn decision(&self, verdict: Verdict) -> Decision {
        Decision {
            typ: DecisionType::V1,
            iss: self.project.issuer.clone(),
            project: self.id(),
            env: Environment::Live,
            action: ActionId::from_uuid(clock::fresh_uuid()),
            follows: None,
            supersedes: None,
            session: None,
            run: None,
            at: self.now,
            nonce: nonce(),
            origin: Origin::Mcp,
            mode: Mode::Gateway,
            via: "key_0".to_owned(),
            agent: Setup::fresh_agent(),
            principal: None,
            provider: Some(notes()),
            tool: Some("note_write".parse().unwrap()),
            pin: None,
            class: None,
            shape: None,
            args: Some(value("args")),
            facts: value("facts"),
            verdict,
            reason: Reason::Rule,
            rules: Vec::new(),
            policy: self.published.policy.unwrap(),
            grants: Digest::of(b"grants"),
            control: self.published.control,
            generation: 0,
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

    pub(in crate::reconciliation::tests) async fn decide(&self, decision: Decision) -> Call {
        let action = decision.action;
        Call { action, decision: self.enter(&Signed::sign(decision, &self.decision)).await }
    }

    pub(in crate::reconciliation::tests) async fn allow(&self) -> Call {
        self.decide(self.decision(Verdict::Allow)).await
    }

    pub(in crate::reconciliation::tests) fn observation(
        &self,
        call: Call,
        status: ObservationStatus,
    ) -> Observation {
        let returned = status == ObservationStatus::Returned;
        Observation {
            typ: ObservationType::V1,
            iss: self.project.issuer.clone(),
            project: self.id(),
            env: Environment::Live,
            action: call.action,
            decision: call.decision,
            provider: notes(),
            tool: "note_write".parse().unwrap(),
            status,
            reason: (status == ObservationStatus::NotSent).then_some(ObservationReason::TooLate),
            is_error: returned.then_some(false),
            result: returned.then(|| value("result")),
            error: None,
            sent_at: Some(self.now),
            at: self.now,
            nonce: nonce(),
        }
    }

    pub(in crate::reconciliation::tests) async fn observe(&self, seen: Observation) -> Digest {
        self.enter(&Signed::sign(seen, &self.decision)).await
    }

    pub(in crate::reconciliation::tests) fn execution(&self, call: Call, outcome: Outcome) -> Execution {
        Execution {
            typ: ExecutionType::V1,
            iss: notes(),
            project: self.id(),
            action: call.action,
            provider: notes(),
            tool: "note_write".parse().unwrap(),
            decision: call.decision,
            capability: None,
            args: Some(value("args")),
            outcome,
            result: (outcome == Outcome::Executed).then(|| value("result")),
            error_code: None,
            charged: None,
            started_at: None,
            executed_at: self.now,
            nonce: nonce(),
            seen: None,
        }
    }

    /// As the provider `notes` signs it.
    pub(in crate::reconciliation::tests) async fn state(&self, said: Execution) -> Digest {
        self.submit(said, &self.notes, true).await
    }

    /// Wrapped as the service wraps it: `holds` is what it found.
    pub(in crate::reconciliation::tests) async fn submit(
        &self,
        said: Execution,
        key: &SigningKey<ExecutionKey>,
        holds: bool,
    ) -> Digest {
        let bytes = Signed::sign(said, key).bytes().to_vec();
        let kid = key.kid().clone();
        let known = holds.then(|| kid.clone());
        let signer = Signer { kid: Some(kid.to_string()), thumbprint: known };
        self.wrap(ReceivedForm::ExecutionNative, signer, holds, bytes).await
    }

    pub(in crate::reconciliation::tests) async fn wrap(
        &self,
        form: ReceivedForm,
        signer: Signer,
        holds: bool,
        bytes: Vec<u8>,
    ) -> Digest {
        let received = Received {
            typ: ReceivedType::V1,
            form,
            signer,
            project: self.id(),
            at: self.now,
            holds,
            bytes: ReceivedBytes(bytes),
        };
        self.enter(&Signed::sign(received, &self.ledger.keys().ledger)).await
    }

    /// A decision that is signed and not in the record.
    pub(in crate::reconciliation::tests) fn signed_decision(
        &self,
        verdict: Verdict,
    ) -> (Call, Signed<Decision>) {
        let decision = self.decision(verdict);
        let action = decision.action;
        let signed = Signed::sign(decision, &self.decision);
        (Call { action, decision: signed.digest() }, signed)
    }

    pub(in crate::reconciliation::tests) async fn enter_decision(&self, signed: &Signed<Decision>) {
        self.enter(signed).await;
    }

    /// A statement that no key of ours signed, as the body of an entry.
    pub(in crate::reconciliation::tests) fn wrapped(
        &self,
        said: Execution,
        key: &SigningKey<ExecutionKey>,
    ) -> Vec<u8> {
        let bytes = Signed::sign(said, key).bytes().to_vec();
        let signer = Signer { kid: Some(key.kid().to_string()), thumbprint: None };
        let received = Received {
            typ: ReceivedType::V1,
            form: ReceivedForm::ExecutionNative,
            signer,
            project: self.id(),
            at: self.now,
            holds: false,
            bytes: ReceivedBytes(bytes),
        };
        Signed::sign(received, &self.ledger.keys().ledger).bytes().to_vec()
    }

    /// All in one commit.
    pub(in crate::reconciliation::tests) async fn enter_all(&self, bodies: Vec<Vec<u8>>) {
        let instance = InstanceId::from_uuid(uuid::Uuid::from_bytes(INSTANCE));
        self.append(&Bodies { instance, bodies }).await;
    }
}
