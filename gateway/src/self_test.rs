//! The boot self-test: not ready until, on each transport, a forbidden call was refused and recorded.
//!
//! Promised: a gateway that cannot judge, sign, record or check a receipt never says that it is ready. The forbidden call is
//! a control verb, which no registry can make a tool of; it takes the way of every call (`pipeline`), and leaves one DENY
//! `control_verb` a transport, by an agent and a key that no project can have: their ids are all zeros.
//! Not promised: that a call would be allowed. And the HTTP in front is not tried: whoever asks `/readyz` does that.

use crate::answer::Answer;
use crate::call::{Asked, Caller, Received, Wants};
use crate::holds::Manner;
use crate::house::{House, Project};
use crate::pipeline;
use counterfoil_core::id::{AgentId, KeyId};
use counterfoil_core::receipt::ReceiptRef;
use counterfoil_core::statement::{Origin, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The transports that a gateway serves.
const TRANSPORTS: [Origin; 2] = [Origin::Mcp, Origin::Stdio];
/// Between two looks at whether anything can be judged yet, and after a test that failed.
const PAUSE: Duration = Duration::from_millis(50);
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Whether a project's test was passed, or is not asked for.
pub struct SelfTest(AtomicBool);

impl SelfTest {
    pub fn wanted(wanted: bool) -> Self {
        Self(AtomicBool::new(!wanted))
    }

    pub fn is_passed(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Tests a project until it passes.
pub async fn until_passed(project: Arc<Project>, house: Arc<House>, stop: CancellationToken) {
    for origin in TRANSPORTS {
        while !project.self_test.is_passed() {
            let pause = match project.fault_before_the_test() {
                Some(_) => PAUSE,
                None if is_refused(attempt(&project, origin, &house).await) => break,
                None => {
                    tracing::error!(project = %project.id, %origin, "self-test: a forbidden call was not refused and recorded");
                    AFTER_A_FAILURE
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => return,
            }
        }
    }
    project.self_test.0.store(true, Ordering::Release);
    tracing::info!(project = %project.id, "self-test passed");
}

async fn attempt(project: &Arc<Project>, origin: Origin, house: &House) -> Answer {
    let nobody = Caller {
        project: Arc::clone(project),
        key: KeyId::from_uuid(Uuid::nil()),
        agent: AgentId::from_uuid(Uuid::nil()),
        principal: None,
        session: None,
    };
    let received = Received {
        caller: nobody,
        origin,
        provider: None,
        asked: Asked::ControlVerb,
        wants: Wants::Reference,
        manner: Manner::Repeat,
        round: None,
        reopened: None,
        given_up: CancellationToken::new(),
    };
    pipeline::run(received, house).await
}

/// The reference in an answer comes from a receipt that was checked.
fn is_refused(answer: Answer) -> bool {
    let reference = answer.receipt.and_then(|text| serde_json::from_str::<ReceiptRef>(&text).ok());
    reference.is_some_and(|reference| reference.verdict == Verdict::Deny)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Behaviour, World};
    use serde_json::json;
    use std::time::Duration;

    // One refusal a transport, before anybody is let in.
    #[tokio::test]
    async fn a_gateway_is_ready_once_a_forbidden_call_was_refused_and_recorded_on_each_transport() {
        let world = World::with(|config| config.self_test = Some(true)).await;

        let decisions = world.decisions();

        let origins: Vec<_> = decisions.iter().map(|decision| &decision["origin"]).collect();
        assert_eq!(origins, [&json!("mcp"), &json!("stdio")]);
        for decision in &decisions {
            assert_eq!((&decision["verdict"], &decision["reason"]), (&json!("DENY"), &json!("control_verb")));
            assert_eq!(decision["agent"], "agt_00000000000000000000000000000000");
        }
        assert!(world.provider_log().is_empty());
    }

    // G4: what cannot record does not say that it is ready.
    #[tokio::test]
    async fn a_gateway_that_cannot_record_a_refusal_is_not_ready() {
        let test = |config: &mut crate::Config| config.self_test = Some(true);
        let world = World::unready_beside(Behaviour::Forging, test).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(world.host.get("/readyz").await.status, 503);

        world.ledger.behave(Behaviour::Sound);

        world.host.wait_until_ready().await;
    }
}
