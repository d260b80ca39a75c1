//! C1: no fresh capability for exactly this call, no execution.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use counterfoil_core::capability::call_hash;
use counterfoil_core::json::canonical;
use counterfoil_core::key::{Capability, Decision, Jwk, JwkSet, Purpose, SigningKey};
use counterfoil_core::statement::Environment;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const ISSUER: &str = "https://gw.example/p/7-k3m9q2v8";
const AUDIENCE: &str = "urn:counterfoil:7-k3m9q2v8:notes";

struct Scene {
    folder: TempDir,
    provider: Provider,
    key: SigningKey<Capability>,
}

/// A provider whose pinned key set holds one capability key and one decision key.
fn guarded() -> Scene {
    let folder = TempDir::new().unwrap();
    let key = SigningKey::<Capability>::from_seed(&[0x12; 32]);
    let decision = SigningKey::<Decision>::from_seed(&[0x11; 32]);
    let set = JwkSet {
        iss: ISSUER.parse().unwrap(),
        keys: vec![
            Jwk::new(key.public(), Purpose::Capability),
            Jwk::new(decision.public(), Purpose::Decision),
        ],
    };
    let jwks = folder.path().join("gateway-jwks.json");
    fs::write(&jwks, serde_json::to_vec(&set).unwrap()).unwrap();
    let pinned =
        Pinned { issuer: ISSUER.parse().unwrap(), audience: AUDIENCE.to_owned(), env: Environment::Live };
    let guard = Guard::new(pinned, KeySource::File(jwks));
    let provider = Provider::new(folder.path(), &folder.path().join("log"), Some(guard)).unwrap();
    Scene { folder, provider, key }
}

fn write_arguments() -> Value {
    json!({ "path": "/notes/a.txt", "text": "hello" })
}

fn seconds() -> i64 {
    clock::now().millis() / 1000
}

fn claims() -> Value {
    let iat = seconds();
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "somebody", "jti": "WlpaWlpaWlpaWlpaWlpaWg",
        "iat": iat, "nbf": iat - 5, "exp": iat + 30,
        "txn": "act_019355a0c1007000800000000000b001",
        "dec": "sha256:5fc42a0b12650449dcfb7310c16ebb52bb64eadbcfd75da4e5ac8049132dcac7",
        "env": "live", "gen": 3, "os": "EIiJJtA4kt3i9xxgGwUUaA",
        "call": {
            "m": "tools/call", "t": "note_write",
            "h": call_hash(AUDIENCE, "tools/call", "note_write", &write_arguments(), None),
        },
    })
}

fn token(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> [u8; 64]) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(canonical(value));
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

impl Scene {
    fn header(&self) -> Value {
        json!({ "alg": "EdDSA", "typ": "toolcap+jwt", "kid": self.key.kid() })
    }

    fn token(&self, claims: &Value) -> String {
        token(&self.header(), claims, |bytes| self.key.sign(bytes))
    }

    async fn write(&mut self, token: Option<&str>) -> Value {
        self.call("note_write", write_arguments(), token).await
    }

    async fn call(&mut self, tool: &str, arguments: Value, token: Option<&str>) -> Value {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Some(token) = token {
            params["_meta"] = json!({ "dev.counterfoil/capability": token });
        }
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.provider.answer(request.to_string().as_bytes()).await.unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Nothing ran, and the provider says why.
    async fn refuses(&mut self, token: Option<&str>, reason: &str) {
        let answer = self.write(token).await;

        assert_eq!(answer["error"]["data"]["reason"], reason, "{answer}");
        assert_eq!(answer["error"]["code"], REFUSED);
        assert!(!self.folder.path().join("notes/a.txt").exists());
        assert_eq!(self.log(), "");
    }
}

#[tokio::test]
async fn a_call_with_a_fresh_capability_runs_once_and_is_written_down() {
    let mut scene = guarded();
    let token = scene.token(&claims());

    let first = scene.write(Some(&token)).await;
    let second = scene.write(Some(&token)).await;

    assert_eq!(first["result"]["isError"], false, "{first}");
    assert_eq!(second["error"]["data"]["reason"], "capability_used");
    assert_eq!(fs::read_to_string(scene.folder.path().join("notes/a.txt")).unwrap(), "hello");
    let lines: Vec<Value> = scene.log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["action"], "act_019355a0c1007000800000000000b001");
    assert_eq!(lines[0]["arguments"], write_arguments());
}

