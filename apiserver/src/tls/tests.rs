//! Certificates on a disk, and TLS handshakes with them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection, SupportedProtocolVersion};

use super::authority::Pair;
use super::own::{Certificates, GeneratedCertificates};
use super::peer;
use super::serving::{Serving, Source};
use crate::auth::Identity;

mod clock;

fn later(days: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(24 * days)
}

fn own(directory: &Path) -> GeneratedCertificates {
    GeneratedCertificates::new(
        directory,
        ["plane.example.com".to_owned(), "10.1.2.3".to_owned(), "localhost".to_owned()],
    )
}

fn opened(directory: &Path) -> Certificates {
    own(directory).open(later(0)).expect("opened")
}

/// Returns the notes, without the directory.
fn notes(certificates: &Certificates, directory: &Path) -> Vec<String> {
    certificates.notes.iter().map(|note| note.replace(&format!("{}/", directory.display()), "")).collect()
}

#[test]
fn generated_certificates_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("pki");
    let first = opened(&path);
    let made = ["ca.crt", "server.crt", "admin.crt"].map(|name| format!("made {name}: there was none"));
    assert_eq!(notes(&first, &path), made);
    let second = opened(&path);
    assert_eq!(second.notes, Vec::<String>::new());
    for (one, other) in [(&first.server, &second.server), (&first.admin, &second.admin)] {
        assert_eq!((&one.certificate, &one.key), (&other.certificate, &other.key));
    }
    assert_eq!(first.ca, second.ca);
    for name in ["ca.key", "server.key", "admin.key"] {
        crate::auth::private::check_mode(&path.join(name)).expect("for its owner alone");
    }
    assert!(!format!("{first:?}").contains("PRIVATE"), "no key is shown");
}

#[test]
fn expiring_certificates_are_renewed_and_issued_ones_stay_valid() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let first = opened(path);
    let at = |days| own(path).open(later(days)).expect("opened");
    assert_eq!(notes(&at(330), path).len(), 0);
    let ends = |note: &String| note.split(" ends on ").next().expect("a part").to_owned();
    let said: Vec<_> = notes(&at(340), path).iter().map(ends).collect();
    assert_eq!(said, ["made server.crt: the last one", "made admin.crt: the last one"]);
    // Ten years on, the authority is renewed too, with its key: clients with its first certificate
    // still verify it.
    let last = at(3640);
    assert_eq!(notes(&last, path).len(), 3, "{:?}", last.notes);
    assert_ne!(last.ca, first.ca);
    // And those of a clock that was ten years ahead are made again, of the same key.
    let begins = |note: &String| note.split(" begins on ").next().expect("a part").to_owned();
    let said: Vec<_> = notes(&opened(path), path).iter().map(begins).collect();
    assert_eq!(said, ["ca.crt", "server.crt", "admin.crt"].map(|name| format!("made {name}: the last one")));
    assert_eq!(opened(path).notes, [""; 0]);
    assert_eq!(connect(&serving(path), &client(&first.ca, None, &TLS13), "localhost"), Ok(None));
}

#[test]
fn a_server_has_a_certificate_for_all_its_hosts() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let first = GeneratedCertificates::new(path, []).open(later(0)).expect("opened");
    let second = opened(path);
    let hosts = "localhost, 127.0.0.1, ::1, plane.example.com, 10.1.2.3";
    assert_eq!(notes(&second, path), [format!("made server.crt: the last one is not for all of {hosts}")]);
    assert_eq!(first.ca, second.ca);
    let (serving, client) = (serving(path), client(&second.ca, None, &TLS13));
    for host in hosts.split(", ") {
        assert_eq!(connect(&serving, &client, host), Ok(None), "{host}");
    }
    connect(&serving, &client, "example.com").expect_err("another host");
}

#[test]
fn certificates_of_another_authority_are_replaced() {
    let directory = tempfile::tempdir().expect("a directory");
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    opened(&one);
    opened(&other);
    for name in ["ca.crt", "ca.key"] {
        fs::copy(other.join(name), one.join(name)).expect("copied");
    }
    let again = opened(&one);
    let made =
        ["server.crt", "admin.crt"].map(|name| format!("made {name}: the last one is of another authority"));
    assert_eq!(notes(&again, &one), made);
}

