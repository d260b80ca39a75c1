//! The gateway's statement on one action: every member of decision/v1, and what opens its commitments.
//!
//! Promised: what could be guessed stands in it as a commitment only; what the caller said about tools that do not
//! exist stands in it not at all. The seed never leaves this process but sealed to the vendor, or, the provider's
//! half, inside a capability.

use crate::call::{Proposed, Wants};
use crate::chance;
use crate::control::Control;
use crate::envelope::Params;
use crate::holds::{Ended, Question, Reopened, is_for_a_person};
use crate::pipeline::{Classified, Subject};
use counterfoil_core::commitment::{Commitment, OpeningSeed, ProviderSeed};
use counterfoil_core::digest::Digest;
use counterfoil_core::envelope::Signed;
use counterfoil_core::id::ActionId;
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::session::Summary;
use counterfoil_core::statement::{
    Answers, Ask, Class, Decision, DecisionType, Effect, Mark, Reason, Scope, Shape, Verdict,
};
use counterfoil_core::time::Timestamp;
use counterfoil_core::verdict::{ActionRequest, Answer as Told};
use counterfoil_jwks::opening::Opening;
use counterfoil_policy::{self as policy, BaseVerdict, Facts, Judgement, Standing, Store};
use serde_json::Value;
use std::collections::BTreeMap;

/// A decision that is signed, and everything that opens it.
pub struct Decided {
    pub signed: Signed<Decision>,
    /// Taken when it is sealed.
    pub opening: Option<Opening>,
    pub provider_seed: ProviderSeed,
    /// The newest decision of the session that it was judged on, where rules asked.
    pub judged_on: Option<u64>,
    /// Names and salts of what was committed to, for callers that keep their own receipts.
    pub salts: Vec<(String, String)>,
}

/// What the rules say, before anything is signed.
pub struct Assessed {
    facts: Facts,
    judgement: Judgement,
    now: Timestamp,
}

impl Assessed {
    pub fn verdict(&self) -> Verdict {
        self.judgement.verdict
    }

    pub fn reason(&self) -> Reason {
        self.judgement.reason
    }

    pub fn effect(&self) -> Effect {
        self.judgement.effect
    }
}

/// Judges at this moment of ledger time.
pub fn assess(call: &Classified, session: Option<&Summary>, now: Timestamp) -> Assessed {
    let facts = facts(call, session, now);
    let judgement = judge(&call.control, &facts);
    let judgement = match &call.received.reopened {
        Some(reopened) => answered(judgement, &reopened.ended),
        None => judgement,
    };
    Assessed { facts, judgement, now }
}

/// Signs, once it is known whether the decision asks a person. `seed` salts every commitment of the action.
pub fn decide(
    call: &Classified,
    assessed: Assessed,
    (question, seed): (&Question, &[u8; 16]),
    key: &SigningKey<key::Decision>,
) -> Decided {
    let Assessed { facts, judgement, now } = assessed;
    let judgement = match question {
        Question::Over { ended, .. } => answered(judgement, ended),
        Question::NotAsked
        | Question::Opens(..)
        | Question::Joins(_)
        | Question::TooLarge
        | Question::Elsewhere => judgement,
    };
    let mut commitments = Commitments::salted_from(seed);
    let principal =
        call.received.caller.principal.as_deref().map(|principal| commitments.of("principal", principal));
    // The hash of arguments is a value like any other: from a vendor too it is committed to before it is shown.
    let args = call.args().map(|args| commitments.of_provider("args", &args.to_string()));
    let class = class(call, &mut commitments);
    let document = facts.bytes();
    let committed = commitments.of("facts", &Digest::of(&document).to_string());
    let signed = Signed::sign(
        Decision {
            principal,
            class,
            args,
            facts: committed,
            follows: question.follows().or_else(|| resolves(call)),
            hold: question.hold(),
            session: facts
                .session()
                .map(|done| done.session)
                .or_else(|| Some(call.received.proposed()?.session)),
            ..statement(call, &judgement, now, committed)
        },
        key,
    );
    Decided {
        signed,
        provider_seed: commitments.seed.provider(),
        judged_on: facts.session().and_then(|done| done.upto),
        salts: commitments.salts,
        opening: keeps_openings(call).then(|| Opening {
            seed: commitments.seed,
            values: commitments.values,
            facts: document,
        }),
    }
}

