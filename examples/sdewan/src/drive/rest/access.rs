//! The address, account and authority of one pod's CNF.

use std::fmt;
use std::net::SocketAddr;

/// The endpoint of a CNF and the credentials for it.
#[derive(Clone, PartialEq, Eq)]
pub struct CnfAccess {
    /// The address of the REST API.
    pub address: SocketAddr,
    /// The DNS name of the pod, for which the certificate is verified; the address counts, too.
    pub dns_name: String,
    /// The password of the CNF's account.
    pub password: String,
    /// The certificates of the authority, in PEM.
    pub authority: String,
}

/// Without the password.
impl fmt::Debug for CnfAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CnfAccess")
            .field("address", &self.address)
            .field("dns_name", &self.dns_name)
            .finish_non_exhaustive()
    }
}
