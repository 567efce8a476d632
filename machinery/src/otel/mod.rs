//! Span export to an OpenTelemetry collector, over OTLP/HTTP.
//!
//! ```no_run
//! use machinery::otel::{Otlp, SubscriberExt, SubscriberInitExt, registry};
//!
//! # async fn program() -> machinery::Result {
//! // or Otlp::from_env(), to let operators configure it
//! let otlp = Otlp::to("http://127.0.0.1:4318").service("sites").start()?;
//! registry().with(otlp.layer()).init();                       // and any other layers
//! // … run the plane until its shutdown
//! otlp.finish().await?;                                       // flush the remaining spans
//! # Ok(()) }
//! ```
//!
//! A span with the fields `trace_id`, `span_id` and `parent_id`, such as those of reconciles and
//! requests, is exported with these ids, so the traceparent in an object's annotation leads to it.
//! Any other span is a child of the enclosing one. A span with the field `sampled` set to false is
//! not exported, nor are its descendants. Texts are truncated to 256 characters; fields beyond 32
//! are counted and dropped. At most 2048 spans are queued; further ones are dropped.
//!
//! Export is over HTTP without TLS, to a collector on the same machine or network.
//! `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_EXPORTER_OTLP_HEADERS` and the batch
//! limits have their usual meaning.

mod export;
mod layer;
mod span;

pub use export::{Otlp, OtlpError, OtlpStart};
pub use layer::OtlpLayer;
/// Re-exports for composing subscriber layers.
pub use tracing_subscriber::{
    filter::LevelFilter, layer::Layer, layer::SubscriberExt, registry, util::SubscriberInitExt,
};
