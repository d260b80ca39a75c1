//! A whole deployment with the example provider behind its gateway: `counterfoil init`, then `counterfoil dev`.

use counterfoil_sdk::clock;
use counterfoil_sdk::execution::{Signer as _, SigningKey};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

pub const SEED: &str = "2121212121212121212121212121212121212121212121212121212121212121";
/// In milliseconds.
const A_DAY: i64 = 86_400_000;

const REGISTRY: &str = r#"v = 1
[provider.notes]
capability = true
[provider.notes.tool.note_write]
service = "notes"
verb = "update"
nouns = [{ type = "path", at = "/path" }]
operation = "write"
data_class = "operational"
destination = "internal"
magnitude = "single"
reversibility = "costly"
"#;
const RULES: &str = r#"@id("notes-write")
permit (principal, action == Gw::Action::"notes.update", resource in Gw::Path::"/notes")
when { context.now < datetime("DEADLINE") };
"#;

pub struct Deployment {
    child: Child,
    folder: TempDir,
    pub gateway: String,
    pub evidence: String,
    pub page: String,
    pub api_key: String,
    pub project: String,
    env: Vec<(&'static str, String)>,
    client: reqwest::Client,
    session: Option<String>,
}

fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.parent().and_then(Path::parent).expect("target/<profile>/deps").to_owned()
}

fn provider() -> PathBuf {
    target().join("examples/provider")
}

fn counterfoil(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(target().join("counterfoil")).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.expect("cargo build -p counterfoil made the program");
    assert!(output.status.success(), "counterfoil {arguments:?}");
    output.stdout
}

fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port().to_string()
}

fn import_key(file: &str, deployment: &str) {
    let key = SigningKey::from_text(SEED).expect("a key");
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": key.public().x() });
    std::fs::write(file, jwk.to_string()).expect("written");
    let of = ["--dir", deployment, "--file", file, "--fingerprint", key.kid()];
    counterfoil(&[&["keys", "provider", "import", "notes"], &of[..]].concat());
}

impl Deployment {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let [gateway, evidence, internal] = [free_port(), free_port(), free_port()];
        let deployment = path("deployment");
        let place = [
            "--dir",
            &deployment,
            "--gateway-port",
            &gateway,
            "--evidence-port",
            &evidence,
            "--internal-port",
            &internal,
        ];
        let founded: Value =
            serde_json::from_slice(&counterfoil(&[&["init", "--json"], &place[..]].concat())).expect("JSON");
        let text = |name: &str| founded[name].as_str().expect("a text").to_owned();

        import_key(&path("notes.jwk"), &deployment);
        std::fs::create_dir(path("notes")).expect("made");
        let env = vec![
            ("COUNTERFOIL_ISSUER", text("issuer")),
            ("COUNTERFOIL_PROJECT", text("project")),
            ("COUNTERFOIL_GATEWAY", format!("http://127.0.0.1:{gateway}")),
            ("NOTES_FOLDER", path("notes")),
            ("NOTES_KEY", SEED.to_owned()),
        ];
        configure(folder.path(), &env);
        let config = path("counterfoil.toml");
        let child = Command::new(target().join("counterfoil"))
            .args(["dev", "--config", &config])
            .args(place)
            // Nobody answers here, so nobody waits.
            .env("COUNTERFOIL_HOLD_WAIT_MS", "0")
            .stdout(Stdio::null())
            .spawn();
        let issuer = text("issuer");
        let mut world = Self {
            child: child.expect("it starts"),
            gateway: format!("http://127.0.0.1:{gateway}"),
            evidence: format!("http://127.0.0.1:{evidence}"),
            page: issuer[issuer.find("/p/").expect("a page")..].to_owned(),
            api_key: text("api_key"),
            project: text("project"),
            env,
            client: reqwest::Client::builder().no_proxy().build().expect("a client"),
            session: None,
            folder,
        };
        world.ready().await;
        world
    }

    async fn ready(&mut self) {
        for _ in 0..600 {
            assert!(self.child.try_wait().expect("it can be asked").is_none(), "counterfoil dev ended");
            let answer = self.client.get(format!("{}/readyz", self.gateway)).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the gateway is not ready");
    }

    /// One MCP request through the gateway.
    pub async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let mut request = self.client.post(format!("{}/mcp/notes", self.gateway)).bearer_auth(&self.api_key);
        request = request.header("accept", "application/json, text/event-stream").json(&message);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let answer = request.send().await.expect("it answers");
        if let Some(session) = answer.headers().get("mcp-session-id") {
            self.session = session.to_str().ok().map(str::to_owned);
        }
        let text = answer.text().await.expect("to the end");
        let data =
            text.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.contains("\"id\""));
        serde_json::from_str(data.unwrap_or(&text)).expect("JSON")
    }

    /// The text behind a path of the evidence service.
    pub async fn get(&self, path: &str) -> String {
        let request = self.client.get(format!("{}{path}", self.evidence)).bearer_auth(&self.api_key);
        request.send().await.expect("it answers").text().await.expect("to the end")
    }

    /// What the provider wrote down.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join("notes").join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Asked to end, so that it stops its own Postgres.
    pub fn stop(&mut self) {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        if asked.is_ok() {
            let _ended = self.child.wait();
        }
    }

    /// The provider without the gateway, as somebody who goes around it would start it.
    pub async fn around(&self, message: &Value) -> Value {
        let mut command = tokio::process::Command::new(provider());
        let command =
            command.envs(self.env.clone()).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(format!("{message}\n").as_bytes()).await.expect("it listens");
        let line = BufReader::new(child.stdout.take().expect("a pipe")).lines().next_line().await;
        serde_json::from_str(&line.expect("unbroken").expect("a line")).expect("JSON")
    }
}

fn configure(folder: &Path, env: &[(&'static str, String)]) {
    let deadline = clock::now().plus_millis(A_DAY).to_string();
    let deadline = format!("{}Z", deadline.split('.').next().expect("a time"));
    std::fs::write(folder.join("registry.toml"), REGISTRY).expect("written");
    std::fs::write(folder.join("rules.cedar"), RULES.replace("DEADLINE", &deadline)).expect("written");
    // What goes to the provider is kept, so that a test can say it again.
    let provider = provider().display().to_string();
    let command =
        json!(["sh", "-c", "tee -a \"$NOTES_FOLDER/asked.jsonl\" | exec \"$@\"", "provider", provider]);
    let members: Vec<String> = env.iter().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
    let text = format!(
        "registry = \"registry.toml\"\nrules = \"rules.cedar\"\n[provider.notes]\ncommand = {command}\nenv = {{ {} }}\n",
        members.join(", ")
    );
    std::fs::write(folder.join("counterfoil.toml"), text).expect("written");
}

impl Drop for Deployment {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}
