//! What can be checked once the calls are done: by the receipts alone, and at the provider's own door.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use counterfoil_core::envelope::Envelope;
use counterfoil_core::execution::Submitted;
use counterfoil_core::key::{JwkSet, Purpose};
use counterfoil_core::receipt::{Receipt, Refusal, Trust, verify};
use counterfoil_core::statement::{Outcome, Statement, Verdict};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::Shown;
use super::scene::Scene;
use crate::deployment::source::demo_key;
use crate::provider::statement::read_key;

pub(super) const TRIES: u32 = 100;
pub(super) const BETWEEN: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
struct Told {
    acceptances: Vec<Accepted>,
}

#[derive(Deserialize)]
struct Accepted {
    seq: u64,
    receipt: Receipt,
}

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

    /// The provider's own statement about the allowed call, out of the record, under the key that it was set up with.
    pub async fn the_provider_signed_what_it_executed(&self) -> Shown {
        let allowed = self.seen.iter().find(|reference| reference.verdict == Verdict::Allow);
        let allowed = allowed.context("nothing was allowed")?;
        let key = read_key(&demo_key(&self.folder))?;
        let address = format!("{}/v1/acceptances", self.gateway_url);
        let mut told = Told { acceptances: Vec::new() };
        // It travels beside the answer, and delays none.
        for _ in 0..TRIES {
            let answer = self.http.get(&address).send().await?.error_for_status()?;
            told = serde_json::from_slice(&answer.bytes().await?)?;
            if !told.acceptances.is_empty() {
                break;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        let [accepted] = told.acceptances.as_slice() else {
            bail!("{} statements of the provider's are in the record", told.acceptances.len());
        };
        let envelope = Envelope::parse(accepted.receipt.statement().as_bytes())?;
        let Statement::Received(received) = envelope.statement()? else { bail!("no wrapped statement") };
        let submitted = Submitted::unwrap(&received)?.context("no execution")?;
        submitted.verify(key.public())?;
        ensure!(received.holds, "the ledger says that the signature does not hold");
        ensure!(submitted.decision() == Some(allowed.digest), "it names another decision");
        ensure!(submitted.outcome() == Outcome::Executed, "it says {}", submitted.outcome());
        Ok(format!("entry {}, under the provider's own key {}", accepted.seq, key.kid()))
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

    /// What a careful holder pins: decision keys from the gateway, ledger and log keys from the evidence service.
    async fn pinned_keys(&self) -> anyhow::Result<JwkSet> {
        let mut pinned = self.key_set(&self.gateway_url, "gateway-jwks.json").await?;
        let evidence = self.key_set(&self.evidence_url, "jwks.json").await?;
        ensure!(pinned.iss == evidence.iss, "the two services speak for different issuers");
        pinned.keys.retain(|key| key.purpose == Purpose::Decision);
        pinned.keys.extend(
            evidence.keys.into_iter().filter(|key| matches!(key.purpose, Purpose::Log | Purpose::Ledger)),
        );
        Ok(pinned)
    }

    async fn key_set(&self, service: &str, name: &str) -> anyhow::Result<JwkSet> {
        let address = format!("{service}{}/{name}", self.page_path);
        let answer = self.http.get(&address).send().await?.error_for_status()?;
        JwkSet::parse(&answer.bytes().await?).with_context(|| address)
    }
}
