//! The TLS of connections to CNFs: certificates are verified by the authority of the pod's Secret,
//! for the pod's DNS name or for its address.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Returns the configuration for connections to a pod with this address. Its certificates may
/// name the address instead of the DNS name.
pub(super) fn client_config(
    authority: &str,
    address: ServerName<'static>,
) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        let certificate = certificate.map_err(|_| "the authority is not in PEM".to_owned())?;
        roots.add(certificate).map_err(|error| format!("the authority cannot be used: {error}"))?;
    }
    if roots.is_empty() {
        return Err("there is no certificate of an authority".to_owned());
    }
    let provider = Arc::new(ring::default_provider());
    let by_authority = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .map_err(|error| error.to_string())?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(NameOrAddress { by_authority, address }))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Verifies a certificate for a DNS name, and if it names another one, for an address.
#[derive(Debug)]
struct NameOrAddress {
    by_authority: Arc<WebPkiServerVerifier>,
    address: ServerName<'static>,
}

impl ServerCertVerifier for NameOrAddress {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let for_name =
            |name: &ServerName<'_>| self.by_authority.verify_server_cert(shown, between, name, stapled, now);
        match for_name(name) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => for_name(&self.address),
            verified => verified,
        }
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
