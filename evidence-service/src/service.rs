//! Listeners over one ledger: one for strangers, one for gateways, and where it is configured one for operators.
//!
//! Promised: it binds before it says it is ready, refuses roles and keys that it should not run with, and on
//! shutdown answers what it has begun. Not promised: TLS. A proxy in front ends it; the internal listener belongs on
//! a private network.

mod listener;
mod routers;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config::Config;
use crate::export::Exports;
use crate::health::Readiness;
use crate::holds;
use crate::http::Limiter;
use crate::ledger::Ledger;
use crate::packages::{self, Packages};
use crate::reconciliation::{follow, sweep};
use crate::retention::sweep_hourly;
use crate::setup::{SetupError, open_ledger};

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("`{address}`: {cause}")]
    Bind { address: SocketAddr, cause: std::io::Error },
    #[error("listener: {0}")]
    Listener(#[from] std::io::Error),
}

/// Bound to its addresses, not yet answering.
pub struct Bound {
    public: TcpListener,
    internal: TcpListener,
    public_router: Router,
    internal_router: Router,
    console: Option<(TcpListener, Router)>,
    limiter: Limiter,
    ledger: Arc<Ledger>,
    packages: Packages,
    lease: Duration,
    /// Dropped when the service stops; everything that waits watches it.
    stop: watch::Sender<()>,
}

/// Binds and serves until `shutdown` resolves.
pub async fn serve(
    config: Config,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    bind(config).await?.run(shutdown).await
}

/// Opens keys and database, and binds both listeners.
pub async fn bind(config: Config) -> Result<Bound, ServeError> {
    let ledger = open_ledger(&config).await?;
    let public = listen(config.listen_public).await?;
    let internal = listen(config.listen_internal).await?;
    let packages = Packages::new(Arc::clone(&ledger), config.packages.clone());
    let (stop, stopped) = watch::channel(());
    let exports = Exports::new(Arc::clone(&ledger), stopped);
    let (vendors, by_key) = routers::vendors(&ledger);
    let (public_router, by_peer) =
        routers::public(&config, Arc::clone(&ledger), vendors.clone(), packages.clone(), exports);
    let internal_router = routers::internal(&config, Arc::clone(&ledger), vendors);
    let (console, by_operator) = bind_console(&config, &ledger).await?;
    let limiter: Limiter = Arc::new(move || {
        by_peer();
        by_key();
        by_operator();
    });
    // The restore guard's first look; whoever asks /readyz gets the same answer.
    let readiness = Readiness::of(&ledger).await;
    tracing::info!(ready = readiness.ready, "evidence service bound");
    let lease = Duration::from_secs(config.lease_seconds.max(1).into());
    Ok(Bound {
        public,
        internal,
        public_router,
        internal_router,
        console,
        limiter,
        ledger,
        packages,
        lease,
        stop,
    })
}

impl Bound {
    pub fn public_addr(&self) -> Result<SocketAddr, ServeError> {
        Ok(self.public.local_addr()?)
    }

    pub fn internal_addr(&self) -> Result<SocketAddr, ServeError> {
        Ok(self.internal.local_addr()?)
    }

    /// None where no console is configured.
    pub fn console_addr(&self) -> Result<Option<SocketAddr>, ServeError> {
        Ok(self.console.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?)
    }

    /// Answers until `shutdown` resolves, then finishes what was begun.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), ServeError> {
        let (stopped, stop) = (self.stop.subscribe(), self.stop);
        let auditing = tokio::spawn(audit(Arc::clone(&self.ledger)));
        let sweeping = tokio::spawn(sweep(Arc::clone(&self.ledger), self.lease));
        let expiring = tokio::spawn(holds::sweep(Arc::clone(&self.ledger)));
        let packing = tokio::spawn(packages::work(self.packages));
        let emptying = tokio::spawn(sweep_hourly(Arc::clone(&self.ledger)));
        let following = tokio::spawn(follow(Arc::clone(&self.ledger)));
        let upkeep = tokio::spawn(upkeep(Arc::clone(&self.ledger), self.limiter, stopped.clone()));
        tokio::spawn(async move {
            shutdown.await;
            drop(stop);
        });
        tokio::join!(
            listener::serve(self.public, self.public_router, stopped.clone(), FAREWELL),
            listener::serve(self.internal, self.internal_router, stopped.clone(), FAREWELL),
            serve_console(self.console, stopped),
        );
        auditing.abort();
        sweeping.abort();
        expiring.abort();
        packing.abort();
        emptying.abort();
        following.abort();
        let _ = upkeep.await;
        self.ledger.save_heads().map_err(SetupError::from)?;
        Ok(())
    }
}

async fn bind_console(
    config: &Config,
    ledger: &Arc<Ledger>,
) -> Result<(Option<(TcpListener, Router)>, Limiter), ServeError> {
    let Some(address) = config.listen_console else { return Ok((None, Arc::new(|| ()))) };
    let (router, limiter) = routers::console(config, Arc::clone(ledger));
    Ok((Some((listen(address).await?, router)), limiter))
}

async fn serve_console(console: Option<(TcpListener, Router)>, stopped: watch::Receiver<()>) {
    if let Some((listener, router)) = console {
        listener::serve(listener, router, stopped, FAREWELL).await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|cause| ServeError::Bind { address, cause })
}

async fn gone(mut stopped: watch::Receiver<()>) {
    // Fails when the sender is dropped: that is the signal.
    while stopped.changed().await.is_ok() {}
}

/// A record request waits five seconds for a lock and as long for its commit; a long poll is cut.
const FAREWELL: Duration = Duration::from_secs(5);

/// At boot and every hour.
async fn audit(ledger: Arc<Ledger>) {
    let mut hours = tokio::time::interval(Duration::from_secs(3600));
    loop {
        hours.tick().await;
        if let Err(error) = ledger.audit_all().await {
            tracing::error!(%error, "self-audit");
        }
    }
}

/// Once a second: the heads file; now and then: forgetting quiet peers.
async fn upkeep(ledger: Arc<Ledger>, limiter: Limiter, stopped: watch::Receiver<()>) {
    let mut stopped = std::pin::pin!(gone(stopped));
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    let mut passed: u64 = 0;
    loop {
        tokio::select! {
            () = &mut stopped => return,
            _ = seconds.tick() => {}
        }
        passed += 1;
        let saving = Arc::clone(&ledger);
        let saved = tokio::task::spawn_blocking(move || saving.save_heads()).await;
        if let Ok(Err(error)) = saved {
            tracing::error!(%error, "heads file");
        }
        if passed.is_multiple_of(60) {
            limiter();
        }
    }
}
