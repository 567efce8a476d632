//! Connections over TLS, as bytes.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A certificate and its key.
pub(crate) type Shown = (CertificateDer<'static>, PrivateKeyDer<'static>);

/// Connects to `localhost` as a client that trusts only the authorities in `ca`, shows this
/// certificate, and offers this protocol (by its ALPN name).
pub(crate) async fn connect(
    address: SocketAddr,
    ca: &str,
    protocol: &str,
    shown: Option<Shown>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let mut config = match shown {
        Some((certificate, key)) => config.with_client_auth_cert(vec![certificate], key).unwrap(),
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.into()];
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
