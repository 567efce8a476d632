//! Test kinds: hosts and racks.

use machinery::tokio::time::{Duration, Instant, sleep};

machinery::kinds! {
    #[kube(group = "example.com", version = "v1", kind = "Host", namespaced, status = "HostStatus", selectable = ".spec.rack")]
    pub struct HostSpec {
        pub rack: u32,
    }
    #[derive(PartialEq)]
    pub struct HostStatus {
        pub address: String,
    }
}

pub(crate) fn host(name: &str, rack: u32) -> Host {
    let mut host = Host::new(name, HostSpec { rack });
    host.metadata.namespace = Some("default".into());
    host
}

pub(crate) async fn until(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "it comes");
        sleep(Duration::from_millis(5)).await;
    }
}

machinery::kinds! {
    #[kube(group = "example.com", version = "v1", kind = "Rack", namespaced)]
    pub struct RackSpec {}
}

/// Fetches a diagnostics page: status and body.
pub(crate) async fn get(at: std::net::SocketAddr, path: &str) -> (u16, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(at).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
