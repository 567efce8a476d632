//! What you build a control plane from: the one crate to depend on.
//!
//! It re-exports the parts, and has nothing of its own. Today that is the embedded API server and its store; informers
//! and controllers join when they are there.
//!
//! # What it does not do
//!
//! It has no logic. Whoever wants one part alone depends on that part.
//!
//! # Example
//!
//! ```
//! # #[cfg(feature = "embedded")]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use machinery::apiserver::{ApiServer, Identity};
//! use machinery::store::{Memory, Options};
//!
//! let server = ApiServer::builder(Memory::new(Options::default())).start().await?;
//! let service = server.service(Identity::admin());       // for kube::Client::new, without a socket
//! # drop(service); Ok(()) }
//! ```
//!
//! # Features
//!
//! `embedded` (default): the API server and the store. `server`: that server on a socket.

#[cfg(feature = "embedded")]
pub use machinery_apiserver as apiserver;
#[cfg(feature = "embedded")]
pub use machinery_store as store;
