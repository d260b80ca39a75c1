//! Both services in this process.
//!
//! Promised: each is ready when its starting returns; stopping goes from the outside in, so that no call is taken that
//! could not be recorded.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::Folder;
use super::ports::Ports;

/// First readiness needs a database connection and one control snapshot.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// One running service. It ends when stopped, or by itself when something is wrong.
pub struct Service {
    name: &'static str,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<anyhow::Result<()>>,
}

impl Service {
    pub async fn evidence(folder: &Folder, ports: &Ports) -> anyhow::Result<Self> {
        let config = counterfoil_evidence::config::Config::from_file(&folder.evidence_config())?;
        let bound = counterfoil_evidence::bind(config).await?;
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(async move { Ok(bound.run(wait(stopped)).await?) });
        let service = Self { name: "evidence service", stop: Some(stop), ended };
        service.ready(&format!("{}/readyz", ports.internal_url())).await
    }

    pub async fn gateway(folder: &Folder, ports: &Ports) -> anyhow::Result<Self> {
        let config = counterfoil_gateway::Config::from_file(&folder.gateway_config())?;
        let bound = counterfoil_gateway::Gateway::bind(config).await?;
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(async move { Ok(bound.run(wait(stopped)).await?) });
        let service = Self { name: "gateway", stop: Some(stop), ended };
        service.ready(&format!("{}/readyz", ports.gateway_url())).await
    }

    /// Returns when the service ends without having been asked to.
    pub async fn failed(&mut self) -> anyhow::Error {
        let name = self.name;
        match (&mut self.ended).await {
            Ok(Ok(())) => anyhow::anyhow!("the {name} ended"),
            Ok(Err(error)) => error.context(format!("the {name} ended")),
            Err(panic) => anyhow::anyhow!("the {name} ended: {panic}"),
        }
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.stop.take());
        self.ended.await.with_context(|| format!("the {} ended badly", self.name))?
    }

    async fn ready(mut self, address: &str) -> anyhow::Result<Self> {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let until = Instant::now() + READY_WITHIN;
        let mut last = "it did not answer".to_owned();
        while Instant::now() < until {
            if self.ended.is_finished() {
                return Err(self.failed().await);
            }
            match client.get(address).send().await {
                Ok(answer) if answer.status().is_success() => return Ok(self),
                Ok(answer) => last = answer.text().await.unwrap_or_default(),
                Err(error) => last = error.to_string(),
            }
            sleep(Duration::from_millis(50)).await;
        }
        bail!("the {} is not ready: {last}", self.name)
    }
}

/// A dropped sender means stop, too.
async fn wait(stopped: oneshot::Receiver<()>) {
    drop(stopped.await);
}
