//! Authentication and authorization of requests.
//!
//! * [`identity`]: the authenticated user
//! * [`bearer`]: parses the `Authorization` header
//! * [`token`]: bearer tokens, stored as digests; [`token_file`]: their file
//! * [`authenticate`]: from credentials to an identity
//! * [`impersonate`]: impersonated users, groups, UIDs and extras
//! * [`rbac`]: authorization by roles and bindings
//! * [`private`]: files with mode 0600

pub(crate) mod authenticate;
pub(crate) mod bearer;
pub(crate) mod identity;
pub(crate) mod impersonate;
#[cfg(any(feature = "server", feature = "webhook"))]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "a webhook server uses a part of it"))]
pub(crate) mod private;
pub(crate) mod rbac;
pub(crate) mod token;
#[cfg(feature = "server")]
pub(crate) mod token_file;

pub use identity::Identity;
