//! HTTP requests and responses, without sockets: listeners are elsewhere.

pub(crate) mod answer;
mod body;
mod compress;
mod service;

pub use body::Body;
pub use service::Service;
