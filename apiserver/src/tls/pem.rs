//! PEM files of certificates and keys.

use std::net::IpAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer as _;

use crate::auth::private::{self, FileError};

/// Reads all certificates of a file: at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let text = text(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(FileError::new(
            path,
            "there is no certificate in it that can be read",
            "put one there, in PEM",
        )),
    }
}

/// The private key of a file. The error shows nothing of it.
pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let found = PrivateKeyDer::from_pem_slice(text(path)?.as_bytes());
    found.map_err(|_| {
        FileError::new(path, "there is no private key in it that can be read", "put one there, in PEM")
    })
}

/// Parses a certificate for inspection.
pub(super) fn parsed<'a>(der: &'a CertificateDer<'static>) -> Result<X509Certificate<'a>, &'static str> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err("its certificate cannot be read"),
    }
}

/// Returns the day on which a certificate expires, and the seconds until then: negative if it has
/// expired.
pub(super) fn end(certificate: &X509Certificate<'_>, now: Timestamp) -> (String, i64) {
    let end = certificate.validity().not_after.timestamp();
    let day = Timestamp::from_second(end).map(|end| end.strftime("%Y-%m-%d").to_string());
    (day.unwrap_or_else(|_| format!("second {end}")), end.saturating_sub(now.as_second()))
}

/// Returns the day from which a certificate is valid, and its end, if it is not valid yet.
pub(super) fn not_begun(certificate: &X509Certificate<'_>, now: Timestamp) -> Option<(String, Timestamp)> {
    let (begin, end) = (certificate.validity().not_before.timestamp(), certificate.validity().not_after);
    if begin <= now.as_second() {
        return None;
    }
    let day = Timestamp::from_second(begin).map(|begin| begin.strftime("%Y-%m-%d").to_string());
    let end = Timestamp::from_second(end.timestamp()).unwrap_or(Timestamp::MAX);
    Some((day.unwrap_or_else(|_| format!("second {begin}")), end))
}

/// Returns whether the certificate is self-signed.
pub(super) fn is_self_signed(der: &CertificateDer<'static>) -> bool {
    parsed(der).is_ok_and(|certificate| certificate.subject().as_raw() == certificate.issuer().as_raw())
}

/// Encodes a certificate in PEM.
pub(super) fn written(der: &CertificateDer<'static>) -> String {
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem + "-----END CERTIFICATE-----\n"
}

/// Returns whether clients accept the certificate for each of these hosts.
pub(super) fn is_for(certificate: &X509Certificate<'_>, hosts: &[String]) -> bool {
    let Ok(Some(names)) = certificate.subject_alternative_name() else { return hosts.is_empty() };
    let has = |name: &GeneralName<'_>| names.value.general_names.contains(name);
    hosts.iter().all(|host| match host.parse() {
        Ok(IpAddr::V4(address)) => has(&GeneralName::IPAddress(&address.octets())),
        Ok(IpAddr::V6(address)) => has(&GeneralName::IPAddress(&address.octets())),
        Err(_) => has(&GeneralName::DNSName(host)),
    })
}

fn text(path: &Path) -> Result<String, FileError> {
    private::read(path)?.ok_or_else(|| FileError::new(path, "there is no such file", "check the path"))
}