/// P3: what ran is stated; what was refused is not, and neither is what nobody decided.
#[tokio::test]
async fn an_executed_call_carries_the_providers_own_statement() {
    let mut scene = guarded();
    let key = SigningKey::from_seed(&[0x21; 32]);
    let project = "prj_019355a0c0007000800000000000a001".parse().unwrap();
    let accepted = scene.folder.path().join("accepted");
    let witness = Witness::new(key, project, "notes".parse().unwrap(), &accepted).unwrap();
    scene.provider = scene.provider.stating(witness);
    let token = scene.token(&claims());

    let ran = scene.write(Some(&token)).await;
    let replayed = scene.write(Some(&token)).await;

    let said = &ran["result"]["_meta"][EXECUTION]["payload"];
    assert_eq!((&said["tool"], &said["outcome"]), (&json!("note_write"), &json!("EXECUTED")));
    assert_eq!(said["decision"], claims()["dec"]);
    assert_eq!(replayed["error"]["data"], json!({ "reason": "capability_used" }));
}

#[tokio::test]
async fn a_call_without_a_capability_is_refused() {
    guarded().refuses(None, "capability_missing").await;
}

#[tokio::test]
async fn a_capability_with_any_other_claim_is_refused() {
    let late = seconds() - 300;
    for (reason, change) in [
        ("capability_issuer", json!({ "iss": "https://gw.example/p/8-k3m9q2v8" })),
        ("capability_audience", json!({ "aud": "urn:counterfoil:7-k3m9q2v8:mail" })),
        ("capability_environment", json!({ "env": "test" })),
        ("capability_time", json!({ "iat": late, "nbf": late - 5, "exp": late + 30 })),
        ("capability_time", json!({ "iat": seconds() + 60, "exp": seconds() + 90 })),
        ("capability_time", json!({ "nbf": seconds() + 60 })),
        ("capability_time", json!({ "exp": seconds() + 61 + 30 })),
        ("capability_unsupported", json!({ "adv": true })),
        ("capability_unsupported", json!({ "cnf": { "jkt": "x" } })),
        ("capability_malformed", json!({ "surprise": 1 })),
        ("capability_malformed", json!({ "aud": [AUDIENCE] })),
        ("capability_malformed", json!({ "exp": null })),
        ("capability_tool", json!({ "call": { "m": "tools/call", "t": "note_delete", "h": "" } })),
        ("capability_tool", json!({ "call": { "m": "tools/list", "t": "note_write", "h": "" } })),
        ("capability_arguments", json!({ "call": { "m": "tools/call", "t": "note_write", "h": "" } })),
    ] {
        let mut scene = guarded();
        let mut claims = claims();
        for (name, value) in change.as_object().unwrap() {
            claims[name] = value.clone();
        }

        let token = scene.token(&claims);

        scene.refuses(Some(&token), reason).await;
    }
}

#[tokio::test]
async fn a_capability_for_other_arguments_is_refused() {
    let mut scene = guarded();
    let token = scene.token(&claims());

    let arguments = json!({ "path": "/notes/b.txt", "text": "hello" });
    let answer = scene.call("note_write", arguments, Some(&token)).await;

    assert_eq!(answer["error"]["data"]["reason"], "capability_arguments");
    assert_eq!(scene.log(), "");
}

