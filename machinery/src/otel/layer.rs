//! What hears of spans.

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

use super::building::Building;
use super::export::Sends;

/// A layer of a subscriber that sends its spans. It is made by [`Otlp::layer`](super::Otlp::layer).
pub struct OtlpLayer(Arc<Sends>);

impl OtlpLayer {
    pub(super) const fn new(sends: Arc<Sends>) -> Self {
        Self(sends)
    }
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for OtlpLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        // What is between is not sent: so the parent of whatever is, is what is sent above it.
        let above = span.scope().skip(1).find(|above| above.extensions().get::<Building>().is_some());
        let mut building = match above {
            Some(above) => Building::below(above.extensions().get(), &self.0.ids, now()),
            None => Building::below(None, &self.0.ids, now()),
        };
        attributes.record(&mut building);
        span.extensions_mut().insert(building);
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(building) = span.extensions_mut().get_mut::<Building>() {
            record.record(building);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let building = span.extensions_mut().remove::<Building>();
        if let Some(data) = building.and_then(|building| building.ended(span.name(), now())) {
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
