//! The address of a webhook and its TLS configuration.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::Value;

use super::verifier::CertificateVerifier;
use super::{Services, WebhookTransport};
use crate::tls::wall_clock::WallClock;

/// The address of a webhook.
pub(super) struct WebhookTarget {
    pub(super) host: String,
    /// Host and port, if given.
    pub(super) authority: String,
    pub(super) port: u16,
    pub(super) path: String,
    service: Option<ServiceRef>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) server: ServerName<'static>,
}

struct ServiceRef {
    namespace: String,
    name: String,
}

/// The address to connect to.
pub(super) enum Address {
    Known(SocketAddr),
    /// To be resolved by DNS.
    Named(String, u16),
}

impl WebhookTarget {
    pub(super) fn of(client: &Value, transport: &WebhookTransport) -> Result<Self, String> {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let tls = tls(client["caBundle"].as_str().unwrap_or_default(), &transport.roots)?;
        let (host, authority, port, path, service) = match client["url"].as_str() {
            Some(url) => {
                let url: http::Uri =
                    url.parse().map_err(|error| format!("its url cannot be read: {error}"))?;
                let host = url.host().unwrap_or_default().to_owned();
                let authority = url.authority().map(ToString::to_string).unwrap_or_default();
                (host, authority, url.port_u16().unwrap_or(443), url.path().to_owned(), None)
            }
            None => {
                let of = &client["service"];
                let service = ServiceRef { namespace: text(of, "namespace"), name: text(of, "name") };
                let port = of["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or(443);
                let host = format!("{}.{}.svc", service.name, service.namespace);
                let authority = format!("{host}:{port}");
                (host, authority, port, text(of, "path"), Some(service))
            }
        };
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        let host = host.trim_matches(['[', ']']).to_owned();
        let server = ServerName::try_from(host.clone());
        let server = server.map_err(|_| format!("{host:?} can be the name of no server"))?;
        Ok(Self { host, authority, port, path, service, tls, server })
    }

    pub(super) fn address(&self, services: Option<&Services>) -> Result<Address, String> {
        let Some(ServiceRef { namespace, name }) = &self.service else {
            return Ok(Address::Named(self.host.clone(), self.port));
        };
        let port = self.port;
        // There is no cluster DNS: without a resolver `failurePolicy` decides.
        let Some(services) = services else {
            return Err(format!(
                "this server does not know where the service {namespace}/{name} is: say so by `Builder::webhook_services` or `serve --webhook-service`, \
                 or give the webhook a url"
            ));
        };
        let found = services(namespace, name, port).map(Address::Known);
        found.ok_or_else(|| format!("there is no service {namespace}/{name} with the port {port}"))
    }
}

/// Trusts the authorities of the `caBundle`, or else those of the server.
fn tls(bundle: &str, roots: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let own = STANDARD.decode(bundle).map_err(|error| format!("its caBundle is no base64: {error}"))?;
    let pem = if own.is_empty() { roots } else { &own };
    // No system roots: a library reads only files that it is configured with.
    if pem.is_empty() {
        return Err("it has no caBundle, and this server trusts nobody else: give it one, or say by \
                    `Builder::webhook_roots` or `serve --webhook-ca-file` whom to trust"
            .into());
    }
    let given: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let given = given.map_err(|error| format!("its caBundle cannot be read: {error}"))?;
    if given.is_empty() {
        return Err("there is no certificate in its caBundle".into());
    }
    let config = ClientConfig::builder_with_details(Arc::new(ring::default_provider()), Arc::new(WallClock))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let known = Arc::new(CertificateVerifier::of(given)?);
    let mut config = config.dangerous().with_custom_certificate_verifier(known).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