fn statement(call: &Classified, judgement: &Judgement, now: Timestamp, facts: Commitment) -> Decision {
    let (snapshot, received) = (&call.control.snapshot, &call.received);
    let agent = received.caller.agent;
    let reopened = received.reopened.as_deref();
    Decision {
        typ: DecisionType::V1,
        iss: snapshot.iss.clone(),
        project: snapshot.project,
        env: snapshot.env,
        action: call.action,
        follows: None,
        supersedes: reopened
            .map(|reopened| reopened.decision)
            .or_else(|| Some(received.proposed()?.again?.1)),
        session: None,
        run: None,
        at: now,
        nonce: chance::nonce(),
        origin: received.origin,
        mode: received.mode(),
        via: received.caller.key.to_string(),
        agent,
        principal: None,
        provider: call.provider().cloned(),
        tool: call.tool().cloned(),
        pin: call.pin(),
        class: None,
        shape: shape(call),
        args: None,
        facts,
        verdict: judgement.verdict,
        reason: judgement.reason,
        rules: judgement.rules.clone(),
        policy: call.control.bundle.digest(),
        grants: snapshot.grants.digest_for(agent),
        control: snapshot.control,
        generation: snapshot.generation,
        effect: judgement.effect,
        marks: marks(judgement),
        hold: None,
        answers: reopened.and_then(answers),
        // Named before it exists: a slip holds the digest of its decision, so it can only be minted afterwards.
        capability: wants_slip(call, judgement).then(chance::nonce),
        ask: received.proposed().map(asked),
        quote: None,
        plan: None,
    }
}

/// The caller's own numbering: a claim, and what it names before it is looked up in the ledger.
fn asked(proposed: &Proposed) -> Ask {
    let ActionRequest { seq, prev, requested_at, .. } = &proposed.request;
    Ask { seq: *seq, prev: prev.map(|hash| hash.to_string()), at: *requested_at }
}

/// The action whose STEP_UP a person answered, in the vendor's words.
fn resolves(call: &Classified) -> Option<ActionId> {
    match call.received.proposed()?.request.signals.answer()? {
        Told::Approves(action) | Told::Declines(action) => Some(action),
    }
}

/// G8: what runs under break-glass says so, and G6 what runs on a vendor's word.
fn marks(judgement: &Judgement) -> Vec<Mark> {
    let broken = (judgement.reason == Reason::BreakGlass).then_some(Mark::BreakGlass);
    let lifted = judgement.is_vendor_approved.then_some(Mark::VendorApproved);
    broken.into_iter().chain(lifted).collect()
}

/// The person's answer that this decision follows.
fn answers(reopened: &Reopened) -> Option<Answers> {
    let answered = reopened.ended.answered()?;
    Some(Answers { hold: reopened.hold, decision: reopened.decision, answer: answered.answer })
}

fn facts(call: &Classified, session: Option<&Summary>, now: Timestamp) -> Facts {
    let received = &call.received;
    let approval = received.reopened.as_deref().filter(|reopened| reopened.ended.refusal().is_none());
    let approval = approval.and_then(answers);
    let asked = policy::Asked {
        agent: received.caller.agent,
        principal: received.caller.principal.as_deref(),
        origin: received.origin,
        mode: received.mode(),
        env: call.control.snapshot.env,
        provider: call.provider().map(|provider| provider.as_str()),
        tool: call.tool().map(|tool| tool.as_str()),
        args: call.args(),
        now,
        base_verdict: base_verdict(&call.control),
        standing: Standing { session, ..standing(call, approval.as_ref()) },
    };
    match &call.subject {
        Subject::Tool { classification, .. } | Subject::Proposed { classification, .. } => {
            Facts::of(&asked, classification)
        }
        Subject::Refused { why, .. } => Facts::refused(&asked, *why),
    }
}

/// Anything but the two that exist is the stricter one.
fn base_verdict(control: &Control) -> BaseVerdict {
    BaseVerdict::try_from(control.snapshot.base_verdict).unwrap_or(BaseVerdict::Deny)
}

