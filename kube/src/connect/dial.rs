//! Opens connections: with or without a proxy, with or without TLS.

use std::error::Error;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use kube_client::Config;
use kube_client::client::ConfigExt;
use percent_encoding::percent_decode_str;
use tower_service::Service;

use super::client::ConnectError;

pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Opens connections.
pub(super) type Dial = Arc<dyn Fn(Uri) -> BoxFuture<'static, Result<Dialed, BoxError>> + Send + Sync>;

/// A new connection before its handshake.
pub(super) struct Dialed {
    pub(super) io: Box<dyn Io>,
    pub(super) is_http2: bool,
}

/// A bidirectional byte stream.
pub(super) trait Io: Read + Write + Send + Unpin {}
impl<T: Read + Write + Send + Unpin> Io for T {}

/// TCP keep-alive interval. Over HTTP/1.1 it is the only detection of dead connections.
const KEEPALIVE: Duration = Duration::from_secs(30);

pub(super) fn dial(config: &Config) -> Result<Dial, ConnectError> {
    let mut tcp = HttpConnector::new();
    // TLS is added outside of this connector, which therefore receives https URLs.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
    let Some(proxy) = &config.proxy_url else { return Ok(over(secured(config, tcp)?)) };
    match proxy.scheme_str() {
        Some("http") => Ok(over(secured(config, tunnel(proxy, tcp))?)),
        Some("https") => {
            let tls = config.rustls_client_config().map_err(ConnectError::Config)?;
            let to_proxy = HttpsConnectorBuilder::new()
                .with_tls_config(tls)
                .https_or_http()
                // `CONNECT` is sent over HTTP/1.1, so `h2` must not be offered to the proxy.
                .enable_http1()
                .wrap_connector(tcp);
            Ok(over(secured(config, tunnel(proxy, to_proxy))?))
        }
        Some("socks5") => {
            let mut socks = SocksV5::new(proxy.clone(), tcp);
            if let Some((user, password)) = credentials(proxy) {
                socks = socks.with_auth(user, password);
            }
            Ok(over(secured(config, socks)?))
        }
        _ => {
            let scheme = proxy.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
            let host = proxy.host().unwrap_or_default();
            Err(ConnectError::Proxy { proxy: format!("{scheme}{host}") })
        }
    }
}

/// Adds TLS to the server if its URL requires it. Both versions of HTTP are offered.
fn secured<C>(config: &Config, connector: C) -> Result<HttpsConnector<C>, ConnectError> {
    let tls = config.rustls_client_config().map_err(ConnectError::Config)?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let wrong = |_| ConnectError::ServerName { name: name.clone() };
        builder = builder
            .with_server_name_resolver(FixedServerNameResolver::new(name.clone().try_into().map_err(wrong)?));
    }
    Ok(builder.enable_all_versions().wrap_connector(connector))
}

fn over<C>(connector: C) -> Dial
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Io + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    Arc::new(move |target| {
        let mut connector = connector.clone();
        Box::pin(async move {
            poll_fn(|cx| connector.poll_ready(cx)).await.map_err(Into::into)?;
            let io = connector.call(target).await.map_err(Into::into)?;
            let is_http2 = io.connected().is_negotiated_h2();
            Ok(Dialed { io: Box::new(io), is_http2 })
        })
    })
}

fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let basic = credentials(proxy).and_then(|(user, password)| basic(&user, &password));
    match basic {
        Some(basic) => tunnel.with_auth(basic),
        None => tunnel,
    }
}

/// Returns the credentials in a proxy's URL.
fn credentials(proxy: &Uri) -> Option<(String, String)> {
    let (who, _) = proxy.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = who.split_once(':').unwrap_or((who, ""));
    let plain = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((plain(user), plain(password)))
}

fn basic(user: &str, password: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::try_from(format!("Basic {text}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_credentials_are_parsed_from_the_url() {
        let check = |url: &'static str, expected: Option<(&str, &str)>| {
            let found = credentials(&Uri::from_static(url));
            assert_eq!(found.as_ref().map(|(user, password)| (user.as_str(), password.as_str())), expected);
        };
        check("http://proxy:3128", None);
        check("http://me:pass@proxy:3128", Some(("me", "pass")));
        check("http://me:p%40ss%3Aword@proxy", Some(("me", "p@ss:word")));
        check("socks5://me@proxy", Some(("me", "")));
        assert_eq!(basic("me", "p@ss").unwrap(), "Basic bWU6cEBzcw==");
    }
}
