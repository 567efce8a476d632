//! Readiness probes: the counters of results, and the requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use machinery::tokio::io::{AsyncRead, AsyncWrite};
use machinery::tokio::net::TcpStream;
use machinery::tokio::time::timeout;
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::pod_spec::{ProbeAction, ReadinessProbe};
use crate::cnf::Connectivity;

/// The results of a probe so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeResults {
    is_ready: bool,
    in_a_row: u32,
    last: Option<bool>,
}

impl ProbeResults {
    /// Adds a result, and returns whether the pod is ready.
    pub fn add(&mut self, is_success: bool, probe: &ReadinessProbe) -> bool {
        self.in_a_row = if self.last == Some(is_success) { self.in_a_row.saturating_add(1) } else { 1 };
        self.last = Some(is_success);
        let threshold = if is_success { probe.successes } else { probe.failures };
        if self.in_a_row >= threshold {
            self.is_ready = is_success;
        }
        self.is_ready
    }

    /// Returns whether the pod is ready.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }
}

/// Probes a CNF once. One that is not connected fails as after a loss of all packets.
pub(super) async fn probe_once(probe: &ReadinessProbe, address: IpAddr, connectivity: &Connectivity) -> bool {
    let probed = async {
        connectivity.connected().await;
        match &probe.action {
            ProbeAction::Unsupported => true,
            ProbeAction::Connect(port) => TcpStream::connect((address, *port)).await.is_ok(),
            ProbeAction::Get { port, path, is_tls } => {
                let Ok(stream) = TcpStream::connect((address, *port)).await else { return false };
                if !*is_tls {
                    return get(stream, path).await;
                }
                let connector = TlsConnector::from(unverified());
                match connector.connect(ServerName::IpAddress(address.into()), stream).await {
                    Ok(stream) => get(stream, path).await,
                    Err(_) => false,
                }
            }
        }
    };
    // A cable that is pulled meanwhile loses the answer.
    timeout(probe.timeout.max(Duration::from_millis(1)), probed).await.unwrap_or(false)
        && connectivity.is_connected()
}

async fn get<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, path: &str) -> bool {
    let Ok((mut sender, connection)) = http1::handshake(TokioIo::new(stream)).await else { return false };
    let request = Request::get(path).header(http::header::HOST, "probe").body(Empty::<Bytes>::new());
    let Ok(request) = request else { return false };
    let answered = async { sender.send_request(request).await };
    let mut connection = std::pin::pin!(connection);
    let mut answered = std::pin::pin!(answered);
    let answer = machinery::tokio::select! {
        biased;
        answer = answered.as_mut() => answer,
        _ = connection.as_mut() => return false,
    };
    answer.is_ok_and(|answer| (200..400).contains(&answer.status().as_u16()))
}

/// A kubelet does not verify the certificates of the pods that it probes.
fn unverified() -> Arc<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(AnyCertificate(provider.clone()));
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    // The versions are those of the provider.
    let builder = builder.unwrap_or_else(|_| ClientConfig::builder());
    Arc::new(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_changes_at_the_thresholds() {
        let probe = ReadinessProbe {
            action: ProbeAction::Unsupported,
            initial_delay: Duration::ZERO,
            period: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            failures: 3,
            successes: 2,
        };
        let mut results = ProbeResults::default();
        let seen: Vec<bool> = [true, false, true, true, false, false, true, false, false, false]
            .map(|success| results.add(success, &probe))
            .into();
        assert_eq!(seen, [false, false, false, true, true, true, true, true, true, false]);
    }
}
