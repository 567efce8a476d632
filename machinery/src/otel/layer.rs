//! The subscriber layer.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use opentelemetry_sdk::trace::SpanProcessor;
use tracing::Subscriber;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::export::SpanSink;
use super::span::SpanBuilder;

/// A subscriber layer that exports its spans. Created by [`Otlp::layer`](super::Otlp::layer).
// Not tracing-opentelemetry, which generates span IDs: see docs/designs/014-traces.md.
pub struct OtlpLayer(Arc<SpanSink>);

impl OtlpLayer {
    pub(super) const fn new(sink: Arc<SpanSink>) -> Self {
        Self(sink)
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for OtlpLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // Filtered spans are skipped: the parent is the nearest exported ancestor.
        let above = span.scope().skip(1).find(|above| above.extensions().get::<SpanBuilder>().is_some());
        let mut building = match above {
            Some(above) => SpanBuilder::child_of(above.extensions().get(), &self.0.ids, now()),
            None => SpanBuilder::child_of(None, &self.0.ids, now()),
        };
        attributes.record(&mut building);
        span.extensions_mut().insert(building);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(building) = span.extensions_mut().get_mut::<SpanBuilder>() {
            record.record(building);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let building = span.extensions_mut().remove::<SpanBuilder>();
        if let Some(data) = building.and_then(|building| building.finish(span.name(), now())) {
            self.0.processor.on_end(data);
        }
    }
}

fn now() -> SystemTime {
    Timestamp::now().into()
}

impl fmt::Debug for OtlpLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtlpLayer")
    }
}
