//! How clients know the server, and it them.
//!
//! * [`kubeconfig`]: the file that clients are given
//! * [`own`]: the certificates that a server makes for itself, by its own [`authority`]
//! * [`serving`]: what connections are served with, replaced while it runs
//! * [`peer`]: who a client's certificate says it is
//! * [`pem`]: files of certificates and keys, and what is in them

mod authority;
pub(crate) mod kubeconfig;
pub(crate) mod own;
pub(crate) mod peer;
mod pem;
pub(crate) mod serving;

#[cfg(test)]
mod tests;
