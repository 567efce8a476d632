//! A certificate authority of one server: it makes certificates for the server and for its clients.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use x509_parser::certificate::X509Certificate;

const AUTHORITY_DAYS: i64 = 3650;
/// Some certificate verifiers reject servers with a validity of more than 825 days.
const LEAF_DAYS: i64 = 365;
/// Days of validity before the time of issue. More than a year: the clock of the server may be a
/// year ahead when it issues a certificate, or that of a client a year behind.
const PAST_DAYS: i64 = 400;

/// The common name of generated authorities.
const NAME: &str = "machinery";

/// A certificate with its key, both in PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The time at which a certificate is issued.
#[derive(Clone, Copy)]
pub(super) struct IssueTime {
    pub(super) now: Timestamp,
    /// The end of a certificate that has not begun. The new one lasts as long: either the clock was
    /// ahead then, or it is behind now.
    pub(super) end: Option<Timestamp>,
}

pub(super) struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// The one with this certificate and this key.
    pub(super) fn of(certificate: &CertificateDer<'_>, key: KeyPair) -> Result<Self, rcgen::Error> {
        Issuer::from_ca_cert_der(certificate, key).map(Self)
    }

    /// Returns a certificate for `key`. Another one for the same key also verifies certificates
    /// issued before.
    pub(super) fn certificate(key: &KeyPair, time: IssueTime) -> Result<String, rcgen::Error> {
        let mut params = params(&[], NAME, None, time, AUTHORITY_DAYS)?;
        // Issued certificates cannot issue certificates.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = false;
        Ok(params.self_signed(key)?.pem())
    }

    /// Issues a server certificate for these names and addresses. It is not valid for a client.
    pub(super) fn server(&self, hosts: &[String], time: IssueTime) -> Result<Pair, rcgen::Error> {
        let mut params = params(hosts, "machinery-apiserver", None, time, LEAF_DAYS)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.pair(&params)
    }

    /// Issues a client certificate for `user` in `group`. It is not valid for a server.
    pub(super) fn client(&self, user: &str, group: &str, time: IssueTime) -> Result<Pair, rcgen::Error> {
        let mut params = params(&[], user, Some(group), time, LEAF_DAYS)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.pair(&params)
    }

    fn pair(&self, params: &CertificateParams) -> Result<Pair, rcgen::Error> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

/// Returns whether we have made this one for an authority, and may make it again.
pub(super) fn is_ours(certificate: &X509Certificate<'_>) -> bool {
    let mut names = certificate.subject().iter_attributes();
    names.next().is_some_and(|name| name.as_str().is_ok_and(|name| name == NAME)) && names.next().is_none()
}

/// Valid from [`PAST_DAYS`] before `time` until `days` after it.
fn params(
    hosts: &[String],
    name: &str,
    group: Option<&str>,
    time: IssueTime,
    days: i64,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    let day = |days: i64| {
        time.now.checked_add(SignedDuration::from_hours(24 * days)).map_err(|_| rcgen::Error::Time)
    };
    let midnight = |at: Timestamp| {
        let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
        let [month, day] = [date.month(), date.day()].map(i8::unsigned_abs);
        rcgen::date_time_ymd(i32::from(date.year()), month, day)
    };
    // Verifiers reject times before 1970.
    params.not_before = midnight(day(-PAST_DAYS)?.max(Timestamp::UNIX_EPOCH));
    params.not_after = midnight(time.end.into_iter().fold(day(days)?, Timestamp::max));
    Ok(params)
}
