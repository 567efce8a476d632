//! TLS: server certificates, and authentication by client certificates.
//!
//! * [`kubeconfig`]: the file that clients are given
//! * [`own`]: the certificates that a server makes for itself, by its own [`authority`]
//! * [`serving`]: the TLS configuration of connections, reloaded while running
//! * [`peer`]: the identity in a client certificate
//! * [`pem`]: files of certificates and keys
//! * [`wall_clock`]: the time of certificates

#[cfg(feature = "server")]
mod authority;
#[cfg(feature = "server")]
pub(crate) mod kubeconfig;
#[cfg(feature = "server")]
pub(crate) mod own;
#[cfg(feature = "server")]
pub(crate) mod peer;
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "a webhook server uses a part of it"))]
mod pem;
pub(crate) mod serving;
pub(crate) mod wall_clock;

#[cfg(all(test, feature = "server"))]
mod tests;
