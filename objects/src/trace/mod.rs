//! Trace context: the W3C `traceparent`, and the one of the running task.

mod ids;
mod scope;
mod traceparent;

pub use ids::{SpanId, SpanIds, TraceId};
pub use scope::traced;
pub use traceparent::{Traceparent, TraceparentError};
