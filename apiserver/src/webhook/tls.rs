//! Certificates of a webhook server, reloaded while it runs.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use machinery_sync::Mutex;
use rustls::ServerConfig;

use super::metrics::WebhookMetrics;
use crate::auth::private::{self, FileError, Stamp};
use crate::tls::serving::{Serving, Source};

/// The TLS files of a webhook server, in PEM. Each is reloaded when it changes, also if it is a
/// symbolic link, as in a mounted Secret; an invalid one is logged, and the previous files stay in
/// use. Connections stay open.
#[derive(Clone, Debug)]
#[must_use]
pub struct WebhookTls {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

impl WebhookTls {
    /// The certificate, with its intermediates, and its private key.
    pub fn files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { certificate: certificate.into(), key: key.into(), client_ca: None }
    }

    /// Reviews only requests of clients with a certificate of these authorities: API servers, as
    /// configured by their `--admission-control-config-file`. Health and metrics stay open.
    pub fn client_ca(mut self, authorities: impl Into<PathBuf>) -> Self {
        self.client_ca = Some(authorities.into());
        self
    }
}

/// The current certificates.
pub(super) struct ReloadedTls {
    serving: Serving,
    pub(super) requires_client: bool,
    stamps: Mutex<Vec<Stamp>>,
}

impl ReloadedTls {
    pub(super) fn open(tls: WebhookTls, now: Timestamp) -> Result<Self, FileError> {
        let WebhookTls { certificate, key, client_ca } = tls;
        let requires_client = client_ca.is_some();
        let paths: Vec<PathBuf> = [&certificate, &key].into_iter().chain(&client_ca).cloned().collect();
        // Before reading, so that a concurrent change causes another reload.
        let stamps = Mutex::new(paths.iter().map(|path| private::stamp(path)).collect());
        let (serving, notes) = Serving::open(Source::Files { certificate, key, client_ca }, now)?;
        notes.iter().for_each(|note| tracing::warn!("{note}"));
        Ok(Self { serving, requires_client, stamps })
    }

    /// Returns the configuration of the next connection.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.serving.config()
    }

    /// Reloads changed files.
    pub(super) fn reload(&self, now: Timestamp, metrics: &WebhookMetrics) {
        let stamps: Vec<Stamp> = self.serving.paths().iter().map(|path| private::stamp(path)).collect();
        // Also before a failure: invalid files are reported once for each change.
        if std::mem::replace(&mut *self.stamps.lock(), stamps.clone()) == stamps {
            return;
        }
        let reloaded = self.serving.reload(now);
        metrics.reloaded(reloaded.is_ok());
        match reloaded {
            Ok(notes) => {
                tracing::info!("the certificates of the webhook were reloaded");
                notes.iter().for_each(|note| tracing::warn!("{note}"));
            }
            Err(error) => {
                tracing::warn!(%error, "the new certificates are invalid; the former ones stay in use")
            }
        }
    }
}
