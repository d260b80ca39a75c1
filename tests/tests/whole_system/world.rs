//! What the tests govern: npm's server-filesystem over a sandbox, and a scripted provider that writes down what it got.

use counterfoil_core::id::ActionId;
use counterfoil_tests::chain::Chain;
use counterfoil_tests::deployment::{Deployment, Plan, Provider};
use counterfoil_tests::foreign::{Language, filesystem_provider, node_provider};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct World {
    pub deployment: Deployment,
    sandbox: TempDir,
}

impl World {
    pub fn start() -> Self {
        let sandbox = tempfile::Builder::new().prefix("counterfoil-sandbox-").tempdir().expect("a sandbox");
        let files = sandbox.path().join("files");
        std::fs::create_dir(&files).expect("a folder");
        std::fs::write(files.join("hello.txt"), "hello from outside\n").expect("a file");
        std::fs::write(files.join("kept.txt"), "this stays\n").expect("a file");
        let plan = plan(&files, &sandbox.path().join("scripted.log"));
        let deployment = Deployment::start(&plan).expect("a deployment starts");
        Self { deployment, sandbox }
    }

    pub fn files(&self) -> PathBuf {
        self.sandbox.path().join("files")
    }

    pub fn file(&self, name: &str) -> String {
        self.files().join(name).display().to_string()
    }

    /// The rules that it began with.
    pub fn rules(&self) -> String {
        RULES.replace("FOLDER", &self.files().display().to_string())
    }

    /// Names and contents of the sandbox.
    pub fn digest_of_files(&self) -> Vec<u8> {
        let mut names: Vec<_> =
            std::fs::read_dir(self.files()).expect("a folder").map(|f| f.expect("a file").path()).collect();
        names.sort();
        let mut hasher = Sha256::new();
        for name in names {
            hasher.update(name.display().to_string());
            hasher.update(std::fs::read(&name).expect("a file"));
        }
        hasher.finalize().to_vec()
    }

    /// Every call that reached the scripted provider, as it arrived.
    pub fn provider_log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.sandbox.path().join("scripted.log")).unwrap_or_default();
        // A line that was cut short by a kill was never answered, so nobody was told of it.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The ledger, checked from its first entry to its head.
    pub fn chain(&self) -> Chain {
        let jwks = self.deployment.jwks().expect("a key set");
        let mut database = self.deployment.database().expect("a database");
        Chain::read(&mut database, &self.deployment.project, &jwks).expect("the chain holds")
    }

    /// Every receipt of the log is fetched and judged by both example programs.
    pub fn every_receipt_verifies(&self) -> usize {
        let folder = tempfile::tempdir().expect("a folder");
        let jwks = folder.path().join("jwks.json");
        std::fs::write(&jwks, self.deployment.jwks().expect("a key set")).expect("written");
        let size = self.chain().links.len();
        for seq in 0..size {
            let file = folder.path().join(format!("{seq}.json"));
            let receipt = self.deployment.receipt(seq as u64).expect("a receipt for every entry");
            std::fs::write(&file, receipt).expect("written");
            verifies(&file, &jwks);
        }
        size
    }

    /// One receipt as a client holds it.
    pub fn receipt_verifies(&self, receipt: &Value) {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, jwks) = (folder.path().join("receipt.json"), folder.path().join("jwks.json"));
        std::fs::write(&file, receipt.to_string()).expect("written");
        std::fs::write(&jwks, self.deployment.jwks().expect("a key set")).expect("written");
        verifies(&file, &jwks);
    }
}

fn verifies(receipt: &Path, jwks: &Path) {
    for language in Language::BOTH {
        let (code, said) = language.verify(receipt, jwks).expect("the example runs");
        assert_eq!(code, Some(0), "{language:?} on {}: {said}", receipt.display());
    }
}

/// The action of a receipt or a reference to one.
pub fn action_of(receipt: &Value) -> ActionId {
    let text = receipt["action"].as_str().unwrap_or_else(|| panic!("no action in {receipt}"));
    text.parse().expect("an action id")
}

fn plan(files: &Path, log: &Path) -> Plan {
    Plan {
        providers: vec![
            Provider { id: "files", reach: filesystem_provider(files).into(), registry: FILES.to_owned() },
            Provider {
                id: "scripted",
                reach: node_provider("scripted.mjs", &[log]).into(),
                registry: SCRIPTED.to_owned(),
            },
        ],
        rules: RULES.replace("FOLDER", &files.display().to_string()),
    }
}

const FILES: &str = r#"
[provider.files.tool.read_text_file]
service = "files"
verb = "read"
nouns = [{ type = "path", at = "/path" }]

[provider.files.tool.write_file]
service = "files"
verb = "update"
nouns = [{ type = "path", at = "/path" }]

[provider.files.tool.list_directory]
service = "files"
verb = "list"
nouns = [{ type = "path", at = "/path" }]
"#;

const SCRIPTED: &str = r#"
capability = true

[provider.scripted.tool.echo]
service = "scripted"
verb = "read"
nouns = [{ type = "tool" }]

[provider.scripted.tool.odd]
service = "scripted"
verb = "read"
nouns = [{ type = "tool" }]

[provider.scripted.tool.slow]
service = "scripted"
verb = "read"
nouns = [{ type = "tool" }]

[provider.scripted.tool.fails]
service = "scripted"
verb = "read"
nouns = [{ type = "tool" }]

[provider.scripted.tool.refuses]
service = "scripted"
verb = "read"
nouns = [{ type = "tool" }]
"#;

// A listing has no rule, so it is held.
const RULES: &str = r#"
@id("files-read")
permit (principal, action == Gw::Action::"files.read", resource in Gw::Path::"FOLDER")
when { context.now < datetime("DEADLINE") };

@id("files-keep")
forbid (principal, action == Gw::Action::"files.update", resource);

@id("scripted-echo")
permit (principal, action == Gw::Action::"scripted.read", resource == Gw::Tool::"scripted/echo")
when { context.now < datetime("DEADLINE") };

@id("scripted-odd")
permit (principal, action == Gw::Action::"scripted.read", resource == Gw::Tool::"scripted/odd")
when { context.now < datetime("DEADLINE") };

@id("scripted-slow")
permit (principal, action == Gw::Action::"scripted.read", resource == Gw::Tool::"scripted/slow")
when { context.now < datetime("DEADLINE") };

@id("scripted-fails")
permit (principal, action == Gw::Action::"scripted.read", resource == Gw::Tool::"scripted/fails")
when { context.now < datetime("DEADLINE") };

@id("scripted-refuses")
permit (principal, action == Gw::Action::"scripted.read", resource == Gw::Tool::"scripted/refuses")
when { context.now < datetime("DEADLINE") };
"#;
