//! Commits whose answer does not come: a proxy stands between the service and Postgres and cuts in at `COMMIT`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use counterfoil_core::receipt::verify;
use counterfoil_core::record::ItemAnswer;
use counterfoil_core::statement::Verdict;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

use crate::deployment::{Deployment, Service, cluster, connect};
use crate::gateway::{Judged, item, record};

/// What happens to the next COMMIT that passes.
const PASS: u8 = 0;
/// It reaches Postgres; its answer is lost with the connection.
const LOSE_ANSWER: u8 = 1;
/// As before, and the connection breaks when the test says so.
const LOSE_ANSWER_LATER: u8 = 3;
/// It never reaches Postgres; the connection is lost.
const LOSE_COMMIT: u8 = 2;

struct Proxy {
    folder: tempfile::TempDir,
    cut: Arc<Cut>,
}

#[derive(Default)]
struct Cut {
    next: AtomicU8,
    was_cut: Notify,
    may_break: Notify,
}

impl Proxy {
    fn before(socket_folder: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("cf-px-").tempdir_in("/tmp").expect("folder");
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).expect("a socket");
        let target = socket_folder.join(".s.PGSQL.5432");
        let cut = Arc::new(Cut::default());
        let cuts = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, target.clone(), Arc::clone(&cuts)));
            }
        });
        Self { folder, cut }
    }

    fn cut_next(&self, how: u8) {
        self.cut.next.store(how, Ordering::SeqCst);
    }
}

async fn carry(client: UnixStream, target: PathBuf, cut: Arc<Cut>) {
    let server = UnixStream::connect(target).await.expect("postgres");
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let lost = Arc::new(AtomicBool::new(false));
    let is_lost = Arc::clone(&lost);
    // What is lost is read and thrown away: the client's end stays open, or it would know before the test wants it to.
    let answers = tokio::spawn(async move {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
            if !is_lost.load(Ordering::SeqCst) && to_client.write_all(&buffer[..length]).await.is_err() {
                break;
            }
        }
    });
    let mut buffer = vec![0; 64 * 1024];
    // The comparison and the audit commit as well, whenever they like; only a decision's commit is cut.
    let mut decides = false;
    while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
        let sent = &buffer[..length];
        let has = |needle: &[u8]| sent.windows(needle.len()).any(|window| window == needle);
        decides |= has(b"\"typ\":\"decision/v1\"");
        let is_commit = decides && has(b"COMMIT");
        decides &= !has(b"COMMIT");
        let how = if is_commit { cut.next.swap(PASS, Ordering::SeqCst) } else { PASS };
        match how {
            LOSE_COMMIT => {
                cut.was_cut.notify_one();
                break;
            }
            LOSE_ANSWER | LOSE_ANSWER_LATER => {
                lost.store(true, Ordering::SeqCst);
                to_server.write_all(sent).await.expect("written");
                cut.was_cut.notify_one();
                // Postgres commits before it notices that nobody listens.
                match how {
                    LOSE_ANSWER_LATER => cut.may_break.notified().await,
                    _ => tokio::time::sleep(Duration::from_millis(200)).await,
                }
                break;
            }
            _ => to_server.write_all(sent).await.expect("written"),
        }
    }
    answers.abort();
}

async fn behind_a_proxy() -> (Deployment, Proxy, Service) {
    let proxy = Proxy::before(cluster().await.socket_folder());
    let mut deployment = Deployment::new().await;
    deployment.config.database.host = proxy.folder.path().to_str().expect("a path").to_owned();
    let service = deployment.serve().await;
    // The audit at boot commits too; it must not be the one that is cut.
    let admin = connect(&deployment.config, "postgres").await;
    while admin.query("select 1 from audits", &[]).await.expect("rows").is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (deployment, proxy, service)
}

/// G4: looked up again under the head's lock, and found.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_was_lost_is_found_again() {
    let (deployment, proxy, service) = behind_a_proxy().await;
    let trust = deployment.trust(&service).await;

    proxy.cut_next(LOSE_ANSWER);
    let one = vec![item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1];
    let answers = record(&service, &deployment.token, one).await.expect("200");

    proxy.cut.was_cut.notified().await;
    let ItemAnswer::Recorded(recorded) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(recorded.receipt.entry().seq, deployment.published.seq + 1);
    verify(&recorded.receipt.bytes(), &trust).expect("verifies");
    let clean = deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
    assert_eq!(clean.size, deployment.published.seq + 2);
}

/// G4: looked up again, not found, and tried once more: one entry, not two.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_never_arrived_is_made_again_once() {
    let (deployment, proxy, service) = behind_a_proxy().await;

    proxy.cut_next(LOSE_COMMIT);
    let one = vec![item(&deployment, &Judged::now(&deployment, Verdict::Allow)).1];
    let answers = record(&service, &deployment.token, one).await.expect("200");

    proxy.cut.was_cut.notified().await;
    let ItemAnswer::Recorded(recorded) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!(recorded.receipt.entry().seq, deployment.published.seq + 1);
    let clean = deployment.setup.audit(deployment.id()).await.expect("read").expect("clean");
    assert_eq!(clean.size, deployment.published.seq + 2);
}

/// G4: no lock in five seconds, so nobody knows, and nobody says that it was recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_cannot_be_looked_up_is_unknown() {
    let (deployment, proxy, service) = behind_a_proxy().await;
    let (digest, one) = item(&deployment, &Judged::now(&deployment, Verdict::Allow));
    let lock = connect(&deployment.config, "postgres").await;

    proxy.cut_next(LOSE_ANSWER_LATER);
    let holding = async {
        // As soon as the commit is on its way, somebody else waits for the lock, gets it and keeps it.
        proxy.cut.was_cut.notified().await;
        lock.batch_execute("begin; select 1 from heads for update").await.expect("locked");
        proxy.cut.may_break.notify_one();
    };
    let (answers, ()) = tokio::join!(record(&service, &deployment.token, vec![one.clone()]), holding);
    let answers = answers.expect("200");
    assert!(
        matches!(answers[0], ItemAnswer::Unknown { digest: unknown } if unknown == digest),
        "{answers:?}"
    );

    // The same statement again, with the lock free: it stands, once.
    lock.batch_execute("rollback").await.expect("released");
    let again = record(&service, &deployment.token, vec![one]).await.expect("200");
    let ItemAnswer::Duplicate(stored) = &again[0] else { panic!("{again:?}") };
    assert_eq!(stored.receipt.entry().seq, deployment.published.seq + 1);
}
