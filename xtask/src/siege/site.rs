//! The besieged server as all threads see it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::shell;

/// Users of the siege: the name, which is also the token.
pub(super) const POLITE: &str = "polite";
/// May read ConfigMaps.
pub(super) const VIEWER: &str = "viewer";
/// May create Secrets, which a webhook reviews.
pub(super) const WRITER: &str = "writer";
/// May do everything in the namespace `attacked`.
pub(super) const OWNER: &str = "owner";
/// May do nothing.
pub(super) const NOBODY: &str = "nobody";

pub(super) const USERS: [&str; 5] = [POLITE, VIEWER, WRITER, OWNER, NOBODY];

/// Address and certificates of the server, and the state of the siege.
pub(super) struct SiegeSite {
    pub(super) address: SocketAddr,
    pub(super) admin_token: String,
    /// The certificate authority in base64, as webhook configurations have it.
    pub(super) authority: String,
    pub(super) name: ServerName<'static>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) tls_h2: Arc<ClientConfig>,
    began: Instant,
    stopped: AtomicBool,
    /// Milliseconds of the siege at the last start of the server.
    ready_ms: AtomicU64,
}

impl SiegeSite {
    pub(super) fn new(kubeconfig: &str, authority_pem: &[u8]) -> anyhow::Result<Self> {
        let config: serde_json::Value = serde_saphyr::from_str(kubeconfig)?;
        let text = |path: &str| {
            let text = config.pointer(path).and_then(serde_json::Value::as_str);
            text.map(str::to_owned).with_context(|| format!("the kubeconfig has no {path}"))
        };
        let url = text("/clusters/0/cluster/server")?;
        let address: SocketAddr = url.strip_prefix("https://").context("the server has no TLS")?.parse()?;
        Ok(Self {
            address,
            admin_token: text("/users/0/user/token")?,
            authority: text("/clusters/0/cluster/certificate-authority-data")?,
            name: address.ip().into(),
            tls: Arc::new(tls(authority_pem, b"http/1.1")?),
            tls_h2: Arc::new(tls(authority_pem, b"h2")?),
            began: shell::now(),
            stopped: AtomicBool::new(false),
            ready_ms: AtomicU64::new(0),
        })
    }

    /// Returns whether the siege has ended.
    pub(super) fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the duration of the siege until now.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Records that the server accepts connections again.
    pub(super) fn came_up(&self) {
        let now = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.ready_ms.store(now, Ordering::SeqCst);
    }

    /// Returns the time of the last start of the server.
    pub(super) fn ready_at(&self) -> Duration {
        Duration::from_millis(self.ready_ms.load(Ordering::SeqCst))
    }
}

/// Waits. Every loop of this program waits for something of another process.
#[expect(clippy::disallowed_methods, reason = "a tool that attacks a process in real time")]
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn tls(authority: &[u8], protocol: &[u8]) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}
