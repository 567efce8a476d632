//! Accepts connections: the socket, its queue, and places within the limits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use super::cancellations::Cancellations;
use super::client::ConnectionClient;
use super::connection::{DRAIN, serve};
use super::descriptors;
use super::origin::LocalNames;
use super::send_progress::StreamExecutor;
use super::unauthenticated::ConnectionPlaces;
use crate::metrics::Event;
use crate::server::Shared;
use crate::tls::serving::Serving;

/// Connections that the kernel queues, within its own limit (`net.core.somaxconn`).
const BACKLOG: u32 = 8192;
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(50);

/// The protection of a listener's connections.
#[derive(Clone)]
pub(super) enum Protection {
    /// TLS; each request is authenticated, by certificate or token.
    Tls(Arc<Serving>),
    /// None: every client is an administrator. Requests of web pages are refused.
    Insecure(Arc<LocalNames>),
}

/// Binds a socket.
pub(super) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until the server stops, then drains them.
pub(super) async fn accept(shared: Arc<Shared>, socket: TcpListener, protection: Protection) {
    let open = TaskTracker::new();
    let limits = &shared.limits;
    let places = ConnectionPlaces::new(descriptors::connections(limits.connections), limits.unauthenticated);
    let cancellations = Arc::<Cancellations>::default();
    loop {
        let next = shared.stopping.run_until_cancelled(next(&shared, &places, &socket)).await;
        let Some(Some((stream, place))) = next else { break };
        let (unauthenticated, displaced) = match protection {
            Protection::Tls(_) => {
                let (place, displaced) = places.unauthenticated.open();
                (Some(place), Some(displaced))
            }
            Protection::Insecure(_) => (None, None),
        };
        let client = ConnectionClient::new(unauthenticated, cancellations.clone());
        let streams = StreamExecutor { shared: shared.clone(), tasks: open.clone() };
        let (shared, protection) = (shared.clone(), protection.clone());
        open.spawn(async move {
            let _place = (place, shared.metrics.connected());
            let displaced = async {
                match displaced {
                    Some(displaced) => displaced.closed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = displaced => shared.metrics.counted.add(Event::Displaced),
                () = serve(streams, stream, protection, client) => {}
            }
        });
    }
    drop(socket);
    open.close();
    let _ = timeout(DRAIN, open.wait()).await;
}

/// Waits for a place and then for a connection: others wait in the kernel's queue.
async fn next(
    shared: &Shared,
    places: &ConnectionPlaces,
    socket: &TcpListener,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.place().await?;
    loop {
        match socket.accept().await {
            Ok((stream, _)) => return Some((stream, place)),
            Err(error) => {
                // The connection was aborted, or descriptors are exhausted: others will close.
                if descriptors::are_exhausted(&error) {
                    shared.metrics.counted.add(Event::NoDescriptor);
                    places.unauthenticated.close_oldest();
                }
                sleep(PAUSE).await;
            }
        }
    }
}
