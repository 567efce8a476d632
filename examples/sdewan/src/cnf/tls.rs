//! The certificate of a CNF's server.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use thiserror::Error;

/// A certificate with its key, for the connections of a server.
#[derive(Clone, Debug)]
pub struct CnfTls(Arc<ServerConfig>);

/// A certificate or key cannot be used. The text shows nothing of the key.
#[derive(Debug, Error)]
pub enum CnfTlsError {
    /// A file cannot be read.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// The text has no certificate.
    #[error("there is no certificate in PEM")]
    NoCertificate,
    /// The text has no key.
    #[error("there is no private key in PEM")]
    NoKey,
    /// The key is not that of the certificate, or of an unsupported kind.
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(rustls::Error),
}

impl CnfTls {
    /// Reads a certificate chain and its key from files.
    ///
    /// # Errors
    /// A file cannot be read, or its contents cannot be used.
    pub fn files(certificate: &Path, key: &Path) -> Result<Self, CnfTlsError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| CnfTlsError::File(path.display().to_string(), error))
        };
        Self::pem(&read(certificate)?, &read(key)?)
    }

    /// Takes a certificate chain and its key, in PEM.
    ///
    /// # Errors
    /// They cannot be used.
    pub fn pem(certificate: &[u8], key: &[u8]) -> Result<Self, CnfTlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(CnfTlsError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| CnfTlsError::NoKey)?;
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(CnfTlsError::Unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(CnfTlsError::Unusable)?;
        let mut config = config;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Self(Arc::new(config)))
    }

    /// Returns the configuration of connections.
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_certificates_are_typed_errors() {
        assert!(matches!(CnfTls::pem(b"x", b"y"), Err(CnfTlsError::NoCertificate)));
        let made =
            crate::cnf::certificate::CnfAuthority::new().unwrap().issue(&["127.0.0.1".into()]).unwrap();
        assert!(matches!(CnfTls::pem(made.certificate.as_bytes(), b"y"), Err(CnfTlsError::NoKey)));
        let other =
            crate::cnf::certificate::CnfAuthority::new().unwrap().issue(&["127.0.0.1".into()]).unwrap();
        let mixed = CnfTls::pem(made.certificate.as_bytes(), other.key.as_bytes());
        assert!(matches!(mixed, Err(CnfTlsError::Unusable(_))));
        assert!(CnfTls::pem(made.certificate.as_bytes(), made.key.as_bytes()).is_ok());
        let absent = CnfTls::files(Path::new("/nowhere/crt"), Path::new("/nowhere/key"));
        assert!(absent.unwrap_err().to_string().starts_with("/nowhere/crt: "));
    }
}
