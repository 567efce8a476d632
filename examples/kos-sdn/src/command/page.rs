//! Reads a page of metrics from a file or over HTTP.

use std::time::Duration;

use machinery::tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use machinery::tokio::net::TcpStream;
use machinery::tokio::time::timeout;

/// Time limit of the request.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Size limit, above that of any page of ours.
const LIMIT: u64 = 64 << 20;

pub(super) async fn read(source: &str) -> machinery::Result<String> {
    let Some(rest) = source.strip_prefix("http://") else {
        return Ok(std::fs::read_to_string(source)?);
    };
    let (address, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
    let path = if path.is_empty() { "metrics" } else { path };
    let request = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET /{path} HTTP/1.0\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(LIMIT).read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = timeout(TIME_LIMIT, request).await.map_err(|_| "no answer")??;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the answer is not HTTP")?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status != "200" {
        return Err(format!("HTTP status {status}").into());
    }
    Ok(body.to_owned())
}
