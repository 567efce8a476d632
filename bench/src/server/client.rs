//! A client: an HTTP/2 connection over TLS, shared by its clones. It is lean, since it shares the
//! cores with the server: request bodies are prepared, and answers are not parsed.

use super::access::{Access, Http};
use anyhow::{Context, ensure};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// The stream window of Go's clients.
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

#[derive(Clone)]
pub(crate) struct Client {
    sender: http2::SendRequest<Full<Bytes>>,
    base: String,
    headers: HeaderMap,
}

impl Client {
    pub(crate) async fn connect(access: &Access) -> anyhow::Result<Self> {
        let stream = access.connect(Http::Two).await?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        tokio::spawn(connection); // it ends with its sender
        let json = HeaderValue::from_static("application/json");
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {}", access.token))?);
        headers.insert(USER_AGENT, HeaderValue::from_static("machinery-bench"));
        headers.insert(ACCEPT, json.clone());
        headers.insert(CONTENT_TYPE, json);
        Ok(Self { sender, base: format!("https://{}", access.address), headers })
    }

    pub(crate) async fn post(&mut self, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        self.expect(Method::POST, path, body, StatusCode::CREATED).await
    }

    pub(crate) async fn put(&mut self, path: &str, body: Bytes) -> anyhow::Result<Bytes> {
        self.expect(Method::PUT, path, body, StatusCode::OK).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> anyhow::Result<Bytes> {
        self.expect(Method::GET, path, Bytes::new(), StatusCode::OK).await
    }

    /// Returns the status of an answer, ignoring its body.
    pub(crate) async fn status(&mut self, path: &str) -> anyhow::Result<StatusCode> {
        let (status, body) = self.send(Method::GET, path, Bytes::new()).await?;
        body.collect().await?;
        Ok(status)
    }

    /// Sends a request and returns the status of its answer, ignoring its body.
    pub(crate) async fn attempt(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<StatusCode> {
        let (status, body) = self.send(method, path, body).await?;
        body.collect().await?;
        Ok(status)
    }

    /// Returns the length of an answer, discarding it.
    pub(crate) async fn length(&mut self, path: &str) -> anyhow::Result<usize> {
        let (status, mut body) = self.send(Method::GET, path, Bytes::new()).await?;
        ensure!(status == StatusCode::OK, "GET {path} was answered {status}");
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame?.data_ref().map_or(0, Bytes::len);
        }
        Ok(length)
    }

    async fn expect(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        expected: StatusCode,
    ) -> anyhow::Result<Bytes> {
        let (status, body) = self.send(method, path, body).await?;
        let body = body.collect().await?.to_bytes();
        let begin = &body[..body.len().min(500)];
        ensure!(status == expected, "{path} was answered {status}: {}", String::from_utf8_lossy(begin));
        Ok(body)
    }

    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> anyhow::Result<(StatusCode, Incoming)> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.base).parse()?;
        *request.headers_mut() = self.headers.clone();
        self.sender.ready().await.context("the connection has ended")?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        Ok((head.status, body))
    }
}