fn check_refused(name: &str, content: Option<&str>, expected: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    opened(path);
    let other = tempfile::tempdir().expect("a directory");
    let file = path.join(name);
    match content {
        None => fs::remove_file(&file).expect("removed"),
        Some("another") => {
            opened(other.path());
            fs::copy(other.path().join(name), &file).map(|_| ()).expect("copied");
        }
        Some(text) => fs::write(&file, text).expect("written"),
    }
    let before = fs::read_dir(path).expect("read").count();
    let error = own(path).open(later(0)).expect_err(name).to_string();
    assert_eq!(error.replace(&format!("{}/", path.display()), ""), expected);
    assert!(!error.contains('\n'));
    assert_eq!(fs::read_dir(path).expect("read").count(), before, "nothing is written");
}

#[test]
fn an_invalid_file_is_named_with_a_remedy() {
    let remedy = |name| format!("put the right file back, or remove {name}.* to have both made anew");
    let (ca, server) = (remedy("ca"), remedy("server"));
    check_refused("ca.key", None, &format!("ca.key: its certificate is there, and it is not; {ca}"));
    check_refused(
        "server.key",
        None,
        &format!("server.key: its certificate is there, and it is not; {server}"),
    );
    check_refused("ca.crt", Some("x"), &format!("ca.crt: it is no certificate in PEM; {ca}"));
    check_refused("server.crt", Some(""), &format!("server.crt: it is no certificate in PEM; {server}"));
    check_refused("server.key", Some("x"), &format!("server.key: it is no key in PEM of PKCS #8; {server}"));
    check_refused(
        "server.crt",
        Some("another"),
        &format!("server.crt: it is not for the key beside it; {server}"),
    );
    check_refused("ca.key", Some("another"), &format!("ca.crt: it is not for the key beside it; {ca}"));
}

/// The process ended after a key was written, and before its certificate was.
#[test]
fn an_existing_key_without_a_certificate_is_used() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let first = opened(path);
    for name in ["ca.crt", "admin.crt"] {
        fs::remove_file(path.join(name)).expect("removed");
    }
    let second = opened(path);
    assert_eq!(
        notes(&second, path),
        ["ca.crt", "admin.crt"].map(|name| format!("made {name}: there was none"))
    );
    assert_eq!(first.server.certificate, second.server.certificate, "it is of the same key still");
    assert_eq!(connect(&serving(path), &client(&first.ca, None, &TLS13), "localhost"), Ok(None));
}

fn serving(path: &Path) -> Serving {
    Serving::open(Source::Own(own(path)), later(0)).expect("opened").0
}

fn client(ca: &str, pair: Option<&Pair>, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(roots);
    let mut config = match pair {
        None => builder.with_no_client_auth(),
        Some(pair) => {
            let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("PEM");
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("PEM");
            builder.with_client_auth_cert(vec![certificate], key).expect("a pair")
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Returns the client's identity as the server sees it, or the side that refused, with the reason.
fn connect(serving: &Serving, client: &Arc<ClientConfig>, host: &str) -> Result<Option<Identity>, String> {
    let name = ServerName::try_from(host.to_owned()).expect("a host");
    let mut client = ClientConnection::new(Arc::clone(client), name).expect("a client");
    let mut server = ServerConnection::new(serving.config()).expect("a server");
    while client.is_handshaking() || server.is_handshaking() {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).expect("memory");
        }
        server.read_tls(&mut bytes.as_slice()).expect("memory");
        server.process_new_packets().map_err(|error| format!("server: {error}"))?;
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("memory");
        }
        let mut bytes = bytes.as_slice();
        while !bytes.is_empty() {
            client.read_tls(&mut bytes).expect("memory");
            client.process_new_packets().map_err(|error| format!("client: {error}"))?;
        }
    }
    assert_eq!(server.alpn_protocol(), Some(&b"h2"[..]));
    let chain: Vec<_> =
        server.peer_certificates().unwrap_or_default().iter().map(|it| it.clone().into_owned()).collect();
    Ok(peer::identity(&chain))
}