#[tokio::test]
async fn a_capability_with_another_header_is_refused() {
    let kid = guarded().key.kid().to_string();
    for header in [
        json!({ "alg": "none", "typ": "toolcap+jwt", "kid": kid }),
        json!({ "alg": "Ed25519", "typ": "toolcap+jwt", "kid": kid }),
        json!({ "alg": "EdDSA", "typ": "JWT", "kid": kid }),
        json!({ "alg": "EdDSA", "typ": "toolcap+jwt", "kid": kid, "jku": "https://evil.example" }),
        json!({ "alg": "EdDSA", "typ": "toolcap+jwt" }),
    ] {
        let mut scene = guarded();
        let token = token(&header, &claims(), |bytes| scene.key.sign(bytes));

        scene.refuses(Some(&token), "capability_header").await;
    }
}

#[tokio::test]
async fn a_capability_signed_by_another_key_is_refused() {
    let stranger = SigningKey::<Capability>::from_seed(&[9; 32]);
    let decision = SigningKey::<Decision>::from_seed(&[0x11; 32]);
    let header = |kid: &str| json!({ "alg": "EdDSA", "typ": "toolcap+jwt", "kid": kid });

    let mut scene = guarded();
    let unknown = token(&header(&stranger.kid().to_string()), &claims(), |bytes| stranger.sign(bytes));
    scene.refuses(Some(&unknown), "capability_key").await;

    // The kid is right and the signature is not.
    let forged = token(&scene.header(), &claims(), |bytes| stranger.sign(bytes));
    scene.refuses(Some(&forged), "capability_signature").await;

    // A key of the same gateway with another purpose.
    let by_decision_key =
        token(&header(&decision.kid().to_string()), &claims(), |bytes| decision.sign(bytes));
    scene.refuses(Some(&by_decision_key), "capability_key").await;
}

#[tokio::test]
async fn a_token_that_is_none_is_refused() {
    let mut scene = guarded();
    scene.refuses(Some(""), "capability_malformed").await;
    scene.refuses(Some("a.b"), "capability_malformed").await;
    scene.refuses(Some("a.b.c.d"), "capability_malformed").await;
    scene.refuses(Some(&"a".repeat(4097)), "capability_too_long").await;
}

#[tokio::test]
async fn a_capability_from_before_a_kill_is_refused() {
    let mut scene = guarded();
    let mut later = claims();
    later["gen"] = json!(4);
    later["jti"] = json!("AAAAAAAAAAAAAAAAAAAAAA");
    let (later, earlier) = (scene.token(&later), scene.token(&claims()));

    assert_eq!(scene.write(Some(&later)).await["result"]["isError"], false);
    let answer = scene.write(Some(&earlier)).await;

    assert_eq!(answer["error"]["data"]["reason"], "capability_killed");
}

#[tokio::test]
async fn a_key_set_that_cannot_be_read_is_a_no() {
    let mut scene = guarded();
    let token = scene.token(&claims());
    fs::write(scene.folder.path().join("gateway-jwks.json"), "{}").unwrap();

    scene.refuses(Some(&token), "capability_key").await;
}

#[tokio::test]
async fn a_note_outside_the_folder_is_out_of_reach() {
    let folder = TempDir::new().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "hidden").unwrap();
    let provider = Provider::new(&folder.path().join("sandbox"), &folder.path().join("log"), None).unwrap();
    std::os::unix::fs::symlink(folder.path(), folder.path().join("sandbox/notes/out")).unwrap();
    let mut scene = Scene { folder, provider, key: SigningKey::from_seed(&[0x12; 32]) };

    for path in
        ["/notes/../../secret", "/notes/out/secret", "/etc/passwd", "notes/a", "/notes/./..", "/notesecret"]
    {
        for tool in ["note_read", "note_write", "note_delete", "note_list"] {
            let answer = scene.call(tool, json!({ "path": path, "text": "x" }), None).await;

            assert_eq!(answer["result"]["isError"], true, "{tool} {path}: {answer}");
        }
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "hidden");
}

