//! The HTTPS server of the admission webhook. Stateless.

use std::convert::Infallible;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use machinery::apiserver::{LingerLimits, LingeringStream, TrackedBody, track_body};
use machinery::tokio::net::{TcpListener, TcpStream};
use machinery::tokio::sync::Semaphore;
use machinery::tokio::time::{sleep, timeout};
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::model::{ReviewKind, review};

/// The TLS files, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// A bound webhook server.
pub struct WebhookServer {
    listener: TcpListener,
    files: TlsFiles,
    acceptor: TlsAcceptor,
    /// Modification times of the loaded files.
    read: [Option<SystemTime>; 2],
}

/// Size limit of a request body, twice that of our largest objects.
const BODY: usize = 8 << 20;
/// Time limit of a TLS handshake, of a request head and of a body.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of connections; more wait.
const CONNECTIONS: usize = 256;
/// Grace period of requests in flight at shutdown.
const END: Duration = Duration::from_secs(5);

impl WebhookServer {
    /// Binds the server.
    ///
    /// # Errors
    /// The address is taken, or the files are invalid.
    pub async fn bind(address: SocketAddr, files: TlsFiles) -> machinery::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let (read, acceptor) = (written(&files), acceptor(&files)?);
        Ok(Self { listener, files, acceptor, read })
    }

    /// Returns the bound address.
    ///
    /// # Errors
    /// The system call fails.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until cancelled, then completes requests in flight.
    pub async fn run(mut self, stopping: CancellationToken) {
        let (tasks, room) = (TaskTracker::new(), Arc::new(Semaphore::new(CONNECTIONS)));
        loop {
            let accepted = async {
                // Before the accept: connections beyond the limit wait in the kernel.
                let permit = room.clone().acquire_owned().await;
                (self.listener.accept().await, permit)
            };
            let Some((accepted, permit)) = stopping.run_until_cancelled(accepted).await else { break };
            let Ok((stream, _)) = accepted else {
                sleep(TIME_LIMIT / 100).await;
                continue;
            };
            self.reload();
            let (acceptor, ends) = (self.acceptor.clone(), stopping.clone());
            tasks.spawn(async move {
                serve(acceptor, stream, ends).await;
                drop(permit);
            });
        }
        tasks.close();
        let _ = timeout(END, tasks.wait()).await;
    }

    /// Reloads changed files; invalid ones are ignored.
    fn reload(&mut self) {
        let written = written(&self.files);
        if written == self.read {
            return;
        }
        // Also before a failure: invalid files are reported once for each change.
        self.read = written;
        match acceptor(&self.files) {
            Ok(acceptor) => self.acceptor = acceptor,
            Err(error) => {
                tracing::warn!(%error, "the new certificate is invalid; the former one stays in use")
            }
        }
    }
}

fn written(files: &TlsFiles) -> [Option<SystemTime>; 2] {
    [&files.certificate, &files.key].map(|path| fs::metadata(path).and_then(|of| of.modified()).ok())
}

fn acceptor(files: &TlsFiles) -> machinery::Result<TlsAcceptor> {
    let wrong =
        |path: &Path, error: &dyn std::fmt::Display| format!("{} cannot be used: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(&files.certificate, &error))?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| wrong(&files.key, &error))?;
    let config =
        ServerConfig::builder_with_provider(Arc::new(tokio_rustls::rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| wrong(&files.certificate, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, stopping: CancellationToken) {
    let stream = LingeringStream::new(stream, LingerLimits::default());
    let Ok(Ok(stream)) = timeout(TIME_LIMIT, acceptor.accept(stream)).await else { return };
    let mut connection = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(TIME_LIMIT)
            .serve_connection(TokioIo::new(stream), service_fn(answered))
    );
    machinery::tokio::select! {
        biased;
        () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
        _ = connection.as_mut() => return,
    }
    let _ = connection.await;
}

async fn answered(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (request, unread) = track_body(request);
    let (status, body) = match answer(request).await {
        Ok(body) => (StatusCode::OK, body),
        Err((status, why)) => (status, format!("{why}\n")),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if status == StatusCode::OK {
        let json = hyper::header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(hyper::header::CONTENT_TYPE, json);
    }
    Ok(unread.close_after(response))
}

async fn answer(request: Request<TrackedBody<Incoming>>) -> Result<String, (StatusCode, String)> {
    let kind = match (request.method(), request.uri().path()) {
        (&Method::GET, "/healthz") => return Ok("{}".into()),
        (&Method::POST, "/mutate") => ReviewKind::Mutate,
        (&Method::POST, "/validate") => ReviewKind::Validate,
        (_, "/mutate" | "/validate") => {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "send a review by POST".into()));
        }
        _ => return Err((StatusCode::NOT_FOUND, "there are /mutate, /validate and /healthz".into())),
    };
    let body = timeout(TIME_LIMIT, Limited::new(request.into_body(), BODY).collect()).await;
    let body = body
        .map_err(|_| (StatusCode::REQUEST_TIMEOUT, "the review did not come in time".to_owned()))?
        .map_err(|error| (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()))?;
    let wrong = |error: String| (StatusCode::BAD_REQUEST, error);
    let review_body = serde_json::from_slice(&body.to_bytes()).map_err(|error| wrong(error.to_string()))?;
    review(kind, &review_body, jiff::Timestamp::now()).map(|answer| answer.to_string()).map_err(wrong)
}
