//! What can be checked once the calls are done: by the receipts alone, and at the provider's own door.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use counterfoil_core::key::{JwkSet, Purpose};
use counterfoil_core::receipt::{Refusal, Trust, verify};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::Shown;
use super::scene::Scene;

impl Scene {
    /// Fetches receipts and keys, keeps them as files, and verifies what the files say.
    pub async fn receipts_verify_offline(&self) -> Shown {
        let kept = self.kept();
        fs::create_dir_all(&kept)?;
        fs::write(kept.join("trust.json"), serde_json::to_vec_pretty(&self.pinned_keys().await?)?)?;
        for reference in &self.seen {
            let address = format!("{}/v1/receipts/{}", self.evidence_url, reference.seq);
            let answer = self.http.get(address).send().await?.error_for_status()?;
            fs::write(kept.join(format!("{}.json", reference.seq)), answer.bytes().await?)?;
        }

        let trust = Trust::from_jwks(&fs::read(kept.join("trust.json"))?)?;
        for reference in &self.seen {
            let receipt = fs::read(kept.join(format!("{}.json", reference.seq)))?;
            let verified = verify(&receipt, &trust).with_context(|| format!("entry {}", reference.seq))?;
            ensure!(verified.digest == reference.digest, "entry {} holds another decision", reference.seq);
            ensure!(verified.verdict() == Some(reference.verdict), "entry {} says otherwise", reference.seq);
        }
        Ok(format!("{} receipts against {}", self.seen.len(), kept.join("trust.json").display()))
    }

    /// Every receipt with one character of its agent's id changed.
    pub fn a_changed_receipt_is_refused(&self) -> Shown {
        let trust = Trust::from_jwks(&fs::read(self.kept().join("trust.json"))?)?;
        for reference in &self.seen {
            let receipt = fs::read(self.kept().join(format!("{}.json", reference.seq)))?;
            let mut receipt: Value = serde_json::from_slice(&receipt)?;
            let agent = receipt["statement"]["payload"]["agent"].as_str().context("no agent")?;
            let last = if agent.ends_with('0') { '1' } else { '0' };
            let other = format!("{}{last}", &agent[..agent.len() - 1]);
            receipt["statement"]["payload"]["agent"] = json!(other);
            match verify(&serde_json::to_vec(&receipt)?, &trust) {
                Err(Refusal::BadSignature(_)) => {}
                Err(other) => bail!("refused for another reason: {other}"),
                Ok(_) => bail!("entry {} was accepted with another agent", reference.seq),
            }
        }
        Ok("one character changed in each: refused, the signature does not hold".to_owned())
    }

    /// The provider itself, started as the gateway starts it, asked without the gateway.
    pub async fn the_provider_refuses_without_a_capability(&self) -> Shown {
        let (program, arguments) = self.provider.split_first().context("the provider has no command")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut provider = command.spawn()?;
        let mut input = provider.stdin.take().context("the provider has no standard input")?;
        let output = provider.stdout.take().context("the provider has no standard output")?;

        let params = json!({ "name": "note_list", "arguments": { "path": "/notes" } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        input.write_all(format!("{call}\n").as_bytes()).await?;
        input.flush().await?;
        let line = BufReader::new(output).lines().next_line().await?.context("the provider said nothing")?;
        drop(input);
        provider.wait().await?;

        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer["error"]["data"]["reason"] == "capability_missing", "it answered {line}");
        Ok(format!(
            "asked directly, the provider says: {}",
            answer["error"]["message"].as_str().unwrap_or("")
        ))
    }

    /// What a careful holder pins: decision keys from the gateway, log keys from the evidence service.
    async fn pinned_keys(&self) -> anyhow::Result<JwkSet> {
        let mut pinned = self.key_set(&self.gateway_url, "gateway-jwks.json").await?;
        let evidence = self.key_set(&self.evidence_url, "jwks.json").await?;
        ensure!(pinned.iss == evidence.iss, "the two services speak for different issuers");
        pinned.keys.retain(|key| key.purpose == Purpose::Decision);
        pinned.keys.extend(evidence.keys.into_iter().filter(|key| key.purpose == Purpose::Log));
        Ok(pinned)
    }

    async fn key_set(&self, service: &str, name: &str) -> anyhow::Result<JwkSet> {
        let address = format!("{service}{}/{name}", self.page_path);
        let answer = self.http.get(&address).send().await?.error_for_status()?;
        JwkSet::parse(&answer.bytes().await?).with_context(|| address)
    }
}
