//! Certificates and tokens that are replaced under a server, seen from real connections.

use std::path::Path;

use machinery_apiserver::{Access, ApiServer, CertificateFiles, Identity, Listen};
use machinery_store::{Memory, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::tls;

/// A connection that is kept.
struct Connection(TlsStream<TcpStream>);

impl Connection {
    /// Connects as a client that trusts only the authorities in `ca`.
    async fn to(access: &Access, ca: &str) -> std::io::Result<Self> {
        Ok(Self(tls::connect(access.address, ca, "http/1.1", None).await?))
    }

    /// The code that a list of namespaces is answered with.
    async fn asks(&mut self, token: &str) -> u16 {
        let request = format!(
            "GET /api/v1/namespaces?limit=1 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head.split("content-length: ").nth(1).map(|rest| rest.split("\r\n").next().unwrap());
        let mut body = vec![0; length.expect("a length").parse().unwrap()];
        self.0.read_exact(&mut body).await.unwrap();
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }
}

async fn server() -> (ApiServer, tempfile::TempDir) {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    (server, tempfile::tempdir().unwrap())
}

fn at(home: &Path) -> Listen {
    Listen::at("127.0.0.1:0".parse().unwrap(), home.join("pki"))
}

/// Puts a certificate for `localhost` there, with its key. Returns it.
fn put(home: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(home.join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(home.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

/// Each kubeconfig has its own token, which survives restarts, and the rights of its roles: here,
/// only those of every user.
#[tokio::test]
async fn additional_kubeconfigs_have_their_own_tokens() {
    let home = tempfile::tempdir().unwrap();
    let paths = ["ann", "bob"].map(|name| home.path().join(name));
    let mut before = None;
    for _ in 0..2 {
        let (server, _) = server().await;
        let others = ["ann", "bob"].into_iter().zip(&paths);
        let others = others.map(|(user, path)| (Identity::new(user).in_group("dev"), path.clone())).collect();
        let access = server.listen(Listen { others, ..at(home.path()) }).await.unwrap();
        let texts = paths.clone().map(|path| std::fs::read_to_string(path).unwrap());
        let tokens =
            texts.map(|text| text.split("token: ").nth(1).unwrap().lines().next().unwrap().to_owned());
        let mut connection = Connection::to(&access, access.ca.as_ref().unwrap()).await.unwrap();
        let [ann, bob] = tokens.each_ref().map(|token| token.trim_matches('"'));
        assert!(ann != bob && ann != access.token);
        assert_eq!([connection.asks(ann).await, connection.asks(bob).await], [403, 403]);
        assert_eq!(connection.asks(&access.token).await, 200);
        let file = std::fs::read_to_string(home.path().join("pki/tokens.csv")).unwrap();
        assert_eq!(file.lines().filter(|line| line.contains(",dev")).count(), 2, "{file}");
        assert!(before.replace(tokens.clone()).is_none_or(|before| before == tokens));
        server.stop().await;
    }
}

#[tokio::test]
async fn tokens_are_reloaded_and_invalid_files_ignored() {
    let (server, home) = server().await;
    let access = server.listen(at(home.path())).await.unwrap();
    let ca = access.ca.clone().unwrap();
    let mut kept = Connection::to(&access, &ca).await.unwrap();
    assert_eq!([kept.asks(&access.token).await, kept.asks("another").await], [200, 401]);
    assert!(!access.is_outdated());

    let tokens = home.path().join("pki/tokens.csv");
    std::fs::write(&tokens, "another,ann,1,system:masters\n").unwrap();
    assert!(access.is_outdated());
    let reloaded = access.reload();
    assert_eq!((reloaded.notes.len(), reloaded.refused.len()), (0, 0), "{reloaded:?}");
    assert!(!access.is_outdated());
    assert_eq!([kept.asks(&access.token).await, kept.asks("another").await], [401, 200]);

    std::fs::write(&tokens, "another\n").unwrap();
    let refused = access.reload().refused;
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("tokens.csv: line 1: it has less than three columns"), "{refused:?}");
    assert_eq!(kept.asks("another").await, 200);
    server.stop().await;
}

#[tokio::test]
async fn certificates_are_reloaded_without_closing_connections() {
    let (server, home) = server().await;
    let [certificate, key] = ["tls.crt", "tls.key"].map(|name| home.path().join(name));
    let first = put(home.path());
    let files = CertificateFiles { certificate: certificate.clone(), key: key.clone(), client_ca: None };
    let listen = Listen { certificates: Some(files), hosts: vec!["localhost".into()], ..at(home.path()) };
    listen.check().unwrap();
    let access = server.listen(listen).await.unwrap();
    assert_eq!(access.url, format!("https://localhost:{}", access.address.port()));
    let token = access.token.as_str();
    let mut old = Connection::to(&access, &first).await.unwrap();
    assert_eq!(old.asks(token).await, 200);

    let second = put(home.path());
    assert!(access.is_outdated());
    assert_eq!(access.reload().refused, [""; 0]);
    assert!(Connection::to(&access, &first).await.is_err(), "the first certificate is shown no more");
    let mut new = Connection::to(&access, &second).await.unwrap();
    assert_eq!([old.asks(token).await, new.asks(token).await], [200, 200]);

    // A certificate with another one's key, and then none at all.
    let good = std::fs::read(&key).unwrap();
    put(home.path());
    std::fs::write(&key, good).unwrap();
    for (text, expected) in [(None, "cannot be used"), (Some("no certificate"), "no certificate in it")] {
        if let Some(text) = text {
            std::fs::write(&certificate, text).unwrap();
        }
        let refused = access.reload().refused;
        assert_eq!(refused.len(), 1);
        assert!(refused[0].contains("tls.crt") && refused[0].contains(expected), "{refused:?}");
        let mut newer = Connection::to(&access, &second).await.unwrap();
        assert_eq!([old.asks(token).await, newer.asks(token).await], [200, 200]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_check_reports_unusable_files_and_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let check = |listen: &Listen, expected: &str| {
        let error = listen.check().unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    };
    at(home.path()).check().unwrap();
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);

    let files = CertificateFiles {
        certificate: home.path().join("tls.crt"),
        key: home.path().join("tls.key"),
        client_ca: None,
    };
    check(&Listen { certificates: Some(files), ..at(home.path()) }, "tls.crt: there is no such file");
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let into = |path| Listen { kubeconfig: Some(path), ..at(home.path()) };
    check(&into(file.join("config")), "is no directory");
    check(&into(home.path().to_owned()), "it is a directory");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
}