#[test]
fn client_certificates_authenticate_and_are_optional() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let certificates = opened(path);
    let serving = serving(path);
    for version in [&TLS12, &TLS13] {
        let nobody = client(&certificates.ca, None, version);
        assert_eq!(connect(&serving, &nobody, "127.0.0.1"), Ok(None));
        let admin = client(&certificates.ca, Some(&certificates.admin), version);
        let identity = connect(&serving, &admin, "127.0.0.1").expect("connected").expect("known");
        assert_eq!(identity.user, "admin");
        assert_eq!(identity.groups, ["system:authenticated", "system:masters"]);
        let print = &identity.extra["authentication.kubernetes.io/credential-id"][0];
        assert_eq!((print.len(), &print[..11]), (75, "X509SHA256="));
    }
}

#[test]
fn a_client_certificate_must_be_issued_by_the_authority_for_clients() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("one");
    let certificates = opened(&path);
    let stranger = opened(&directory.path().join("other"));
    let serving = serving(&path);
    for version in [&TLS12, &TLS13] {
        for (pair, why) in [(&stranger.admin, "server: "), (&certificates.server, "server: ")] {
            let refused = connect(&serving, &client(&certificates.ca, Some(pair), version), "localhost");
            assert!(refused.as_ref().expect_err("refused").starts_with(why), "{refused:?}");
        }
        let refused = connect(&serving, &client(&stranger.ca, None, version), "localhost");
        assert!(refused.expect_err("refused").starts_with("client: "), "the client does not know the server");
    }
}

#[test]
fn certificates_are_reloaded_and_invalid_ones_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
    let (first, second) = (opened(&one), opened(&other));
    let path = |name: &str| directory.path().join(name);
    let put = |from: &Certificates| {
        fs::write(path("tls.crt"), &from.server.certificate).expect("written");
        fs::write(path("tls.key"), &from.server.key).expect("written");
        fs::write(path("clients.crt"), &from.ca).expect("written");
    };
    put(&first);
    let source = Source::Files {
        certificate: path("tls.crt"),
        key: path("tls.key"),
        client_ca: Some(path("clients.crt")),
    };
    let (serving, notes) = Serving::open(source, later(0)).expect("opened");
    assert_eq!(notes, Vec::<String>::new());
    let connects = |of: &Certificates| {
        let client = client(&of.ca, Some(&of.admin), &TLS13);
        connect(&serving, &client, "localhost").map(|identity| identity.expect("known").user)
    };
    assert_eq!(connects(&first).as_deref(), Ok("admin"));
    let refused = |at| {
        let error = serving.reload(at).expect_err("not good").to_string();
        assert_eq!(connects(&first).as_deref(), Ok("admin"), "the old one is kept: {error}");
        error.replace(&format!("{}/", directory.path().display()), "")
    };
    fs::write(path("tls.crt"), &second.server.certificate).expect("written");
    let error = refused(later(0));
    assert!(error.starts_with("tls.crt: it and tls.key cannot be used"), "{error}");
    fs::remove_file(path("tls.key")).expect("removed");
    assert_eq!(refused(later(0)), "tls.key: there is no such file; check the path");
    fs::write(path("tls.key"), "x").expect("written");
    assert_eq!(
        refused(later(0)),
        "tls.key: there is no private key in it that can be read; put one there, in PEM"
    );
    put(&first);
    fs::write(path("clients.crt"), "").expect("written");
    let expected = "clients.crt: there is no certificate in it that can be read; put one there, in PEM";
    assert_eq!(refused(later(0)), expected);
    put(&first);
    let error = refused(later(366));
    assert!(
        error.starts_with("tls.crt: it ended on ") && error.ends_with("; put a new one there"),
        "{error}"
    );
    let notes = serving.reload(later(350)).expect("still good");
    assert_eq!(notes.len(), 1, "{notes:?}");
    put(&second);
    serving.reload(later(0)).expect("good");
    assert_eq!(connects(&second).as_deref(), Ok("admin"));
    connects(&first).expect_err("neither side knows the other");
}
