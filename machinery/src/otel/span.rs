//! A span before its export.

use std::fmt;
use std::time::SystemTime;

use machinery_objects::{SpanId, SpanIds, TraceId, Traceparent};
use opentelemetry::trace::{self as otel, Link, SpanContext, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use tracing::field::{Field, Visit};

/// Limit of attributes of a span.
const MAX_ATTRIBUTES: usize = 32;
/// Limit of characters of a text.
const MAX_TEXT: usize = 256;

/// A span that has not ended.
pub(super) struct SpanBuilder {
    own: Traceparent,
    parent: Option<SpanId>,
    /// The parent belongs to another process or trace.
    is_remote: bool,
    links: Vec<Traceparent>,
    attributes: Vec<KeyValue>,
    dropped: u32,
    /// Whether the trace is sampled.
    is_sampled: bool,
    began: SystemTime,
}

impl SpanBuilder {
    /// Creates a span below a parent, or a root span. Its fields may override the ids.
    pub(super) fn child_of(parent: Option<&Self>, ids: &SpanIds, began: SystemTime) -> Self {
        let is_sampled = parent.is_none_or(|parent| parent.is_sampled);
        let own = parent.map_or_else(|| ids.root(), |parent| parent.own.child(ids.span()));
        let parent = parent.map(|parent| parent.own.span());
        Self {
            own,
            parent,
            is_remote: false,
            links: Vec::new(),
            attributes: Vec::new(),
            dropped: 0,
            is_sampled,
            began,
        }
    }

    /// Ends the span. Returns `None` if the trace is not sampled.
    pub(super) fn finish(self, name: &'static str, ended: SystemTime) -> Option<SpanData> {
        // An unsampled trace is propagated, and its IDs are logged; only the export is left out.
        if !self.is_sampled {
            return None;
        }
        let mut links = SpanLinks::default();
        links.links =
            self.links.into_iter().map(|link| Link::new(context(link, true), Vec::new(), 0)).collect();
        Some(SpanData {
            span_context: context(self.own, false),
            parent_span_id: self.parent.map_or(otel::SpanId::INVALID, span_id),
            parent_span_is_remote: self.is_remote,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: self.began,
            end_time: ended,
            attributes: self.attributes,
            dropped_attributes_count: self.dropped,
            events: SpanEvents::default(),
            links,
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("machinery").build(),
        })
    }

    /// Applies a field with an id; returns `false` for other fields. After `trace_id` the parent is
    /// the one of `parent_id`, or none.
    fn is_identity(&mut self, field: &str, text: &str) -> bool {
        match field {
            "trace_id" => {
                let Some(trace) = parse_hex(text, 32).and_then(TraceId::new) else { return false };
                self.own = Traceparent::root(trace, self.own.span());
                // The enclosing span may be of another trace, and is then no parent.
                (self.parent, self.is_remote, self.is_sampled) = (None, false, true);
            }
            "span_id" => {
                let Some(span) = parse_span_id(text) else { return false };
                self.own = self.own.child(span);
            }
            "parent_id" => {
                let Some(parent) = parse_span_id(text) else { return false };
                (self.parent, self.is_remote) = (Some(parent), true);
            }
            "links" => {
                let links: Vec<_> = text.split(' ').filter_map(Traceparent::from_text).collect();
                if links.is_empty() {
                    return false;
                }
                self.links = links;
            }
            _ => return false,
        }
        true
    }

    fn attribute(&mut self, field: &Field, value: impl Into<Value>) {
        // A field recorded again replaces its value.
        self.attributes.retain(|attribute| attribute.key.as_str() != field.name());
        if self.attributes.len() < MAX_ATTRIBUTES {
            self.attributes.push(KeyValue::new(field.name(), value));
        } else {
            self.dropped += 1;
        }
    }
}

impl Visit for SpanBuilder {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attribute(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        // OTLP has no unsigned numbers.
        match i64::try_from(value) {
            Ok(value) => self.attribute(field, value),
            Err(_) => self.attribute(field, value.to_string()),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.attribute(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "sampled" => self.is_sampled = value,
            _ => self.attribute(field, value),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if !self.is_identity(field.name(), value) {
            self.attribute(field, value.chars().take(MAX_TEXT).collect::<String>());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

fn parse_span_id(text: &str) -> Option<SpanId> {
    parse_hex(text, 16).and_then(|number| u64::try_from(number).ok()).and_then(SpanId::new)
}

fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    u128::from_str_radix(text, 16).ok().filter(|_| text.len() == digits)
}

fn context(of: Traceparent, is_remote: bool) -> SpanContext {
    let trace = otel::TraceId::from(of.trace().number());
    SpanContext::new(trace, span_id(of.span()), TraceFlags::SAMPLED, is_remote, TraceState::NONE)
}

fn span_id(of: SpanId) -> otel::SpanId {
    otel::SpanId::from(of.number())
}
