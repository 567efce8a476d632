//! Verifies certificates of webhooks. A self-signed certificate in the `caBundle` is trusted even
//! if it is marked as a CA, as most tools make it and Kubernetes accepts it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer as _;

#[derive(Debug)]
pub(super) struct CertificateVerifier {
    /// The certificates of the `caBundle`.
    given: Vec<CertificateDer<'static>>,
    by_authority: Arc<WebPkiServerVerifier>,
}

impl CertificateVerifier {
    pub(super) fn of(given: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in &given {
            let added = roots.add(certificate.clone());
            added.map_err(|error| format!("its caBundle has no authority: {error}"))?;
        }
        let provider = Arc::new(ring::default_provider());
        let by_authority = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
        Ok(Self { given, by_authority: by_authority.map_err(|error| error.to_string())? })
    }
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.by_authority.verify_server_cert(shown, between, name, stapled, now);
        // A certificate from the bundle must still be valid in all other respects.
        if verified.is_ok() || !self.given.iter().any(|one| one == shown) {
            return verified;
        }
        let (_, parsed) =
            X509Certificate::from_der(shown).map_err(|_| Error::from(CertificateError::BadEncoding))?;
        let (second, validity) = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), parsed.validity());
        if second < validity.not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        if second > validity.not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if !parsed.is_ca() {
            return verified;
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}
