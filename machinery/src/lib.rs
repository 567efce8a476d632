//! What you build a control plane from: the one crate to depend on.
//!
//! It re-exports the parts, and has nothing of its own. Today that is objects with the ports to read and write them, the
//! embedded API server with its store, informers, and the ports over any Kubernetes; controllers join when they are there.
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
//!
//! // The same objects as any type, without HTTP: of a type of kube, `server.handle::<Host>(…)`.
//! use machinery::objects::{Kind, ListRequest, ListWatch, Scope};
//! let namespaces = Kind::new("v1", "Namespace", "namespaces", Scope::Cluster)?;
//! let namespaces = server.handle_of::<serde_json::Value>(namespaces, Identity::admin());
//! assert_eq!(namespaces.list(ListRequest::default()).await?.items[0]["metadata"]["name"], "default");
//! # drop(service); Ok(()) }
//! # #[cfg(feature = "embedded")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A controller of kube-rs, tested on it without a cluster: `docs/guides/test-a-controller.md`.
//!
//! # Features
//!
//! `embedded` (default): the API server and the store. `server`: that server on a socket. `kube`: any Kubernetes, by the same ports.

#[cfg(feature = "embedded")]
pub use machinery_apiserver as apiserver;
pub use machinery_informers as informers;
#[cfg(feature = "kube")]
pub use machinery_kube as kube;
pub use machinery_objects as objects;
#[cfg(feature = "embedded")]
pub use machinery_store as store;
