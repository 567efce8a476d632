//! A watch as a stream of bytes.

use crate::server::objects::{PATH, SHARD};
use crate::server::{Access, Http};
use anyhow::{Context, ensure};
use bytes::Bytes;
use h2::RecvStream;
use http::header::{AUTHORIZATION, HOST};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

/// The stream window: the HTTP/2 default, or two events for a stalled reader. A small window makes
/// the stall visible soon: a server cannot see data buffered by the client's kernel.
const STREAM_WINDOW: u32 = (64 << 10) - 1;
const SMALL_STREAM_WINDOW: u32 = 3 << 10;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// A watch with a received response header.
pub(super) enum Stream {
    One(Incoming),
    Two(RecvStream),
}

/// Opens a connection with a watch per shard.
pub(super) async fn open(
    access: &Access,
    http: Http,
    revision: &str,
    shards: &[String],
    small: bool,
) -> anyhow::Result<Vec<Stream>> {
    let stream = access.connect(http).await?;
    if http == Http::One {
        let [shard] = shards else { anyhow::bail!("a connection of HTTP/1.1 has one watch") };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection); // it ends with its watch
        let request = request(access, http, revision, shard)?.map(|()| Empty::<Bytes>::new());
        return Ok(vec![Stream::One(body(sender.send_request(request).await?)?)]);
    }
    let (mut sender, connection) = h2::client::Builder::new()
        .initial_window_size(if small { SMALL_STREAM_WINDOW } else { STREAM_WINDOW })
        .initial_connection_window_size(CONNECTION_WINDOW)
        .enable_push(false)
        .handshake::<_, Bytes>(stream)
        .await?;
    tokio::spawn(connection); // it ends with its watches
    let mut answers = Vec::with_capacity(shards.len());
    for shard in shards {
        sender = sender.ready().await?;
        let (answer, _) = sender.send_request(request(access, http, revision, shard)?, true)?;
        answers.push(answer);
    }
    let mut streams = Vec::with_capacity(shards.len());
    for answer in answers {
        streams.push(Stream::Two(body(answer.await?)?));
    }
    Ok(streams)
}

impl Stream {
    /// Returns the next bytes. A stalled reader never releases its window, so nothing more can
    /// arrive.
    pub(super) async fn next(&mut self, stalled: bool) -> Option<anyhow::Result<Bytes>> {
        match self {
            Self::One(body) => loop {
                match body.frame().await? {
                    Ok(frame) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Some(Ok(bytes));
                        }
                    }
                    Err(error) => return Some(Err(error.into())),
                }
            },
            Self::Two(body) => {
                let bytes = match body.data().await? {
                    Ok(bytes) => bytes,
                    Err(error) => return Some(Err(error.into())),
                };
                if !stalled && let Err(error) = body.flow_control().release_capacity(bytes.len()) {
                    return Some(Err(error.into()));
                }
                Some(Ok(bytes))
            }
        }
    }
}

fn request(access: &Access, http: Http, revision: &str, shard: &str) -> anyhow::Result<Request<()>> {
    // One hour: no watch times out during a measurement.
    let path = format!(
        "{PATH}?watch=true&resourceVersion={revision}&timeoutSeconds=3600&labelSelector={SHARD}%3D{shard}"
    );
    let (address, token) = (access.address, format!("Bearer {}", access.token));
    let request = Request::get(match http {
        Http::One => path,
        Http::Two => format!("https://{address}{path}"),
    });
    let request = if http == Http::One { request.header(HOST, address.to_string()) } else { request };
    request.header(AUTHORIZATION, token).body(()).context("a request of ours is well formed")
}

fn body<B>(response: Response<B>) -> anyhow::Result<B> {
    ensure!(response.status() == StatusCode::OK, "a watch was answered {}", response.status());
    Ok(response.into_body())
}
