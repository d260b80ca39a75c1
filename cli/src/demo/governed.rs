//! What a person does about calls: says yes to one, and to its kind for half an hour; stops everything.

use std::fs;

use anyhow::{Context, ensure};
use counterfoil_core::receipt::ReceiptRef;
use counterfoil_core::statement::{Say, Verdict};
use counterfoil_evidence::config::Config;
use counterfoil_evidence::setup::{Attested, Setup, Shown as WhichHolds};
use serde_json::{Value, json};

use super::Shown;
use super::checks::{BETWEEN, TRIES};
use super::scene::{Scene, WELCOME, place, text};
use crate::deployment::founding::OPERATOR;
use crate::deployment::source::demo_sandbox;

/// The call that the demo has held.
pub(super) fn letter(to: &str, text: &str) -> Value {
    json!({ "to": to, "subject": "hello", "text": text })
}

pub(super) const SOMEBODY: &str = "somebody@example.org";

impl Scene {
    /// The letter that was held is sent once after one yes, and then asked about again.
    pub async fn a_held_call_goes_out_once_it_is_approved(&mut self) -> Shown {
        self.answer_the_newest(Say::ApproveOnce, None).await?;
        let (result, sent) = self.call("mail_send", letter(SOMEBODY, "hello")).await?;
        ensure!(sent.verdict == Verdict::Allow, "verdict {}: {}", sent.verdict, text(&result));
        ensure!(self.letters()? == 1, "{} letters were sent", self.letters()?);
        let (_, again) = self.call("mail_send", letter(SOMEBODY, "hello")).await?;
        ensure!(again.verdict == Verdict::StepUp, "one yes was used twice: {}", again.verdict);
        Ok(format!("approved once and repeated: {}; repeated once more: {}", place(&sent), place(&again)))
    }

    /// A yes for half an hour lets the next letter to the same address pass, and none to another.
    pub async fn a_grant_lets_the_next_call_pass(&mut self) -> Shown {
        self.answer_the_newest(Say::ApproveFor, Some(30)).await?;
        let passed = self.until("mail_send", letter(SOMEBODY, "another"), Verdict::Allow).await?;
        let (_, other) = self.call("mail_send", letter("else@example.org", "hello")).await?;
        ensure!(
            other.verdict == Verdict::StepUp,
            "a grant for one address served another: {}",
            other.verdict
        );
        ensure!(self.letters()? == 2, "{} letters were sent", self.letters()?);
        Ok(format!(
            "30 minutes for one address, the next call: {}; another address: {}",
            place(&passed),
            place(&other)
        ))
    }

    /// From the commit of a kill nothing is allowed any more, whatever was allowed before.
    pub async fn a_kill_refuses_everything(&mut self) -> Shown {
        let by = Attested { behalf: OPERATOR, reason: Some("The demo stops everything.") };
        self.setup().await?.kill(self.project, by).await?;
        let (result, refused) = self.call("note_read", json!({ "path": WELCOME })).await?;
        ensure!(refused.verdict == Verdict::Deny, "verdict {}: {}", refused.verdict, text(&result));
        let (_, granted) = self.call("mail_send", letter(SOMEBODY, "after the kill")).await?;
        ensure!(granted.verdict == Verdict::Deny, "a grant outlived a kill: {}", granted.verdict);
        Ok(format!("what a rule allows: {}; what was granted: {}", place(&refused), place(&granted)))
    }

    async fn setup(&self) -> anyhow::Result<Setup> {
        Ok(Setup::open(&Config::from_file(&self.folder.evidence_config())?).await?)
    }

    /// As somebody on this machine, who has looked at the card.
    async fn answer_the_newest(&self, say: Say, minutes: Option<u32>) -> anyhow::Result<()> {
        let setup = self.setup().await?;
        let open = setup.holds(self.project, WhichHolds::Open, 1).await?;
        let held = open.first().context("nothing is held")?;
        let seen = (held.decision, held.card_digest);
        setup.answer_hold(self.project, held.hold, seen, (say, minutes), OPERATOR).await?;
        Ok(())
    }

    /// The same call until the gateway has heard what changed.
    async fn until(&mut self, tool: &str, arguments: Value, verdict: Verdict) -> anyhow::Result<ReceiptRef> {
        let mut said = String::new();
        for _ in 0..TRIES {
            let (result, reference) = self.call(tool, arguments.clone()).await?;
            if reference.verdict == verdict {
                return Ok(reference);
            }
            said = text(&result).to_owned();
            tokio::time::sleep(BETWEEN).await;
        }
        anyhow::bail!("{tool}: {said}")
    }

    fn letters(&self) -> anyhow::Result<usize> {
        Ok(fs::read_dir(demo_sandbox(&self.folder).join("outbox"))?.count())
    }
}
