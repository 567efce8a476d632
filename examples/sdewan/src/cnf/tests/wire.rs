//! The socket: TLS, limits and disconnection.

use std::net::SocketAddr;
use std::time::Duration;

use machinery::tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use machinery::tokio::net::TcpStream;
use machinery::tokio::time::{Instant, timeout};
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::*;
use crate::drive::rest::{CnfAccess, CnfSession, RestCall, RestError, RestLimits};

struct ServedCnf {
    address: SocketAddr,
    connectivity: Connectivity,
    authority: String,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl ServedCnf {
    async fn start(cnf: &TestCnf, hosts: &[&str]) -> Self {
        let authority = CnfAuthority::new().unwrap();
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let issued = authority.issue(&hosts).unwrap();
        let tls = CnfTls::pem(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap();
        let listener = CnfListener::bind("127.0.0.1:0".parse().unwrap(), tls).await.unwrap();
        let (address, connectivity) = (listener.address(), listener.connectivity());
        let (stopping, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(listener.run(cnf.server.clone(), stopping.clone()));
        let authority = authority.certificate().to_owned();
        Self { address, connectivity, authority, stopping, tasks }
    }

    fn session(&self, limits: RestLimits) -> CnfSession {
        let access = CnfAccess {
            address: self.address,
            dns_name: "127-0-0-1.default.pod.cluster.local".into(),
            password: "secret".into(),
            authority: self.authority.clone(),
        };
        CnfSession::new(access, limits).unwrap()
    }
}

fn services() -> RestCall {
    RestCall::new(Method::GET, "/sdewan/v1/services")
}

fn short(call: Duration) -> RestLimits {
    RestLimits { call, ..RestLimits::default() }
}

#[machinery::tokio::test]
async fn a_client_verifies_the_name_or_the_address() {
    let cnf = TestCnf::new().await;
    for hosts in [["127-0-0-1.default.pod.cluster.local"], ["127.0.0.1"]] {
        let served = ServedCnf::start(&cnf, &hosts).await;
        assert_eq!(
            served.session(RestLimits::default()).call(&services()).await.unwrap().status,
            StatusCode::OK
        );
    }
    let other = ServedCnf::start(&cnf, &["127-0-0-2.default.pod.cluster.local"]).await;
    let error = other.session(RestLimits::default()).call(&services()).await.unwrap_err();
    assert!(matches!(error, RestError::Certificate(_)), "{error:?}");
    let mut stranger = ServedCnf::start(&cnf, &["127.0.0.1"]).await;
    stranger.authority = CnfAuthority::new().unwrap().certificate().to_owned();
    let error = stranger.session(RestLimits::default()).call(&services()).await.unwrap_err();
    assert!(matches!(error, RestError::Certificate(_)), "{error:?}");
}

#[machinery::tokio::test]
async fn a_disconnected_cnf_neither_answers_nor_acts_and_keeps_its_state() {
    let cnf = TestCnf::new().await;
    let served = ServedCnf::start(&cnf, &["127.0.0.1"]).await;
    let session = served.session(short(Duration::from_millis(300)));
    session.call(&services()).await.unwrap();
    served.connectivity.set(false);
    let body =
        serde_json::json!({"name": "p", "members": [{"interface": "net0", "metric": "1", "weight": "1"}]});
    let create = RestCall::new(Method::POST, "/sdewan/mwan3/v1/policies").json(&body);
    for _ in 0..2 {
        let error = session.call(&create).await.unwrap_err();
        assert_eq!(error, RestError::Timeout(Duration::from_millis(300)));
    }
    served.connectivity.set(true);
    machinery::tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(cnf.server.state().config.is_empty());
    assert_eq!(session.call(&create).await.unwrap().status, StatusCode::CREATED);
}

#[machinery::tokio::test]
async fn a_body_beyond_the_limit_is_413() {
    let cnf = TestCnf::with(None, CnfLimits { body_bytes: 100, ..CnfLimits::default() }).await;
    let served = ServedCnf::start(&cnf, &["127.0.0.1"]).await;
    let session = served.session(RestLimits::default());
    session.call(&services()).await.unwrap();
    let mut call = RestCall::new(Method::POST, "/sdewan/mwan3/v1/rules");
    call.body = vec![b' '; 1 << 20].into();
    let error = session.call(&call).await.unwrap_err();
    let RestError::Refused { status, message } = error else { panic!("{error:?}") };
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(message.contains("100 bytes"), "{message}");
}

#[machinery::tokio::test]
async fn a_client_without_tls_and_a_silent_one_are_cut_off() {
    let limits = CnfLimits { receive: Duration::from_millis(200), ..CnfLimits::default() };
    let cnf = TestCnf::with(None, limits).await;
    let served = ServedCnf::start(&cnf, &["127.0.0.1"]).await;
    for text in ["", "GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
        assert!(ended.is_ok(), "{text:?}");
    }
}

#[machinery::tokio::test]
async fn a_stop_ends_the_socket_and_its_connections() {
    let cnf = TestCnf::new().await;
    let served = ServedCnf::start(&cnf, &["127.0.0.1"]).await;
    let session = served.session(RestLimits::default());
    session.call(&services()).await.unwrap();
    let began = Instant::now();
    served.stopping.cancel();
    served.tasks.close();
    served.tasks.wait().await;
    assert!(began.elapsed() < CnfLimits::default().drain * 10);
    assert!(matches!(session.call(&services()).await, Err(RestError::Transport(_))));
}
