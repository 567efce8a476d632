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
    /// Address of the controller's diagnostics pages; by default all of 127.0.0.1:9464 to 9479
    #[arg(long, value_name = "A", env = "MACHINERY_DIAGNOSTICS")]
    at: Option<SocketAddr>,
}

const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a diagnostics page: bounds the memory that a wrong address can take.
const MAX_PAGE_BYTES: u64 = 16 << 20;

pub(crate) async fn run(arguments: ExplainArgs) -> anyhow::Result<()> {
    let ExplainArgs { kind, object, at } = arguments;
    let path =
        format!("/debug/machinery.json?kind={}&object={}", percent_encode(&kind), percent_encode(&object));
    let Some(at) = at else { return explain_all(&kind, &path).await };
    print!("{}", machinery::explain(&kind, &page(at, &path).await?)?);
    Ok(())
}

/// Prints the explanations of all programs on the default ports, such as the candidates of an
/// election.
async fn explain_all(kind: &str, path: &str) -> anyhow::Result<()> {
    let mut pages = Vec::new();
    for port in DEFAULT_PORT..DEFAULT_PORT + machinery::PORTS {
        let at = SocketAddr::from(([127, 0, 0, 1], port));
        // Another program may use the port.
        pages.extend(page(at, path).await.ok().map(|page| (at, page)));
    }
    let first = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT));
    ensure!(!pages.is_empty(), "{}", no_pages(first));
    let explained: Vec<_> =
        pages.iter().filter_map(|(at, page)| Some((at, machinery::explain(kind, page).ok()?))).collect();
    for (at, text) in &explained {
        if pages.len() > 1 {
            println!("at {at}:");
        }
        print!("{text}");
    }
    if explained.is_empty()
        && let Some((_, page)) = pages.first()
    {
        machinery::explain(kind, page)?;
    }
    Ok(())
}

/// First of the ports that `Plane::diagnostics_from` tries in the guides.
const DEFAULT_PORT: u16 = 9464;

fn no_pages(at: SocketAddr) -> String {
    format!(
        "no diagnostics pages at {at}: call `plane.diagnostics(…)` in the program, and name its address with --at"
    )
}

async fn page(at: SocketAddr, path: &str) -> anyhow::Result<String> {
    let answer = timeout(TIMEOUT, get(at, path)).await;
    answer.with_context(|| format!("{at} did not answer in {TIMEOUT:?}"))?
}

async fn get(at: SocketAddr, path: &str) -> anyhow::Result<String> {
    let connected = TcpStream::connect(at).await;
    let mut stream = connected.with_context(|| no_pages(at))?;
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
