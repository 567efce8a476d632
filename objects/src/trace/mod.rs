//! Which trace something belongs to: the `traceparent` of the W3C, and the one of the task that runs.

mod ids;
mod scope;
mod traceparent;

pub use ids::{SpanId, SpanIds, TraceId};
pub use scope::traced;
pub use traceparent::{Traceparent, TraceparentError};
