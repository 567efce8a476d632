//! What a kubeconfig says: where a server is, how to know it, and who we are.

use anyhow::Context;
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

#[derive(Clone)]
pub(super) struct Access {
    pub(super) address: SocketAddr,
    pub(super) name: ServerName<'static>,
    pub(super) token: String,
    pub(super) tls: Arc<ClientConfig>,
}

impl Access {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not as expected", path.display()))
    }

    fn parse(kubeconfig: &str) -> anyhow::Result<Self> {
        let config: Value = serde_saphyr::from_str(kubeconfig)?;
        let text =
            |path: &str| config.pointer(path).and_then(Value::as_str).with_context(|| format!("no {path}"));
        let url = text("/clusters/0/cluster/server")?;
        let address: SocketAddr = url.strip_prefix("https://").context("not https")?.parse()?;
        let authority = STANDARD.decode(text("/clusters/0/cluster/certificate-authority-data")?)?;
        let token = text("/users/0/user/token")?.to_owned();
        Ok(Self { address, name: address.ip().into(), token, tls: Arc::new(tls(&authority)?) })
    }
}

/// One cipher for all servers, the one that Go's clients prefer: so that encryption costs both sides the same.
fn tls(authority: &[u8]) -> anyhow::Result<ClientConfig> {
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
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}
