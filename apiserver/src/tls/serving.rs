//! The TLS configuration of connections, reloaded while running.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use machinery_sync::Swap;
use rustls::crypto::ring;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

#[cfg(feature = "server")]
use super::own::GeneratedCertificates;
use super::pem;
use super::wall_clock::WallClock;
use crate::auth::private::FileError;

/// Certificates with less validity left cause a warning.
const SPARE_SECONDS: i64 = 30 * 24 * 3600;

/// The source of the certificates.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The server makes them. Clients are known by the same authority.
    #[cfg(feature = "server")]
    Own(GeneratedCertificates),
    /// Another program does, and replaces these files.
    Files {
        /// The server's certificate chain.
        certificate: PathBuf,
        key: PathBuf,
        /// The authority of clients. None: clients show no certificates.
        client_ca: Option<PathBuf>,
    },
}

/// TLS 1.2 and 1.3, for HTTP/2 and HTTP/1.1. Client certificates are
/// optional, and an invalid one is rejected.
#[derive(Debug)]
pub(crate) struct Serving {
    source: Source,
    config: Swap<ServerConfig>,
}

impl Serving {
    /// Reads the certificates, or generates them. Also returns messages for users: generated
    /// certificates, upcoming expirations.
    pub(crate) fn open(source: Source, now: Timestamp) -> Result<(Self, Vec<String>), FileError> {
        let (config, notes) = load(&source, now)?;
        Ok((Self { source, config: Swap::new(Arc::new(config)) }, notes))
    }

    /// Returns the configuration of the next connection; call it for each. Existing connections
    /// keep theirs.
    ///
    /// The whole configuration is replaced, not only the certificate: a client of a removed
    /// authority cannot come back by resuming its session.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.config.load()
    }

    /// The files that it is read from.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match &self.source {
            #[cfg(feature = "server")]
            Source::Own(own) => own.paths().into(),
            Source::Files { certificate, key, client_ca } => {
                [certificate, key].into_iter().chain(client_ca).cloned().collect()
            }
        }
    }

    /// Returns the authority of the server, in PEM. `None`: one that the clients' systems trust.
    ///
    /// For external certificates that is the last of the chain if it is self-signed: others are
    /// replaced sooner than a kubeconfig.
    #[cfg(feature = "server")]
    pub(crate) fn ca(&self) -> Result<Option<String>, FileError> {
        match &self.source {
            Source::Own(own) => {
                let [.., path] = own.paths();
                crate::auth::private::read(&path)
            }
            Source::Files { certificate, .. } => {
                let chain = pem::certificates(certificate)?;
                Ok(chain.last().filter(|last| pem::is_self_signed(last)).map(pem::written))
            }
        }
    }

    /// Reads the certificates again, and renews generated ones that expire soon: to be called
    /// periodically, and on a signal. If a file is invalid, the current configuration stays, and
    /// the error has the reason.
    pub(crate) fn reload(&self, now: Timestamp) -> Result<Vec<String>, FileError> {
        #[cfg(feature = "server")]
        if let Source::Own(own) = &self.source {
            own.check_authority()?;
        }
        let (config, notes) = load(&self.source, now)?;
        self.config.swap(Arc::new(config));
        Ok(notes)
    }
}

#[cfg(feature = "server")]
impl Source {
    /// Checks that the existing files can be used. Writes nothing.
    pub(crate) fn check(&self, now: Timestamp) -> Result<(), FileError> {
        match self {
            Self::Own(own) => own.check(),
            Self::Files { .. } => load(self, now).map(|_| ()),
        }
    }
}

fn load(source: &Source, now: Timestamp) -> Result<(ServerConfig, Vec<String>), FileError> {
    match source {
        #[cfg(feature = "server")]
        Source::Own(own) => {
            let mut notes = own.open(now)?.notes;
            let [certificate, key, ca] = own.paths();
            let (config, more) = config(&certificate, &key, Some(&ca), now)?;
            notes.extend(more);
            Ok((config, notes))
        }
        Source::Files { certificate, key, client_ca } => config(certificate, key, client_ca.as_deref(), now),
    }
}

fn config(
    certificate: &Path,
    key_path: &Path,
    client_ca: Option<&Path>,
    now: Timestamp,
) -> Result<(ServerConfig, Vec<String>), FileError> {
    let provider = Arc::new(ring::default_provider());
    let chain = pem::certificates(certificate)?;
    let first = chain.first().expect("a file without certificates is refused");
    let replace = "put a new one there";
    let parsed = pem::parsed(first).map_err(|what| FileError::new(certificate, what, replace))?;
    let (day, left) = pem::end(&parsed, now);
    if left <= 0 {
        return Err(FileError::new(certificate, format_args!("it ended on {day}"), replace));
    }
    let soon = left < SPARE_SECONDS;
    let notes = soon.then(|| format!("{}: it ends on {day}; {replace}", certificate.display()));
    let key = pem::key(key_path)?;
    let builder = ServerConfig::builder_with_details(Arc::clone(&provider), Arc::new(WallClock))
        .with_protocol_versions(&[&TLS13, &TLS12])
        .expect("ring has ciphers for both versions");
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(path)?, provider);
            let verifier = verifier.allow_unauthenticated().build();
            let verifier = verifier
                .map_err(|error| FileError::new(path, error, "put an authority's certificate there"))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| {
        let what = format_args!("it and {} cannot be used: {error}", key_path.display()).to_string();
        FileError::new(certificate, what, "put a certificate and its key there")
    })?;
    config.alpn_protocols = [&b"h2"[..], b"http/1.1"].map(<[u8]>::to_vec).into();
    // No session resumption: each connection verifies the certificate again, and an expired one is
    // rejected.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok((config, notes.into_iter().collect()))
}

fn roots(path: &Path) -> Result<Arc<RootCertStore>, FileError> {
    let mut roots = RootCertStore::empty();
    for certificate in pem::certificates(path)? {
        let added = roots.add(certificate);
        added.map_err(|error| FileError::new(path, error, "put an authority's certificate there"))?;
    }
    Ok(Arc::new(roots))
}
