//! Creates a client of kube over a connection pool.

use std::time::Duration;

use http::Uri;
use kube_client::client::{ClientBuilder, ConfigExt};
use kube_client::{Client, Config};
use tower_layer::Layer;

use super::dial::dial;
use super::pool::Pool;
use crate::text::excerpt;

/// Limits of connections, and the detection of dead ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Maximum concurrent requests per HTTP/2 connection, below the server's own limit. A further
    /// request opens another connection.
    pub max_streams: usize,
    /// Maximum number of connections. A request that needs a further one fails. Over HTTP/1.1 each
    /// watch needs its own.
    pub max_connections: usize,
    /// Maximum number of idle HTTP/1.1 connections that are kept.
    pub max_idle: usize,
    /// Time without received data after which an HTTP/2 connection with open requests is pinged.
    pub ping_after: Duration,
    /// Timeout of a ping. Then the connection is dead, and its requests fail.
    pub ping_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            max_streams: 90,
            max_connections: 1024,
            max_idle: 16,
            ping_after: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
        }
    }
}

/// A configuration from which no client can be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The certificates, credentials or headers of the configuration are invalid.
    #[error("the configuration cannot be used: {0}")]
    Config(#[source] kube_client::Error),
    /// The TLS server name is invalid.
    #[error("`{name}` cannot be the name of a server, correct tls-server-name")]
    ServerName {
        /// The name.
        name: String,
    },
    /// The proxy has an unsupported scheme.
    #[error("`{proxy}` is no proxy, its URL begins with http://, https:// or socks5://")]
    Proxy {
        /// Its URL, without credentials.
        proxy: String,
    },
    /// The URL of the server is invalid.
    #[error("`{url}` is no address of a server, it is like https://example.com:6443")]
    Address {
        /// The URL.
        url: String,
    },
}

/// Creates a client for a configuration of kube, with its credentials, proxies and headers, over
/// HTTP/2 or, if the server does not support it, HTTP/1.1. It connects at the first request, and
/// must be created in a tokio runtime.
///
/// Read and write timeouts and the retries of the configuration are ignored: pings detect dead
/// connections, and callers decide on retries. Responses are not compressed.
///
/// # Errors
/// If the configuration is invalid.
///
/// # Panics
/// Outside a tokio runtime; and if rustls was built with two crypto providers, and the program has
/// installed neither.
pub fn client(config: Config, connections: Connections) -> Result<Client, ConnectError> {
    let url = &config.cluster_url;
    if url.host().is_none_or(str::is_empty) {
        return Err(ConnectError::Address { url: excerpt(&url.to_string()) });
    }
    let pool = Pool::new(dial(&config)?, target(url), config.connect_timeout, connections);
    let headers = config.extra_headers_layer().map_err(ConnectError::Config)?;
    let auth = config.auth_layer().map_err(ConnectError::Config)?;
    let base = config.base_uri_layer();
    let namespace = config.default_namespace;
    let inner = headers.layer(pool);
    Ok(match auth {
        Some(auth) => ClientBuilder::new(base.layer(auth.layer(inner)), namespace).build(),
        None => ClientBuilder::new(base.layer(inner), namespace).build(),
    })
}

/// Returns scheme and authority of all requests.
fn target(url: &Uri) -> Uri {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    parts.scheme = parts.scheme.or(Some(http::uri::Scheme::HTTP));
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}
