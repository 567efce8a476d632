//! Admission: in-process plugins and webhooks that mutate and validate writes.
//!
//! Pure functions:
//!
//! * [`matching`]: rules and selectors
//! * [`review`]: AdmissionReview requests and responses
//! * [`reinvocation`]: webhooks to call again
//! * [`conditions`]: match conditions; [`authorizer`]: the authorizer that they use
//! * [`config`]: validation of configurations; [`webhook`]: their compiled form
//!
//! For in-process plugins: [`services`] warns, annotates and reads; [`reads`] fixes the revision.
//!
//! Around them: [`chain`] runs the admission chain of a write, [`registry`] holds the plugins and
//! webhooks, and [`call`] their connections.

mod attributes;
mod authorizer;
mod call;
mod chain;
mod conditions;
mod config;
mod in_process;
mod matching;
mod notes;
mod reads;
mod reason;
mod registry;
mod reinvocation;
mod review;
mod services;
mod webhook;

pub use attributes::{Attributes, Operation};
pub use in_process::{Admission, Denied};
pub use reads::{AdmissionReadError, AdmissionReader};

pub(crate) use call::WebhookTransport;
pub(crate) use chain::AdmissionChain;
pub(crate) use config::{Configurations, GROUP};
#[cfg(feature = "webhook")]
pub(crate) use matching::{RequestRule, RuleInput};
pub(crate) use notes::AdmissionNotes;
pub(crate) use registry::AdmissionRegistry;
#[cfg(feature = "webhook")]
pub(crate) use review::internal;
#[cfg(feature = "webhook")]
pub(crate) use services::{AdmissionReads, AdmissionServices, Remarks};

/// Attempts of a write under contention, each with a new admission chain.
pub(crate) const MAX_ATTEMPTS: usize = 10;