/// What people did about what may run, as the snapshot says it.
fn standing<'a>(call: &'a Classified, approval: Option<&'a Answers>) -> Standing<'a> {
    let (control, caller) = (&call.control, &call.received.caller);
    let snapshot = &control.snapshot;
    let stops = |scope: &Scope| match scope {
        Scope::Agent(agent) => *agent == caller.agent,
        Scope::Connection(key) => *key == caller.key,
        Scope::Environment(env) => *env == snapshot.env,
    };
    Standing {
        grants: control.grants.digests(caller.agent),
        approval,
        breakglass_until: snapshot.breakglass_until,
        shadow_until: snapshot.shadow_until,
        session: None,
        signals: call.received.proposed().map(|proposed| &proposed.request.signals),
        stopped: snapshot.killed || snapshot.stopped.iter().any(stops),
    }
}

/// The word of rules and grants, unless a kill covers the call: then there is nothing to ask.
fn judge(control: &Control, facts: &Facts) -> Judgement {
    policy::evaluate(&control.bundle, &control.grants, facts)
}

/// A held call, judged again once its hold has ended. A yes is a fact that the rules were asked with; anything else denies
/// what is held all the same. A deny stays one.
fn answered(judgement: Judgement, ended: &Ended) -> Judgement {
    if !is_for_a_person(judgement.verdict, judgement.reason) {
        return judgement;
    }
    match ended.refusal() {
        Some(reason) => Judgement {
            verdict: Verdict::Deny,
            reason,
            rules: Vec::new(),
            effect: Effect::Enforced,
            is_vendor_approved: false,
        },
        None => judgement,
    }
}

fn class(call: &Classified, commitments: &mut Commitments) -> Option<Class> {
    let classification = call.classification()?;
    let nouns: Vec<Commitment> = classification
        .nouns()
        .iter()
        .enumerate()
        .map(|(place, noun)| commitments.of(&format!("noun/{place}"), noun.value()))
        .collect();
    classification.class(&nouns)
}

fn shape(call: &Classified) -> Option<Shape> {
    let classification = call.classification()?;
    classification.known().is_some().then(|| classification.shape())
}

fn wants_slip(call: &Classified, judgement: &Judgement) -> bool {
    let asks = |id: &str| {
        let registry = call.control.bundle.registry();
        registry.provider(id).is_some_and(|p| p.capability())
    };
    let goes_out = judgement.verdict == Verdict::Allow || judgement.effect == Effect::Advisory;
    // A capability is bound to arguments; a vendor that shows only their hash, or does not ask for one, gets none.
    let is_full = call.received.wants == Wants::Full;
    let proposed = call.received.proposed();
    let is_bindable = proposed.is_none_or(|proposed| is_full && proposed.request.arguments.is_some());
    goes_out && is_bindable && call.provider().is_some_and(|provider| asks(provider.as_str()))
}

/// Whether what opens the commitments is kept for the vendor, or forgotten at once.
fn keeps_openings(call: &Classified) -> bool {
    let provider = call.provider().map(|provider| provider.as_str());
    let tool = call.tool().map(|tool| tool.as_str());
    match call.control.bundle.registry().store(provider, tool) {
        Store::Sealed => true,
        Store::Shape => false,
    }
}

/// Collects what is committed to while the statement is built.
struct Commitments {
    seed: OpeningSeed,
    values: BTreeMap<String, String>,
    salts: Vec<(String, String)>,
}

impl Commitments {
    fn salted_from(seed: &[u8; 16]) -> Self {
        Self { seed: OpeningSeed::from_bytes(*seed), values: BTreeMap::new(), salts: Vec::new() }
    }

    fn of(&mut self, name: &str, value: &str) -> Commitment {
        let disclosure = self.seed.commit(name, value);
        self.keep(name, value, disclosure.salt().to_string());
        disclosure.commitment()
    }

    fn of_provider(&mut self, name: &str, value: &str) -> Commitment {
        let disclosure = self.seed.provider().commit(name, value);
        self.keep(name, value, disclosure.salt().to_string());
        disclosure.commitment()
    }

    fn keep(&mut self, name: &str, value: &str, salt: String) {
        self.values.insert(name.to_owned(), value.to_owned());
        self.salts.push((name.to_owned(), salt));
    }
}

/// The arguments of a call as the registry and the commitments see them: `{}` when there are none.
pub fn bound_arguments(params: &Params) -> Option<Value> {
    params.arguments().ok()?;
    match params.value().get("arguments") {
        None | Some(Value::Null) => Some(Value::Object(serde_json::Map::new())),
        Some(arguments) => Some(arguments.clone()),
    }
}
