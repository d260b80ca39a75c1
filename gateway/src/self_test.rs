//! The boot self-test: not ready until, on each transport, a forbidden call was refused and recorded.
//!
//! Promised: a gateway that cannot listen, read, judge, sign, record or check a receipt never says that it is ready. The
//! forbidden call is a control verb, which no registry can make a tool of; it comes over the gateway's own socket, as a
//! host's would, and leaves one DENY `control_verb` a transport, by an agent and a key that no project can have: their ids
//! are all zeros. The key that it comes with was made for it and is nobody's once it has passed.
//! Not promised: that a call would be allowed.

use crate::call::Caller;
use crate::chance;
use crate::house::{House, Project};
use counterfoil_core::digest::Digest;
use counterfoil_core::id::{AgentId, KeyId};
use counterfoil_core::nonce::base64url;
use counterfoil_core::statement::Origin;
use reqwest::{Client, Response, header};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use zeroize::Zeroizing;

/// The transports that a gateway serves, and where.
const TRANSPORTS: [(Origin, &str); 2] = [(Origin::Mcp, "/mcp"), (Origin::Stdio, "/stdio")];
/// Between two looks at whether anything can be judged yet, and after a test that failed.
const PAUSE: Duration = Duration::from_millis(50);
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);
const WITHIN: Duration = Duration::from_secs(10);
const SESSION: &str = "mcp-session-id";

/// Whether a project's test was passed, or is not asked for.
pub struct SelfTest {
    passed: AtomicBool,
    key: Zeroizing<String>,
}

impl SelfTest {
    pub fn wanted(wanted: bool) -> Self {
        let key = format!("cfk_{}", base64url(&chance::bytes::<32>()));
        Self { passed: AtomicBool::new(!wanted), key: Zeroizing::new(key) }
    }

    pub fn is_passed(&self) -> bool {
        self.passed.load(Ordering::Acquire)
    }

    /// Digest of the key that is good for the test, while there is one to pass.
    pub fn key(&self) -> Option<Digest> {
        (!self.is_passed()).then(|| Digest::of(self.key.as_bytes()))
    }
}

/// Who makes the forbidden call.
pub fn nobody(project: &Arc<Project>) -> Caller {
    Caller {
        project: Arc::clone(project),
        key: KeyId::from_uuid(Uuid::nil()),
        agent: AgentId::from_uuid(Uuid::nil()),
        principal: None,
        session: None,
    }
}

/// Tests a project until it passes.
pub async fn until_passed(
    project: Arc<Project>,
    house: Arc<House>,
    address: SocketAddr,
    stop: CancellationToken,
) {
    for (origin, path) in TRANSPORTS {
        while !project.self_test.is_passed() {
            let pause = match project.fault_before_the_test() {
                Some(_) => PAUSE,
                None if is_refused(&project, &house, &format!("http://{}{path}", reached(address))).await => {
                    break;
                }
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
    project.self_test.passed.store(true, Ordering::Release);
    tracing::info!(project = %project.id, "self-test passed");
}

/// Whoever listens everywhere listens here.
fn reached(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// As a host does it: a session, then the call. What the gateway answers with came from a receipt that it checked.
async fn is_refused(project: &Project, house: &House, url: &str) -> bool {
    let attempt = async {
        let client = Client::builder().no_proxy().timeout(WITHIN).build().ok()?;
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "self-test", "version": env!("CARGO_PKG_VERSION")}});
        let opened = post(&client, project, house, url, None, "initialize", hello).await?;
        let session = opened.headers().get(SESSION)?.clone();
        let refused =
            post(&client, project, house, url, Some(session), "counterfoil/kill", json!({})).await?;
        refused.json::<Value>().await.ok()
    };
    let answer = attempt.await.unwrap_or_default();
    answer["error"]["data"]["dev.counterfoil/receipt"]["verdict"] == "DENY"
}

async fn post(
    client: &Client,
    project: &Project,
    house: &House,
    url: &str,
    session: Option<header::HeaderValue>,
    method: &str,
    params: Value,
) -> Option<Response> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = client
        .post(url)
        .bearer_auth(project.self_test.key.as_str())
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header(header::CONTENT_TYPE, "application/json")
        .header("mcp-protocol-version", "2025-11-25")
        .body(message.to_string());
    if let Some(host) = house.names.hosts.iter().next() {
        request = request.header(header::HOST, host);
    }
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    request.send().await.ok()
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

    // T3
    #[test]
    fn the_key_of_the_test_is_nobodys_afterwards() {
        let test = super::SelfTest::wanted(true);
        let other = super::SelfTest::wanted(true);
        assert!(test.key().is_some() && test.key() != other.key());
        test.passed.store(true, std::sync::atomic::Ordering::Release);
        assert_eq!(test.key(), None);
        assert_eq!(super::SelfTest::wanted(false).key(), None);
    }
}
