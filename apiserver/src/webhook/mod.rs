//! A webhook server: in-process admission for clusters with another API server.
//!
//! Pure functions:
//!
//! * [`review`]: reads an AdmissionReview and writes its response
//! * [`kinds`]: the hooks of a [`KindOf`](crate::KindOf), as a webhook has them
//! * [`patch`]: the JSON patch between two states of an object
//! * [`rule`]: the requests that a hook is for
//! * [`manifests`]: the configurations that a cluster needs
//!
//! Around them: [`hooks`] runs the hooks of one review, [`routes`] answers a request, and
//! [`server`] has the socket, TLS and limits.

mod connection;
mod error;
mod hooks;
mod kinds;
mod limits;
mod manifests;
mod metrics;
mod patch;
mod remarks;
mod review;
mod routes;
mod rule;
mod server;
mod tls;

pub use error::{ReviewError, WebhookServerError};
pub use hooks::{AdmissionHooks, ReviewPhase};
pub use limits::WebhookLimits;
pub use manifests::WebhookEndpoint;
pub use metrics::WebhookMetrics;
pub use rule::AdmissionRule;
pub use server::WebhookServer;
pub use tls::WebhookTls;
