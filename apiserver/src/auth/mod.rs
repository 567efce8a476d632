//! Who asks, and whether they may.
//!
//! * [`identity`]: who a request is from
//! * [`bearer`]: what its `Authorization` header holds
//! * [`token`]: tokens, as digests; [`token_file`]: the file that they are in
//! * [`authenticate`]: from a request's credentials to an identity
//! * [`impersonate`]: whom a request says that it is made as
//! * [`rbac`]: whether that identity may, by the roles and bindings there are
//! * [`private`]: files that only their owner may read

pub(crate) mod authenticate;
pub(crate) mod bearer;
pub(crate) mod identity;
pub(crate) mod impersonate;
#[cfg(feature = "server")]
pub(crate) mod private;
pub(crate) mod rbac;
pub(crate) mod token;
#[cfg(feature = "server")]
pub(crate) mod token_file;

pub use identity::Identity;
