//! Access data of a kubeconfig: address, certificate authority and credentials.

use anyhow::{Context, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::ring::{cipher_suite::TLS13_AES_128_GCM_SHA256, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

#[derive(Clone)]
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// The certificate authority in base64, as in a kubeconfig and in a `caBundle`.
    pub(crate) authority: String,
    name: ServerName<'static>,
    tls: [Arc<ClientConfig>; 2],
}

/// The HTTP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Http {
    One,
    Two,
}

impl Access {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not as expected", path.display()))
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self, http: Http) -> anyhow::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let tls = self.tls[usize::from(http == Http::Two)].clone();
        let stream = TlsConnector::from(tls).connect(self.name.clone(), stream).await?;
        let spoken = stream.get_ref().1.alpn_protocol();
        ensure!(spoken == Some(http.name()), "the server does not speak {http:?} of HTTP");
        Ok(stream)
    }

    fn parse(kubeconfig: &str) -> anyhow::Result<Self> {
        let config: Value = serde_saphyr::from_str(kubeconfig)?;
        let text =
            |path: &str| config.pointer(path).and_then(Value::as_str).with_context(|| format!("no {path}"));
        let url = text("/clusters/0/cluster/server")?;
        let address: SocketAddr = url.strip_prefix("https://").context("not https")?.parse()?;
        let encoded = text("/clusters/0/cluster/certificate-authority-data")?.to_owned();
        let authority = STANDARD.decode(&encoded)?;
        let token = text("/users/0/user/token")?.to_owned();
        let tls = [tls(&authority, Http::One)?, tls(&authority, Http::Two)?].map(Arc::new);
        Ok(Self { address, token, authority: encoded, name: address.ip().into(), tls })
    }

    /// Returns the access of another user.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }
}

impl Http {
    const fn name(self) -> &'static [u8] {
        match self {
            Self::One => b"http/1.1",
            Self::Two => b"h2",
        }
    }
}

/// One cipher for all servers, Go's preferred one, so that encryption costs the same.
fn tls(authority: &[u8], http: Http) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate?)?;
    }
    let mut provider = default_provider();
    provider.cipher_suites = vec![TLS13_AES_128_GCM_SHA256];
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![http.name().to_vec()];
    Ok(config)
}
