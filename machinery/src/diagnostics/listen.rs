//! The pages on a socket.

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

use super::Shown;
use super::page::{Page, page};
use crate::plane::Running;

/// There is nowhere to listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: end what listens there, or choose another address")]
pub struct DiagnosticsError {
    /// Where.
    pub address: SocketAddr,
    /// Why not.
    #[source]
    pub why: std::io::Error,
}

/// So many who ask at once, and so long for each.
const PLACES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(30);

/// Listens, and says where.
pub(crate) async fn listen(
    shown: Arc<Shown>,
    address: SocketAddr,
    running: &Running,
) -> Result<SocketAddr, DiagnosticsError> {
    let why = |why| DiagnosticsError { address, why };
    let socket = TcpListener::bind(address).await.map_err(why)?;
    let there = socket.local_addr().map_err(why)?;
    running.spawn("the pages", accept(shown, socket, running.clone()));
    Ok(there)
}

async fn accept(shown: Arc<Shown>, socket: TcpListener, running: Running) {
    let places = Arc::new(Semaphore::new(PLACES));
    loop {
        let accepted = tokio::select! {
            biased;
            () = running.stopping().cancelled() => return,
            accepted = socket.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(Duration::from_millis(50)).await; // no descriptor is left, perhaps
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let (shown, stopping) = (shown.clone(), running.stopping().clone());
        running.spawn("a page that is read", async move {
            let _place = place;
            let served = timeout(PATIENCE, serve(shown, stream));
            let _ = stopping.run_until_cancelled(served).await;
        });
    }
}

async fn serve(shown: Arc<Shown>, stream: TcpStream) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(&shown, &request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut connection = http1::Builder::new();
    connection.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
    // Whoever asked has gone: there is nobody to tell.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

fn answer(shown: &Shown, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let page = match *request.method() {
        Method::GET | Method::HEAD => {
            page(shown, request.uri().path(), request.uri().query().unwrap_or_default())
        }
        _ => Page { status: 405, kind: "text/plain", text: "these pages are to be read\n".into() },
    };
    let mut response = Response::new(Full::from(page.text));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(page.kind));
    response
}
