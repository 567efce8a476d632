//! `machinery explain`: prints a diagnostics page of a running controller.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    /// A kind as in kubectl (`hosts`, `host`, `hosts.example.com`), or the name of a controller
    kind: String,
    /// The object: NS/NAME, or NAME for a cluster-scoped kind
    object: String,
    /// Address of the controller's diagnostics pages
    #[arg(long, value_name = "A", default_value = "127.0.0.1:9464", env = "MACHINERY_DIAGNOSTICS")]
    at: SocketAddr,
}

const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a diagnostics page: bounds the memory that a wrong address can take.
const MAX_PAGE_BYTES: u64 = 16 << 20;

pub(crate) async fn run(arguments: ExplainArgs) -> anyhow::Result<()> {
    let ExplainArgs { kind, object, at } = arguments;
    let path =
        format!("/debug/machinery.json?kind={}&object={}", percent_encode(&kind), percent_encode(&object));
    let answer = timeout(TIMEOUT, get(at, &path)).await;
    let page = answer.with_context(|| format!("{at} did not answer in {TIMEOUT:?}"))??;
    print!("{}", machinery::explain(&kind, &page)?);
    Ok(())
}

async fn get(at: SocketAddr, path: &str) -> anyhow::Result<String> {
    let connected = TcpStream::connect(at).await;
    let mut stream = connected.with_context(|| {
        format!("no diagnostics pages at {at}: call `plane.diagnostics(…)` in the program, and name its address with --at")
    })?;
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut bytes = Vec::new();
    stream.take(MAX_PAGE_BYTES).read_to_end(&mut bytes).await?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{at} answered with bytes that are no UTF-8"))?;
    let Some((head, body)) = text.split_once("\r\n\r\n") else { bail!("{at} does not speak HTTP") };
    ensure!(
        head.split(' ').nth(1) == Some("200"),
        "{at} has no diagnostics pages: it answered {:?}",
        head.lines().next()
    );
    Ok(body.to_owned())
}

/// Encodes a text for the query of a URL.
fn percent_encode(text: &str) -> String {
    let quoted = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(quoted).collect()
}
