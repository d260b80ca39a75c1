//! P5: a log that shows another history is caught, by its tiles alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use counterfoil_core::key::{Jwk, JwkSet, Ledger, Log, Purpose, SigningKey};
use counterfoil_core::tree::{Frontier, Hash, leaf_hash};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::*;

const PAGE: &str = "/p/7-k3m9q2v8";
const ISSUER: &str = "https://gw.example/p/7-k3m9q2v8";

/// A log as files, served over HTTP.
struct Served {
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    page: String,
    client: Client,
}

fn key() -> SigningKey<Log> {
    SigningKey::from_seed(&[7; 32])
}

fn trust(key: &SigningKey<Log>) -> Trust {
    let ledger = SigningKey::<Ledger>::from_seed(&[8; 32]);
    let keys = vec![Jwk::new(key.public(), Purpose::Log), Jwk::new(ledger.public(), Purpose::Ledger)];
    Trust::from_set(JwkSet { iss: ISSUER.parse().unwrap(), keys }).unwrap()
}

/// Leaf `n` of a history; histories differ from `since` on.
fn leaves(history: u8, since: u64, size: u64) -> Vec<Hash> {
    (0..size).map(|n| leaf_hash(format!("{} {n}", if n < since { 0 } else { history }).as_bytes())).collect()
}

fn note(leaves: &[Hash], key: &SigningKey<Log>) -> String {
    let mut frontier = Frontier::empty();
    frontier.append(leaves);
    let origin = ISSUER.strip_prefix("https://").unwrap().to_owned();
    Checkpoint { origin, size: frontier.size(), root: frontier.root() }.sign(key)
}

impl Served {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let page = format!("http://{}{PAGE}", listener.local_addr().unwrap());
        let files: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
        let shared = Arc::clone(&files);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                while line.trim() != "" {
                    line.clear();
                    stream.read_line(&mut line).await.unwrap();
                }
                let found = shared.lock().unwrap().get(&path).cloned();
                let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
                let body = found.unwrap_or_default();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    body.len()
                );
                stream.write_all(&[head.into_bytes(), body].concat()).await.unwrap();
            }
        });
        Self { files, page, client: remote::client(None).unwrap() }
    }

    /// Serves these leaves, under this note.
    fn show(&self, leaves: &[Hash], note: &str) {
        let mut files = self.files.lock().unwrap();
        files.clear();
        files.insert(format!("{PAGE}/checkpoint"), note.as_bytes().to_vec());
        let mut row = leaves.to_vec();
        for level in 0.. {
            for (index, tile) in row.chunks(256).enumerate() {
                let width = if tile.len() == 256 { String::new() } else { format!(".p/{}", tile.len()) };
                let bytes = tile.iter().flat_map(|hash| hash.bytes().to_vec()).collect();
                files.insert(format!("{PAGE}/tile/{level}/{index:03}{width}"), bytes);
            }
            if row.len() < 256 {
                return;
            }
            row = row.chunks_exact(256).map(root).collect();
        }
    }

    async fn look(&self, kept: Option<&str>) -> (Seen, Option<String>) {
        look(&self.client, &self.page, &trust(&key()), kept).await.unwrap()
    }
}

fn root(tile: &[Hash]) -> Hash {
    let mut frontier = Frontier::empty();
    frontier.append(tile);
    frontier.root()
}

#[tokio::test]
async fn a_log_that_grows_is_followed() {
    let served = Served::new().await;
    let mut kept: Option<String> = None;
    let mut before = 0;
    for size in [1, 2, 255, 256, 257, 511, 700, 70_000] {
        let leaves = leaves(1, 0, size);
        let shown = note(&leaves, &key());
        served.show(&leaves, &shown);
        let (seen, keep) = served.look(kept.as_deref()).await;
        let expected =
            if before == 0 { Seen::First(size) } else { Seen::Extended { from: before, to: size } };
        assert_eq!((seen, keep.as_deref()), (expected, Some(shown.as_str())));
        assert_eq!(served.look(keep.as_deref()).await, (Seen::Same(size), None));
        (kept, before) = (keep, size);
    }
}

#[tokio::test]
async fn another_history_is_a_fork_whatever_its_size() {
    let served = Served::new().await;
    let kept = note(&leaves(1, 200, 300), &key());
    for size in [300, 301, 512, 700] {
        let others = leaves(2, 200, size);
        let shown = note(&others, &key());
        served.show(&others, &shown);

        let (seen, keep) = served.look(Some(&kept)).await;

        assert_eq!(seen, Seen::Forked { kept: kept.clone(), shown });
        assert_eq!((seen.exit_code(), keep), (30, None));
    }
}

#[tokio::test]
async fn a_log_that_shows_less_is_reported_and_nothing_is_forgotten() {
    let served = Served::new().await;
    let kept = note(&leaves(1, 0, 300), &key());
    let fewer = leaves(1, 0, 299);
    served.show(&fewer, &note(&fewer, &key()));

    let (seen, keep) = served.look(Some(&kept)).await;

    assert_eq!((seen.exit_code(), keep), (20, None));
    assert_eq!(seen, Seen::Older { kept: 300, shown: 299 });
}

#[tokio::test]
async fn what_is_not_signed_by_the_pinned_key_is_not_believed() {
    let served = Served::new().await;
    let more = leaves(1, 0, 300);
    let other = SigningKey::<Log>::from_seed(&[9; 32]);
    served.show(&more, &note(&more, &other));
    assert_eq!(served.look(None).await.0.exit_code(), 50);

    let honest = note(&more, &key());
    served.show(&more, &honest.replacen("\n300\n", "\n301\n", 1));
    assert_eq!(served.look(None).await.0.exit_code(), 40);

    // A kept note that is not the log's own is the holder's mistake.
    served.show(&more, &honest);
    let foreign = note(&more, &other);
    assert!(look(&served.client, &served.page, &trust(&key()), Some(&foreign)).await.is_err());
}

/// Tiles of another tree prove nothing about this one, neither that it forked nor that it did not.
#[tokio::test]
async fn tiles_that_do_not_lead_to_the_signed_root_are_broken() {
    let served = Served::new().await;
    let kept = note(&leaves(1, 0, 300), &key());
    served.show(&leaves(2, 10, 400), &note(&leaves(1, 0, 400), &key()));

    let (seen, keep) = served.look(Some(&kept)).await;

    assert_eq!((seen.exit_code(), keep), (40, None));
}
