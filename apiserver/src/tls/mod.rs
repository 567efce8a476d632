//! How clients know the server, and it them.
//!
//! * [`kubeconfig`]: the file that clients are given
//! * [`own`]: the certificates that a server makes for itself, by its own [`authority`]
//! * [`serving`]: what connections are served with, replaced while it runs
//! * [`peer`]: who a client's certificate says it is
//! * [`pem`]: files of certificates and keys, and what is in them

pub(crate) mod kubeconfig;

#[cfg(feature = "server")]
mod authority;
#[cfg(feature = "server")]
pub(crate) mod own;
#[cfg(feature = "server")]
pub(crate) mod peer;
#[cfg(feature = "server")]
mod pem;
#[cfg(feature = "server")]
pub(crate) mod serving;

#[cfg(all(test, feature = "server"))]
mod tests;
