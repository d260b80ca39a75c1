//! The listener's own bounds: connections, header times, header sizes (T8).
//!
//! Promised: a peer that opens connections and says nothing, or says it one byte at a time, holds a bounded number of
//! them for a bounded time. At the end no new connection is taken, and those under way finish what they answer.

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Whose connection a request came over.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Each costs a few KiB while it is idle; beyond this, new ones wait in the kernel.
const MOST_CONNECTIONS: usize = 4096;
/// From the first byte (or the last answer) to the end of the next head. Hosts keep idle connections for seconds.
const HEAD_WITHIN: Duration = Duration::from_secs(60);
const LARGEST_HEAD: usize = 64 * 1024;
/// After an error such as too many open files, which the next moment may have fewer of.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Serves until `stop`, then waits at most `farewell` for connections to end.
pub async fn serve(listener: TcpListener, router: Router, (stop, farewell): (CancellationToken, Duration)) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Some((stream, peer, place)) = next(&listener, &room, &stop).await {
        // Answers are one small write; waiting to fill a packet would only delay them.
        let _ = stream.set_nodelay(true);
        let answering = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(peer);
            answering.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WITHIN)
            .max_buf_size(LARGEST_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Broken connections are the peers' business.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(farewell, graceful.shutdown()).await;
}

type Place = tokio::sync::OwnedSemaphorePermit;

async fn next(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<(TcpStream, Peer, Place)> {
    loop {
        let accepted = async {
            let place = room.clone().acquire_owned().await.ok()?;
            Some(listener.accept().await.map(|(stream, peer)| (stream, Peer(peer), place)))
        };
        let accepted = tokio::select! {
            accepted = accepted => accepted?,
            () = stop.cancelled() => return None,
        };
        match accepted {
            Ok(next) => return Some(next),
            Err(error) => {
                tracing::warn!(kind = ?error.kind(), "no connection accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    async fn start(
        farewell: Duration,
    ) -> (std::net::SocketAddr, CancellationToken, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(400)).await;
            "done"
        };
        let router = Router::new().route("/slow", get(slow));
        let stop = CancellationToken::new();
        let serving = tokio::spawn(serve(listener, router, (stop.clone(), farewell)));
        (address, stop, serving)
    }

    async fn answer_to(address: std::net::SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        // A head that is refused breaks the pipe.
        let _ = stream.write_all(head.as_bytes()).await;
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text).await;
        text
    }

    #[tokio::test]
    async fn a_stopping_listener_finishes_what_it_answers() {
        let (address, stop, serving) = start(Duration::from_secs(5)).await;
        let head = "GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let asking = tokio::spawn(answer_to(address, head));
        tokio::time::sleep(Duration::from_millis(100)).await;

        stop.cancel();

        assert!(asking.await.expect("ended").ends_with("done"));
        serving.await.expect("ended");
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn a_peer_that_never_finishes_its_head_does_not_hold_up_the_end() {
        let (address, stop, serving) = start(Duration::from_millis(200)).await;
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(b"GET /slow HT").await.expect("sent");
        tokio::time::sleep(Duration::from_millis(50)).await;

        stop.cancel();

        tokio::time::timeout(Duration::from_secs(2), serving).await.expect("in time").expect("ended");
    }

    // T8
    #[tokio::test]
    async fn a_head_that_is_too_large_is_refused() {
        let (address, _stop, _serving) = start(Duration::ZERO).await;

        let head =
            format!("GET /slow HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(4 * LARGEST_HEAD));

        let answer = answer_to(address, &head).await;
        assert!(!answer.contains("done"), "{answer}");
    }
}
