//! Requests and answers as HTTP has them. No socket: whoever has one brings requests here.

pub(crate) mod answer;
mod body;
mod compress;
mod service;

pub use body::Body;
pub use service::Service;
