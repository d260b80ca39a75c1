//! What an agent tries with what is an operator's.

use crate::testing::{KEY, World, call, read};
use serde_json::json;

const NOTE: &str = r#"{"path":"/notes/a.txt"}"#;

// G6: refused and not held, recorded as what it was, at both addresses and on both transports.
#[tokio::test]
async fn a_call_of_an_operators_verb_is_refused_and_recorded() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    let names = ["approve", "KILL", "holds%2Fapprove", "counterfoil.resume", "breakGlass", "ｇｒａｎｔ"];
    for name in names {
        let reply = host.call(name, NOTE).await;
        assert_eq!(reply.receipt()["verdict"], "DENY", "{name}: {}", reply.text);
        assert!(reply.words().starts_with("Denied, not executed: nothing that decides"), "{}", reply.text);
    }
    let everywhere = world.host.with_key(KEY);
    let opened = read(everywhere.post("/mcp", initialize())).await;
    let everywhere = everywhere.with_session(&opened.session.expect("a session"));
    for name in ["approve", "notes__approve"] {
        let reply = read(everywhere.post("/mcp", call(name, NOTE))).await;
        assert_eq!(reply.receipt()["verdict"], "DENY", "{name}: {}", reply.text);
    }

    let decisions = world.decisions();
    assert_eq!(decisions.len(), names.len() + 2);
    for decision in decisions {
        assert_eq!((&decision["reason"], &decision["tool"]), (&json!("control_verb"), &json!(null)));
        assert_eq!((&decision["verdict"], &decision["effect"]), (&json!("DENY"), &json!("enforced")));
    }
    assert!(world.provider_log().is_empty());
}

// G6
#[tokio::test]
async fn a_method_that_is_an_operators_is_refused_and_recorded() {
    let world = World::new().await;
    let host = world.host.initialize().await;

    for method in ["kill", "holds/approve", "Counterfoil.Policy", "%67rant"] {
        let asked = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": {}}).to_string();
        let reply = host.say(asked).await;
        assert_eq!(reply.error()["code"], -32601, "{method}: {}", reply.text);
        assert_eq!(reply.error()["data"]["dev.counterfoil/receipt"]["verdict"], "DENY", "{}", reply.text);
        let told = json!({"jsonrpc": "2.0", "method": method}).to_string();
        host.say(told).await;
    }
    let harmless = json!({"jsonrpc": "2.0", "id": 3, "method": "resources/list", "params": {}}).to_string();
    host.say(harmless).await;

    let decisions = world.decisions();
    assert_eq!(decisions.len(), 8);
    assert!(decisions.iter().all(|decision| decision["reason"] == "control_verb"));
}

// G6: what a person has published under such a name is a tool like others.
#[tokio::test]
async fn a_published_tool_is_judged_by_the_rules_whatever_it_is_called() {
    let world = World::new().await;
    world.publish(|documents| {
        documents.registry.push_str(
            "\n[provider.notes.tool.grant]\nservice = \"notes\"\nverb = \"read\"\nnouns = [{ type = \"path\", at = \"/path\" }]\n",
        );
    });
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let host = world.host.initialize().await;

    host.call("grant", NOTE).await;

    // Its provider does not list it, so it is nobody's tool; it was not taken for a control verb.
    assert_eq!(world.decisions()[0]["reason"], "no_such_tool");
}

// T3: an operator's token opens nothing where agents ask.
#[tokio::test]
async fn an_operators_token_is_nobody_on_agent_surfaces() {
    let world = World::new().await;
    let operator = world.host.with_key("cfo_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");

    for path in ["/mcp", "/mcp/notes", "/stdio", "/stdio/notes", "/v1/executions"] {
        let reply = read(operator.post(path, call("note_read", NOTE))).await;
        assert_eq!(reply.status, 401, "{path}");
    }

    assert!(world.decisions().is_empty());
}

fn initialize() -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "h", "version": "1"},
    }})
    .to_string()
}
