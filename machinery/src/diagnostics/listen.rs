//! The HTTP server of the diagnostics pages.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::DiagnosticsRegistry;
use super::page::{Page, page};
use crate::plane::TaskGroup;

/// The address cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: stop the program that uses it, or choose another address")]
pub struct DiagnosticsError {
    /// The address.
    pub address: SocketAddr,
    /// The I/O error of binding the address.
    #[source]
    pub why: std::io::Error,
}

/// Limits of concurrent connections, and of the time of each.
const MAX_CONNECTIONS: usize = 64;
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Number of ports that [`Plane::diagnostics_from`](crate::Plane::diagnostics_from) tries.
pub const PORTS: u16 = 16;

/// Serves the pages on the first free port from that of the address on.
pub(crate) async fn listen_from(
    diagnostics: Arc<DiagnosticsRegistry>,
    first: SocketAddr,
    running: &TaskGroup,
) -> Result<SocketAddr, DiagnosticsError> {
    let mut address = first;
    loop {
        match listen(diagnostics.clone(), address, running).await {
            Err(DiagnosticsError { why, .. })
                if why.kind() == std::io::ErrorKind::AddrInUse
                    && address.port() < u16::MAX
                    && address.port() + 1 < first.port().saturating_add(PORTS) =>
            {
                address.set_port(address.port() + 1);
            }
            bound => return bound,
        }
    }
}

/// Binds the address, serves the pages, and returns the bound address.
pub(crate) async fn listen(
    diagnostics: Arc<DiagnosticsRegistry>,
    address: SocketAddr,
    running: &TaskGroup,
) -> Result<SocketAddr, DiagnosticsError> {
    let why = |why| DiagnosticsError { address, why };
    let socket = TcpListener::bind(address).await.map_err(why)?;
    let local = socket.local_addr().map_err(why)?;
    running.spawn("the pages", accept(diagnostics, socket, running.clone()));
    Ok(local)
}

async fn accept(diagnostics: Arc<DiagnosticsRegistry>, socket: TcpListener, running: TaskGroup) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = running.stopping().cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(Duration::from_millis(50)).await; // possibly out of descriptors
            continue;
        };
        // Closed, not queued: a waiting client would hold a descriptor.
        let Ok(permit) = permits.clone().try_acquire_owned() else { continue };
        let (diagnostics, stopping) = (diagnostics.clone(), running.stopping().clone());
        running.spawn("a page that is read", async move {
            let _permit = permit;
            let served = timeout(CONNECTION_TIMEOUT, serve(diagnostics, stream));
            let _ = stopping.run_until_cancelled(served).await;
        });
    }
}

async fn serve(diagnostics: Arc<DiagnosticsRegistry>, stream: TcpStream) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&diagnostics, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut connection = http1::Builder::new();
    // One request per connection: an idle scraper must not hold one of the few.
    connection.timer(TokioTimer::new()).header_read_timeout(CONNECTION_TIMEOUT).keep_alive(false);
    // The client has disconnected.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

fn answer(diagnostics: &DiagnosticsRegistry, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let page = match *request.method() {
        Method::GET | Method::HEAD => {
            page(diagnostics, request.uri().path(), request.uri().query().unwrap_or_default())
        }
        _ => Page { status: 405, kind: "text/plain", text: "these pages are to be read\n".into() },
    };
    let mut response = Response::new(Full::from(page.text));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(page.kind));
    response
}
