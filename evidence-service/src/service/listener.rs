//! One listener: who may connect, how long a peer may take to say what it wants, and an end that answers what it began.
//!
//! Promised: a bounded number of connections, each with a bounded time for each request's head (T8); on stop nothing
//! new is taken, and what is under way is finished within the farewell.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

/// What is open at once; the rest waits in the kernel.
const CONNECTIONS: usize = 2048;
/// For one head, and for silence between two requests: gateways keep their connections and ask every few seconds.
const HEAD_WITHIN: Duration = Duration::from_secs(60);
const LARGEST_HEAD: usize = 32 * 1024;
/// Ends a pause after an error such as too many open files.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until `stop` closes, then waits at most `farewell` for what is under way.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    mut stop: watch::Receiver<()>,
    farewell: Duration,
) {
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&room).acquire_owned().await.expect("nobody closes the semaphore");
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            // Fails when the sender is dropped, and that is the signal.
            Err(_) = stop.changed() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = open.watch(connection(stream, peer, router.clone()));
                tokio::spawn(async move {
                    // How a peer breaks off is its own business.
                    let _ = connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "no connection accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(farewell, open.shutdown()).await;
}

fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send {
    // An answer is one small write; Nagle would hold it back for the next.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request)
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), answer)
}
