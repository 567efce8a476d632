//! How a client is put together.

use std::time::Duration;

use http::Uri;
use kube_client::client::{ClientBuilder, ConfigExt};
use kube_client::{Client, Config};
use tower_layer::Layer;

use super::dial::dial;
use super::pool::Pool;
use crate::text::excerpt;

/// How many connections there may be, and how dead ones are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Requests at the same time on a connection of HTTP/2, at most as many as its server takes. One more makes another
    /// connection.
    pub streams: usize,
    /// Connections at the same time. What needs one more is an error. Over HTTP/1.1 each watch has its own.
    pub most: usize,
    /// Connections of HTTP/1.1 that are kept while nobody uses them.
    pub idle: usize,
    /// How long a connection of HTTP/2 may be silent, with requests on it, before it is asked for a sign of life.
    pub ping_after: Duration,
    /// How long that may take. Then the connection is dead, and what was on it has failed.
    pub ping_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            streams: 90,
            most: 1024,
            idle: 16,
            ping_after: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
        }
    }
}

/// Why there can be no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The certificates, credentials or headers of the configuration cannot be used.
    #[error("the configuration cannot be used: {0}")]
    Config(#[source] kube_client::Error),
    /// The name by which the server is to be known is none.
    #[error("`{name}` cannot be the name of a server, correct tls-server-name")]
    ServerName {
        /// The name.
        name: String,
    },
    /// There is no way through such a proxy.
    #[error("`{proxy}` is no proxy, its URL begins with http://, https:// or socks5://")]
    Proxy {
        /// Its URL, without who uses it.
        proxy: String,
    },
    /// The server has no address.
    #[error("`{url}` is no address of a server, it is like https://example.com:6443")]
    Address {
        /// The URL.
        url: String,
    },
}

/// A client for a configuration of kube: its credentials, proxies and headers, over HTTP/2 where the server speaks it and
/// over HTTP/1.1 where it does not. It connects when it is asked something, and must be made in a runtime of tokio.
///
/// Timeouts of reading and writing and the retries of the configuration are not looked at: pings find what is dead, and
/// who asks knows when to ask again. Answers are not compressed.
///
/// # Errors
/// The configuration cannot be used.
///
/// # Panics
/// Outside a runtime of tokio; and if rustls was built with two providers of cryptography, and the program has installed
/// neither.
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

/// Where all requests go: scheme and authority.
fn target(url: &Uri) -> Uri {
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    parts.scheme = parts.scheme.or(Some(http::uri::Scheme::HTTP));
    Uri::from_parts(parts).unwrap_or_else(|_| url.clone())
}