#[tokio::test]
async fn notes_are_written_listed_read_and_deleted_and_letters_kept() {
    let folder = TempDir::new().unwrap();
    let provider = Provider::new(folder.path(), &folder.path().join("log"), None).unwrap();
    let mut scene = Scene { folder, provider, key: SigningKey::from_seed(&[0x12; 32]) };
    let said = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();

    let path = json!({ "path": "/notes/drafts/a.txt", "text": "hello" });
    assert_eq!(
        said(&scene.call("note_write", path.clone(), None).await),
        "wrote 5 bytes to /notes/drafts/a.txt"
    );
    assert_eq!(said(&scene.call("note_read", path.clone(), None).await), "hello");
    assert_eq!(said(&scene.call("note_list", json!({ "path": "/notes" }), None).await), "drafts/");
    assert_eq!(said(&scene.call("note_delete", path.clone(), None).await), "deleted /notes/drafts/a.txt");
    assert_eq!(scene.call("note_read", path, None).await["result"]["isError"], true);
    let letter = json!({ "to": "a@example\nBcc: b@example", "subject": "s", "text": "t" });
    assert_eq!(said(&scene.call("mail_send", letter, None).await), "sent as 0001.eml");
    let kept = fs::read_to_string(scene.folder.path().join("outbox/0001.eml")).unwrap();
    assert_eq!(kept, "To: a@example Bcc: b@example\nSubject: s\n\nt\n");
    assert_eq!(scene.log().lines().count(), 6);
}

#[tokio::test]
async fn a_conversation_over_lines_is_answered_in_order() {
    let folder = TempDir::new().unwrap();
    let mut provider = Provider::new(folder.path(), &folder.path().join("log"), None).unwrap();
    let input = concat!(
        r#"{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        "\n{\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nothing"}}"#,
        "\n",
    );

    let mut output = Vec::new();
    provider.serve(input.as_bytes(), &mut output).await.unwrap();

    let answers: Vec<Value> = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0]["error"]["code"], -32601);
    assert_eq!(answers[1]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[2]["result"]["tools"].as_array().unwrap().len(), 5);
    assert_eq!(answers[3]["error"]["code"], -32700);
    assert_eq!(answers[4]["error"]["code"], -32602);
}

/// The published token, made by another program, at the time of its call.
#[tokio::test]
async fn the_published_token_opens_its_call_and_no_other() {
    let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vectors/capability/note_write.json");
    let vector: Value = serde_json::from_slice(&fs::read(vector).unwrap()).unwrap();
    let folder = TempDir::new().unwrap();
    let jwks = folder.path().join("jwks.json");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/vectors/jwks.json"), &jwks).unwrap();
    let text = |member: &str| vector["claims"][member].as_str().unwrap().to_owned();
    let guard = || {
        let pinned =
            Pinned { issuer: text("iss").parse().unwrap(), audience: text("aud"), env: Environment::Live };
        Guard::new(pinned, KeySource::File(jwks.clone()))
    };
    let iat = vector["claims"]["iat"].as_i64().unwrap();
    let at = counterfoil_core::time::Timestamp::from_millis(iat * 1000).unwrap();
    let params = json!({ "_meta": { "dev.counterfoil/capability": vector["token"] } });
    let mut arguments = vector["call_document"]["a"].clone();

    let spent = guard().spend(&params, "note_write", &arguments, at).await.unwrap();
    assert_eq!(spent.jti.to_string(), text("jti"));

    let late = guard().spend(&params, "note_write", &arguments, at.plus_millis(35_000)).await;
    assert!(matches!(late, Err(guard::Refusal::Time(_))));

    arguments["n"] = json!(4);
    let changed = guard().spend(&params, "note_write", &arguments, at).await;
    assert!(matches!(changed, Err(guard::Refusal::OtherArguments)));
}
