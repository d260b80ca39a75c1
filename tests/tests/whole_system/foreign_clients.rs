//! Unmodified clients through the gateway to an unmodified server: list, an allowed call, a denied one, a held one.

use super::world::World;
use counterfoil_tests::foreign::Language;
use serde_json::{Value, json};

// Upholds P1, P7, G1, G2, G3, G4.
#[test]
fn a_node_client_is_governed_and_every_receipt_verifies() {
    governs(Language::Node, "2025-11-25");
}

// Upholds P1, P7, G1, G2, G3, G4.
#[test]
fn a_python_client_is_governed_and_every_receipt_verifies() {
    governs(Language::Python, "2026-07-28");
}

fn governs(language: Language, revision: &str) {
    let world = World::start();
    let before = world.digest_of_files();
    let plan = json!({
        "url": world.deployment.mcp_url("files"),
        "key": world.deployment.api_key,
        "calls": {
            "allowed": { "tool": "read_text_file", "arguments": { "path": world.file("hello.txt") }, "full": true },
            "referred": { "tool": "read_text_file", "arguments": { "path": world.file("hello.txt") } },
            "denied": { "tool": "write_file", "arguments": { "path": world.file("kept.txt"), "content": "gone" }, "full": true },
            "held": { "tool": "list_directory", "arguments": { "path": world.files() }, "full": true },
            "unclassified": { "tool": "move_file", "full": true,
                "arguments": { "source": world.file("kept.txt"), "destination": world.file("moved.txt") } },
        },
    });

    let said = language.run("client", &plan).expect("the client runs");

    assert_eq!(said["revision"], revision);
    let tools = said["tools"].as_array().expect("a list of tools");
    assert!(tools.contains(&json!("read_text_file")) && tools.contains(&json!("write_file")), "{tools:?}");
    let answers = &said["answers"];
    let result = |name: &str| &answers[name]["result"];
    assert_eq!(text(result("allowed")), "hello from outside\n");
    assert_ne!(result("allowed")["isError"], true);
    for (name, word) in [
        ("denied", "Denied, not executed"),
        ("held", "Held, not executed"),
        ("unclassified", "Held, not executed"),
    ] {
        assert_eq!(result(name)["isError"], true, "{name}");
        assert!(text(result(name)).starts_with(word), "{name}: {}", text(result(name)));
    }
    assert_eq!(world.digest_of_files(), before, "a call that was not allowed changed the folder");

    let verdicts = [
        ("allowed", "ALLOW", "rule"),
        ("denied", "DENY", "rule"),
        ("held", "STEP_UP", "no_rule"),
        ("unclassified", "STEP_UP", "unknown_tool"),
    ];
    for (name, verdict, reason) in verdicts {
        let full = &result(name)["_meta"]["dev.counterfoil/receipt"];
        assert_eq!(full["typ"], "receipt-full/v1", "{name}");
        let payload = &full["receipt"]["statement"]["payload"];
        assert_eq!((&payload["verdict"], &payload["reason"]), (&json!(verdict), &json!(reason)), "{name}");
        world.receipt_verifies(&full["receipt"]);
    }
    reference_leads_to_its_receipt(&world, &result("referred")["_meta"]["dev.counterfoil/receipt"]);
    assert!(world.every_receipt_verifies() > 10);
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

fn reference_leads_to_its_receipt(world: &World, reference: &Value) {
    assert_eq!(reference["typ"], "receipt-ref/v1");
    let seq = reference["seq"].as_u64().expect("a place");
    let receipt: Value =
        serde_json::from_slice(&world.deployment.receipt(seq).expect("a receipt")).expect("JSON");
    assert_eq!(receipt["statement"]["payload"]["action"], reference["action"]);
    assert_eq!(receipt["entry"]["body"], reference["digest"]);
}
