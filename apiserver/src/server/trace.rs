//! The trace context and the span of a request.

use http::HeaderMap;
use machinery_objects::{SpanId, TraceId, Traceparent};
use tracing::Span;
use tracing::field::{Empty, display};

use super::Call;
use super::shared::Environment;

/// Returns the parent span of a request; none if the header is repeated.
pub(crate) fn parent_span(headers: &HeaderMap) -> Option<Traceparent> {
    let mut all = headers.get_all(Traceparent::HEADER).iter();
    let one = all.next()?;
    if all.next().is_some() { None } else { Traceparent::from_text(one.to_str().ok()?) }
}

/// Creates the span of a request. IDs are generated only if the span is recorded.
pub(super) fn span(call: &Call, environment: &Environment) -> Span {
    let span = tracing::info_span!(
        "request",
        method = %call.method,
        path = call.uri.path(),
        trace_id = Empty,
        span_id = Empty,
        parent_id = Empty,
        sampled = Empty,
        status = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let parent = parent_span(&call.headers);
    let drawn = || TraceId::new(u128::from_le_bytes(environment.bytes()));
    if let Some(trace) = parent.map(Traceparent::trace).or_else(drawn) {
        span.record("trace_id", display(trace));
    }
    if let Some(own) = SpanId::new(u64::from_le_bytes(environment.bytes())) {
        span.record("span_id", display(own));
    }
    if let Some(parent) = parent {
        span.record("parent_id", display(parent.span()));
        if !parent.is_sampled() {
            span.record("sampled", false);
        }
    }
    span
}
