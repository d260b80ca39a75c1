//! What a stranger reads on the page once the calls are done.

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Shown;
use super::checks::{BETWEEN, TRIES};
use super::scene::Scene;

/// Of docs/formats/page.md what is checked here.
#[derive(Deserialize)]
struct Page {
    findings: Findings,
    counts: Counts,
}

#[derive(Deserialize)]
struct Findings {
    open: Listed,
}

#[derive(Deserialize)]
struct Listed {
    count: u64,
}

#[derive(Deserialize)]
struct Counts {
    add_up: bool,
    verdicts: Sum,
    statuses: Sum,
}

#[derive(Deserialize)]
struct Sum {
    parts: Vec<Part>,
    whole: u64,
}

#[derive(Deserialize)]
struct Part {
    code: String,
    words: String,
    count: u64,
}

impl Scene {
    /// The comparison follows the record, so the page is asked until it has reached every decision.
    pub async fn the_page_adds_up(&self) -> Shown {
        for _ in 0..TRIES {
            let page = self.page().await?;
            ensure!(page.counts.add_up, "the counts on the page do not add up");
            if page.counts.statuses.parts.iter().all(|part| part.code != "not_compared") {
                return Ok(page.told());
            }
            tokio::time::sleep(BETWEEN).await;
        }
        anyhow::bail!("the page still says that a decision is not compared")
    }

    async fn page(&self) -> anyhow::Result<Page> {
        let address = format!("{}{}.json", self.evidence_url, self.page_path);
        let answer = self.http.get(&address).send().await?.error_for_status()?;
        answer.json().await.with_context(|| address)
    }
}

impl Page {
    fn told(&self) -> String {
        let parts = |sum: &Sum| {
            let parts: Vec<String> =
                sum.parts.iter().map(|part| format!("{} {}", part.count, part.words)).collect();
            format!("{} = {}", parts.join(" + "), sum.whole)
        };
        let (verdicts, statuses) = (parts(&self.counts.verdicts), parts(&self.counts.statuses));
        format!("{} open findings; decisions: {verdicts}; compared: {statuses}", self.findings.open.count)
    }
}
