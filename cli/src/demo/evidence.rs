//! What is made of it all: a disagreement that nobody can hide, and a package that an auditor verifies alone.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use counterfoil_core::envelope::Signed;
use counterfoil_core::key::{self, SigningKey};
use counterfoil_core::nonce::Nonce16;
use counterfoil_core::statement::{Decision, Execution, ExecutionType, Outcome, Verdict};
use serde_json::Value;

use super::Shown;
use super::scene::Scene;
use crate::package::fetch::{Wanted, fetch};
use crate::package::{Brought, pinned, verify};

/// Findings are made by a follower, moments after their cause.
const PATIENCE: Duration = Duration::from_secs(60);
const UNANCHORED: u8 = 10;

impl Scene {
    /// Somebody who holds no key of the provider says that it executed the denied call.
    pub async fn a_forged_statement_becomes_a_finding(&self) -> Shown {
        let denied = self.seen.iter().find(|reference| reference.verdict == Verdict::Deny);
        let denied = denied.context("nothing was denied")?;
        let receipt: Value =
            serde_json::from_slice(&fs::read(self.kept().join(format!("{}.json", denied.seq)))?)?;
        let decision: Decision = serde_json::from_value(receipt["statement"]["payload"].clone())?;
        let provider = decision.provider.context("the denied call named a provider")?;
        let forged = Execution {
            typ: ExecutionType::V1,
            iss: provider.clone(),
            project: decision.project,
            action: decision.action,
            provider,
            tool: decision.tool.context("the denied call named a tool")?,
            decision: denied.digest,
            capability: None,
            args: None,
            outcome: Outcome::Executed,
            result: None,
            error_code: None,
            charged: None,
            started_at: None,
            executed_at: decision.at,
            nonce: Nonce16::from_bytes([0; 16]),
            seen: None,
        };
        // A key that nobody imported.
        let forger = SigningKey::<key::Execution>::from_seed(&[0x66; 32]);
        let statement = Signed::sign(forged, &forger).bytes().to_vec();
        let url = format!("{}/v1/executions", self.evidence_url);
        let sent = self.http.post(url).header("content-type", "application/json").body(statement);
        let answer: Value = sent.send().await?.error_for_status()?.json().await?;
        ensure!(answer["signature_valid"] == false, "a forged signature counted: {answer}");
        let seq = answer["seq"].as_u64().context("it has a place in the record")?;
        let code = self.finding_after(seq).await?;
        Ok(format!(
            "a forged statement about entry {} is entry {seq}, and {code} beside it for good",
            denied.seq
        ))
    }

    /// The code of the first finding behind a place in the record.
    async fn finding_after(&self, seq: u64) -> anyhow::Result<String> {
        let began = Instant::now();
        let mut next = seq + 1;
        while began.elapsed() < PATIENCE {
            let answer = self.http.get(format!("{}/v1/receipts/{next}", self.evidence_url)).send().await?;
            if answer.status().as_u16() != 200 {
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
            let receipt: Value = answer.json().await?;
            let payload = &receipt["statement"]["payload"];
            if payload["typ"] == "finding/v1" {
                return Ok(payload["code"].as_str().unwrap_or_default().to_owned());
            }
            next += 1;
        }
        bail!("no finding came within {} s", PATIENCE.as_secs())
    }

    /// Everything above in one file, verified and evaluated again with nothing but what was pinned and kept.
    pub async fn the_package_verifies_offline(&self) -> Shown {
        let kept = self.kept();
        let file = kept.join("package.zip");
        let wanted = Wanted { from: 0, with_rules: true, public: false };
        let fetched = fetch(&self.http, &self.evidence_url, wanted, &file, |_| ()).await?;
        let keys = pinned(&kept.join("trust.json"), &[])?;
        let brought = Brought {
            since: None,
            held: vec![kept.clone()],
            disclosure_key: Some(self.folder.disclosure_key()),
        };

        let outcome = verify(&file, &keys, &brought)?;

        ensure!(outcome.exit_code() == UNANCHORED, "{}", outcome.lines());
        let (findings, agreed) = outcome.found_and_agreed();
        ensure!(findings > 0, "the finding is not in the package");
        ensure!(agreed as usize >= self.seen.len(), "{agreed} decisions were evaluated again");
        Ok(format!(
            "{} entries, {findings} finding, {agreed} decisions evaluated again: exit {}, {}",
            fetched.entries,
            outcome.exit_code(),
            outcome.headline()
        ))
    }
}
