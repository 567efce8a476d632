//! Spans of served requests.

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::client::stream;
use crate::program::{ServerProcess, TIMEOUT, run};

#[tokio::test]
async fn request_spans_are_exported_to_the_collector() {
    let home = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving =
        ServerProcess::start(&["--listen", "127.0.0.1:0", "--memory", "--otlp", &url], home.path()).await;
    let request = format!(
        "GET /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: close\r\n\
         traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n",
        serving.access.token
    );
    let mut client = stream(&serving.access).await.unwrap();
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));

    // Shutdown exports the remaining spans.
    serving.signal(Signal::TERM);
    let came = async {
        let mut body = Vec::new();
        while !holds(&body, &0x00f0_67aa_0ba9_02b7_u64.to_be_bytes()) {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).await.unwrap() > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            let done = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(done).await.unwrap();
        }
        body
    };
    let body = timeout(TIMEOUT, came).await.expect("spans arrive");
    assert!(holds(&body, &0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes()));
    assert!(holds(&body, b"/api/v1/namespaces") && holds(&body, b"machinery"));
    assert!(serving.ended().await.success());
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn an_invalid_collector_url_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let output = run(&["serve", "--memory", "--otlp", "https://collector"], home.path()).await;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
    assert!(stderr.contains("http://HOST:PORT"), "{stderr}");
}
