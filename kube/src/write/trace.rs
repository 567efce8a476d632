//! The trace of a write: a header for every server, and an annotation of created objects if the
//! server adds none.

use http::{HeaderName, HeaderValue};
use machinery_objects::Traceparent;
use serde_json::{Map, Value};

use super::body;
use crate::request::ApiRequest;

const HEADER: HeaderName = HeaderName::from_static(Traceparent::HEADER);

/// Adds the trace of the caller to a request.
pub(super) fn put(request: &mut ApiRequest) {
    let value = Traceparent::current().and_then(|trace| HeaderValue::try_from(trace.to_string()).ok());
    if let Some(value) = value {
        request.headers_mut().insert(HEADER, value);
    }
}

/// Adds the trace to an object to be created. Never to an existing one: that could turn a no-op
/// into a write.
pub(super) fn note(object: &mut Map<String, Value>) {
    if let Some(trace) = Traceparent::current() {
        body::annotate(object, Traceparent::ANNOTATION, trace.to_string());
    }
}

#[cfg(test)]
mod tests {
    use machinery_objects::{SpanIds, traced};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_write_carries_its_trace_in_a_header() {
        let says = || {
            let mut request = ApiRequest::default();
            put(&mut request);
            request.headers().get(HEADER).map(|value| value.to_str().unwrap().to_owned())
        };
        let trace = SpanIds::seeded(1).root();
        assert_eq!(traced(Some(trace), async { says() }).await, Some(trace.to_string()));
        assert_eq!(says(), None);
    }

    #[tokio::test]
    async fn a_created_object_carries_its_trace() {
        let trace = SpanIds::seeded(1).root();
        let check = async |metadata: Value, trace: Option<Traceparent>, expected: Value| {
            let Value::Object(mut object) = json!({"metadata": metadata}) else { panic!("it is an object") };
            traced(trace, async { note(&mut object) }).await;
            assert_eq!(object["metadata"], expected);
        };
        let text = trace.to_string();
        let key = Traceparent::ANNOTATION;
        check(json!({"name": "a"}), Some(trace), json!({"name": "a", "annotations": {key: text}})).await;
        check(json!({"annotations": null}), Some(trace), json!({"annotations": {key: text}})).await;
        let copied = json!({"annotations": {"a": "b", key: "of what it was copied from"}});
        check(copied, Some(trace), json!({"annotations": {"a": "b", key: text}})).await;
        check(json!({"name": "a"}), None, json!({"name": "a"})).await;
    }
}
