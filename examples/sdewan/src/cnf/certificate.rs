//! Certificates for the pods of CNFs, by an authority of their own.

use std::net::{IpAddr, Ipv4Addr};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// The authority that issues the certificates of pods. Clients find it in the Secret that the label
/// `cnf-cert-secret` of a pod names.
pub struct CnfAuthority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Clone)]
pub struct CnfCertificate {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl CnfAuthority {
    /// Makes an authority with a key of its own.
    ///
    /// # Errors
    /// No key can be made.
    pub fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.distinguished_name.push(DnType::CommonName, "sdewan-cnf-authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// Reads an authority from its certificate and key, in PEM.
    ///
    /// # Errors
    /// One of them cannot be used.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, rcgen::Error> {
        let issuer = Issuer::from_ca_cert_pem(certificate, KeyPair::from_pem(key)?)?;
        Ok(Self { certificate: certificate.to_owned(), issuer })
    }

    /// Returns the key of the authority, in PEM: the `ca.key` of a Secret, for the runner alone.
    #[must_use]
    pub fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Returns the certificate of the authority, in PEM: the `ca.crt` of a Secret.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Issues the certificate of a server with these names and addresses.
    ///
    /// # Errors
    /// A name is none, or no key can be made.
    pub fn issue(&self, hosts: &[String]) -> Result<CnfCertificate, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(hosts)?;
        let name = hosts.first().map_or("cnf", |host| host);
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(CnfCertificate { certificate, key: key.serialize_pem() })
    }

    /// Issues the certificate of a pod: for its DNS name and its address.
    ///
    /// # Errors
    /// As [`issue`](Self::issue).
    pub fn issue_for_pod(&self, address: Ipv4Addr, namespace: &str) -> Result<CnfCertificate, rcgen::Error> {
        self.issue(&[pod_dns_name(IpAddr::V4(address), namespace), address.to_string()])
    }
}

/// Returns the DNS name of a pod: `a-b-c-d.NAMESPACE.pod.cluster.local`.
#[must_use]
pub fn pod_dns_name(address: IpAddr, namespace: &str) -> String {
    let address = address.to_string().replace(['.', ':'], "-");
    format!("{address}.{namespace}.pod.cluster.local")
}
