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
//! Around them: [`chain`] runs the admission chain of a write, [`registry`] holds the plugins and
//! webhooks, and [`call`] their connections.

mod ask;
mod attributes;
mod authorizer;
mod call;
mod conditions;
mod config;
mod desk;
mod matching;
mod notes;
mod own;
mod reason;
mod review;
mod rounds;
mod webhook;

pub use attributes::{Attributes, Operation};
pub use own::{Admission, Denied};

pub(crate) use ask::Asking;
pub(crate) use call::Roads;
pub(crate) use config::{Configurations, GROUP};
pub(crate) use desk::Desk;
pub(crate) use notes::Notes;

/// Attempts of a write under contention, each with a new admission chain.
pub(crate) const ROUNDS: usize = 10;
