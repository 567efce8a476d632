//! Regression: a client certificate that expired stayed valid for as long as its connection was
//! open, and so did the client's watches.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery_apiserver::{Access, ApiServer, CertificateFiles, Listen};
use machinery_store::{Memory, Options};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::tls;

/// The validity of the client's certificate. Certificates have whole seconds.
const VALIDITY: Duration = Duration::from_secs(4);
/// Shorter than the idle timeout.
const LATEST: Duration = Duration::from_secs(30);

/// A certificate of an administrator that expires soon, and its time of expiry.
fn short_lived(issuer: &Issuer<'_, KeyPair>) -> (tls::Shown, Instant) {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.distinguished_name.push(DnType::OrganizationName, "system:masters");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let now = Duration::from_secs(u64::try_from(jiff::Timestamp::now().as_second()).unwrap());
    params.not_after = rcgen::date_time_ymd(1970, 1, 1) + now + VALIDITY;
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    ((certificate.der().clone(), key), Instant::now() + VALIDITY)
}

async fn start() -> (ApiServer, Access, Issuer<'static, KeyPair>, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let (mut params, key) =
        (CertificateParams::new(Vec::<String>::new()).unwrap(), KeyPair::generate().unwrap());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "clients");
    let client_ca = home.path().join("clients.crt");
    std::fs::write(&client_ca, params.self_signed(&key).unwrap().pem()).unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [certificate, key_path] = ["tls.crt", "tls.key"].map(|name| home.path().join(name));
    std::fs::write(&certificate, own.cert.pem()).unwrap();
    std::fs::write(&key_path, own.signing_key.serialize_pem()).unwrap();
    let certificates = CertificateFiles { certificate, key: key_path, client_ca: Some(client_ca) };
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let mut listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
    listen.certificates = Some(certificates);
    let access = server.listen(listen).await.unwrap();
    (server, access, Issuer::new(params, key), home)
}

fn get(path: &str, version: Version) -> Request<Empty<Bytes>> {
    let request =
        Request::get(format!("https://localhost{path}")).version(version).header("host", "localhost");
    request.body(Empty::new()).unwrap()
}

const LIST: &str = "/api/v1/namespaces";
const WATCH: &str = "/api/v1/namespaces?watch=1";

#[tokio::test]
async fn http1_connections_end_when_the_client_certificate_expires() {
    let (server, access, issuer, _home) = start().await;
    let (shown, expiry) = short_lived(&issuer);
    let mut connections = JoinSet::new();
    let mut bodies = Vec::new();
    for path in [LIST, WATCH] {
        let stream = tls::connect(
            access.address,
            access.ca.as_ref().unwrap(),
            "http/1.1",
            Some((shown.0.clone(), shown.1.clone_key())),
        );
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream.await.unwrap())).await.unwrap();
        connections.spawn(async move { drop(connection.await) });
        let answer = sender.send_request(get(path, Version::HTTP_11)).await.unwrap();
        assert_eq!(answer.status(), 200);
        bodies.push((sender, answer.into_body()));
    }
    let ended = async {
        let [(mut idle, list), (_watching, watch)] = <[_; 2]>::try_from(bodies).unwrap();
        list.collect().await.unwrap();
        let again = idle.send_request(get(LIST, Version::HTTP_11)).await.unwrap();
        assert_eq!(again.status(), 200, "it is valid");
        again.into_body().collect().await.unwrap();
        let _ = watch.collect().await;
        while connections.join_next().await.is_some() {}
        let refused = idle.send_request(get(LIST, Version::HTTP_11)).await;
        assert!(refused.is_err(), "{refused:?}");
    };
    timeout(VALIDITY + LATEST, ended).await.expect("the idle connection and the watch end");
    assert!(Instant::now() >= expiry - Duration::from_secs(1), "and not before");
    server.stop().await;
}

#[tokio::test]
async fn http2_connections_end_when_the_client_certificate_expires() {
    let (server, access, issuer, _home) = start().await;
    let (shown, expiry) = short_lived(&issuer);
    let stream = tls::connect(access.address, access.ca.as_ref().unwrap(), "h2", Some(shown)).await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let mut connections = JoinSet::new();
    connections.spawn(async move { drop(connection.await) });
    let watch = sender.send_request(get(WATCH, Version::HTTP_2)).await.unwrap();
    assert_eq!(watch.status(), 200);
    // Requests until the end: none is served to the expired certificate.
    let requests = async {
        loop {
            let Ok(answer) = sender.send_request(get(LIST, Version::HTTP_2)).await else { break };
            // The last second belongs to the validity.
            let after = Instant::now() > expiry + Duration::from_secs(2);
            assert!(answer.status() == 200 && !after || answer.status() == 401, "{answer:?}");
            let _ = answer.into_body().collect().await;
            sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = async { tokio::join!(requests, watch.into_body().collect()) };
    drop(timeout(VALIDITY + LATEST, ended).await.expect("requests and the watch end"));
    assert!(Instant::now() >= expiry - Duration::from_secs(1), "and not before");
    timeout(LATEST, connections.join_next()).await.expect("the connection ends");
    server.stop().await;
}
