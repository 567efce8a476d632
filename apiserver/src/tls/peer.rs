//! The identity in a client's certificate.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};
use x509_parser::oid_registry::Oid;

use super::pem;
use crate::auth::identity::Identity;

/// The attribute in which Kubernetes has a user's UID.
const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];

/// Returns the first time at which a certificate is no longer valid.
pub(crate) fn expiry(certificate: &CertificateDer<'static>) -> Option<Timestamp> {
    // The last second is part of the validity.
    let last = pem::parsed(certificate).ok()?.validity().not_after.timestamp();
    Timestamp::from_second(last.saturating_add(1)).ok()
}

/// The identity in a chain that was verified: the common name is the user, each organization a
/// group.
///
/// None where there is no certificate, or none that names one user: such a one is as good as none.
pub(crate) fn identity(chain: &[CertificateDer<'static>]) -> Option<Identity> {
    let first = chain.first()?;
    let certificate = pem::parsed(first).ok()?;
    let uid = Oid::from(UID).ok()?;
    let subject = certificate.subject();
    let texts = |found: Vec<_>| found.into_iter().collect::<Option<Vec<_>>>();
    let users = texts(subject.iter_common_name().map(|it| it.as_str().ok()).collect())?;
    let groups = texts(subject.iter_organization().map(|it| it.as_str().ok()).collect())?;
    let uids = texts(subject.iter_by_oid(&uid).map(|it| it.as_str().ok()).collect())?;
    let ([user], [] | [_]) = (users.as_slice(), uids.as_slice()) else { return None };
    if user.is_empty() {
        return None;
    }
    let mut identity = Identity::new(*user);
    for group in groups {
        identity = identity.in_group(group);
    }
    identity.uid = uids.concat();
    let mut print = String::from("X509SHA256=");
    for byte in Sha256::digest(&**first) {
        let _ = write!(print, "{byte:02x}");
    }
    identity.extra = BTreeMap::from([("authentication.kubernetes.io/credential-id".into(), vec![print])]);
    Some(identity)
}
