//! Spans for a collector of OpenTelemetry, over OTLP/HTTP.
//!
//! ```no_run
//! use machinery::otel::{Otlp, SubscriberExt, SubscriberInitExt, registry};
//!
//! # async fn program() -> machinery::Result {
//! let otlp = Otlp::to("http://127.0.0.1:4318").service("sites").start()?;      // or Otlp::from_env(), where operators attribute it
//! registry().with(otlp.layer()).init();                                        // and whatever else your program logs with
//! // … the plane, until it ends
//! otlp.finish().await?;                                                        // what has not been sent yet
//! # Ok(()) }
//! ```
//!
//! A span with the fields `trace_id`, `span_id` and `parent_id`, as those of reconciles and requests, is exported by these: what stands in the
//! annotation of an object is what a collector knows. Any other span is a child of the one around it. One with the field `sampled`, and that
//! false, is not sent, and nor is what is below it: whoever began the trace wants it so. A text is cut after 256
//! characters, and what a span has more than 32 fields is counted and left out. Where spans come faster than they can be sent some are
//! dropped: there are never more than 2048 of them.
//!
//! It sends by HTTP without TLS: to a collector on the same machine, or in the same network. `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
//! `OTEL_EXPORTER_OTLP_HEADERS` and the limits of batches are as OpenTelemetry has them.

mod export;
mod layer;
mod span;

pub use export::{Otlp, OtlpError, OtlpStart};
pub use layer::OtlpLayer;
/// What a program puts its layers together with.
pub use tracing_subscriber::{
    filter::LevelFilter, layer::Layer, layer::SubscriberExt, registry, util::SubscriberInitExt,
};
