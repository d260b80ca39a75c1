//! Against a TLS server on this machine. That such a server can be reached at all is the tests' own doing: they bring
//! the resolver, the judge of addresses and the root certificate, and release code has no way to.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::names::{Looking, Lookup};
use super::*;

const NAME: &str = "keys.example";

/// A server that answers everything in one way and counts the connections.
struct Server {
    address: SocketAddr,
    root: reqwest::Certificate,
    connections: Arc<AtomicUsize>,
}

impl Server {
    async fn answering(text: String) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![cert.der().clone()], key).expect("a server");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let root = reqwest::Certificate::from_der(cert.der()).expect("a root");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (acceptor, text) = (acceptor.clone(), text.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut asked = [0; 4096];
                    let _ = stream.read(&mut asked).await;
                    let _ = stream.write_all(text.as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Self { address, root, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A client to which this server is a public one.
    fn client(&self) -> Egress {
        let always = Answers(Mutex::new(vec![vec![self.address]]));
        let builder = Client::builder().tls_certs_only([self.root.clone()]);
        Egress::with(Guard::new(always, |_| true), builder, 1000).expect("a client")
    }
}

/// Addresses to say, one after another, the last one again and again.
struct Answers(Mutex<Vec<Vec<SocketAddr>>>);

impl Lookup for Answers {
    fn look_up(&self, _: String) -> Looking {
        let mut answers = self.0.lock().expect("no holder panics");
        let next = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        Box::pin(async move { Ok(next) })
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn target() -> Target {
    Target::parse("https://keys.example/jwks.json").expect("a target")
}

async fn get(client: &Egress) -> Result<Vec<u8>, EgressError> {
    client.get(&target(), "application/json").await
}

/// C7
#[test]
fn only_https_to_a_public_name_may_be_asked() {
    for text in [
        "http://keys.example/",
        "https://user@keys.example/",
        "https://user:secret@keys.example/",
        "https://keys.example/?token=1",
        "https://keys.example/#a",
        "https://keys.example:8443/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://[::1]/",
        "https://8.8.8.8/",
        "https://localhost/",
        "https://a.localhost/",
        "https://keys/",
        "https://keys.example./",
        "https://a.internal/",
        "https://a.local/",
        "https://a.home.arpa/",
        "https://a.onion/",
        "ftp://keys.example/",
        "file:///etc/passwd",
        "keys.example",
        "",
    ] {
        assert!(matches!(Target::parse(text), Err(EgressError::Url(_))), "{text}");
    }
    assert_eq!(target().host(), NAME);
    assert_eq!(
        Target::parse("https://keys.example:443/a").expect("the usual port").as_str(),
        "https://keys.example/a"
    );
}

/// C7
#[tokio::test]
async fn a_public_server_is_read() {
    let server = Server::answering(ok("hello")).await;

    assert_eq!(get(&server.client()).await.expect("an answer"), b"hello");
    assert_eq!(server.connections(), 1);
}

/// C7: the address that is dialled is the one that was judged, at every connection anew.
#[tokio::test]
async fn a_name_that_leads_inside_is_not_dialled() {
    let server = Server::answering(ok("hello")).await;
    let public = SocketAddr::from((Ipv4Addr::new(8, 8, 8, 8), 443));
    let mixed = vec![public, server.address];
    let many = vec![public; 17];
    let as_released = |answers| {
        let builder = Client::builder().tls_certs_only([server.root.clone()]);
        Egress::with(Guard::new(Answers(Mutex::new(answers)), is_public), builder, 1000).expect("a client")
    };

    for (answers, wanted) in [
        (vec![vec![server.address]], NameRefused::Inside(NAME.to_owned())),
        (vec![mixed], NameRefused::Inside(NAME.to_owned())),
        (vec![many], NameRefused::Count(NAME.to_owned())),
        (vec![vec![]], NameRefused::Count(NAME.to_owned())),
    ] {
        match get(&as_released(answers)).await {
            Err(EgressError::Name(refused)) => assert_eq!(refused, wanted),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(server.connections(), 0);
}

/// C7: a name that was harmless a moment ago is judged again.
#[tokio::test]
async fn a_name_that_is_bound_again_is_judged_again() {
    static ALLOWED: AtomicUsize = AtomicUsize::new(1);
    let server = Server::answering(ok("hello")).await;
    let answers = Answers(Mutex::new(vec![vec![server.address]]));
    let builder = Client::builder().tls_certs_only([server.root.clone()]);
    let judge: fn(IpAddr) -> bool = |_| ALLOWED.load(Ordering::SeqCst) == 1;
    let client = Egress::with(Guard::new(answers, judge), builder, 1000).expect("a client");

    assert!(get(&client).await.is_ok());
    ALLOWED.store(0, Ordering::SeqCst);

    assert!(matches!(get(&client).await, Err(EgressError::Name(NameRefused::Inside(_)))));
    assert_eq!(server.connections(), 1);
}

/// C7
#[tokio::test]
async fn a_redirect_an_error_and_a_flood_are_refused() {
    let elsewhere = "HTTP/1.1 302 Found\r\nlocation: https://keys.example/b\r\ncontent-length: 0\r\n\r\n";
    let redirecting = Server::answering(elsewhere.to_owned()).await;
    let absent = Server::answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    let flooding = Server::answering(ok(&"x".repeat(1001))).await;
    let endless = Server::answering(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(5000))).await;

    assert!(matches!(get(&redirecting.client()).await, Err(EgressError::Status { status: 302, .. })));
    assert_eq!(redirecting.connections(), 1);
    assert!(matches!(get(&absent.client()).await, Err(EgressError::Status { status: 404, .. })));
    assert!(matches!(get(&flooding.client()).await, Err(EgressError::TooLarge { most: 1000, .. })));
    assert!(matches!(get(&endless.client()).await, Err(EgressError::TooLarge { .. })));
}

/// C7: a certificate that the world does not vouch for, or for another name, ends it.
#[tokio::test]
async fn a_certificate_of_nobody_or_of_another_is_refused() {
    let (server, other) = (Server::answering(ok("hello")).await, Server::answering(ok("hello")).await);
    let of = |address: SocketAddr, root: &reqwest::Certificate| {
        let builder = Client::builder().tls_certs_only([root.clone()]);
        let answers = Answers(Mutex::new(vec![vec![address]]));
        Egress::with(Guard::new(answers, |_| true), builder, 1000).expect("a client")
    };

    assert!(matches!(get(&of(server.address, &other.root)).await, Err(EgressError::Away { .. })));
    let another = Target::parse("https://other.example/jwks.json").expect("a target");
    let asked = of(server.address, &server.root);
    assert!(matches!(asked.get(&another, "application/json").await, Err(EgressError::Away { .. })));
}

/// C7: what the environment names as a proxy would resolve names for itself.
#[tokio::test]
async fn a_proxy_of_the_environment_is_not_asked() {
    let proxy = Server::answering(ok("proxied")).await;
    let server = Server::answering(ok("hello")).await;
    // The builder carries the proxy that the environment would have brought; ours takes it away again.
    let builder = Client::builder().tls_certs_only([server.root.clone()]);
    let builder = builder.proxy(reqwest::Proxy::all(format!("http://{}", proxy.address)).expect("a proxy"));
    let answers = Answers(Mutex::new(vec![vec![server.address]]));
    let client = Egress::with(Guard::new(answers, |_| true), builder, 1000).expect("a client");

    assert_eq!(get(&client).await.expect("an answer"), b"hello");
    assert_eq!(proxy.connections(), 0);
}
