//! In which trace a write is: a header for every server, and an annotation in what is made where the server puts none there.

use http::{HeaderName, HeaderValue};
use machinery_objects::Traceparent;
use serde_json::{Map, Value};

use super::body;
use crate::request::Asked;

const HEADER: HeaderName = HeaderName::from_static(Traceparent::HEADER);

/// Puts the trace of whoever calls on a request.
pub(super) fn put(request: &mut Asked) {
    let value = Traceparent::current().and_then(|trace| HeaderValue::try_from(trace.to_string()).ok());
    if let Some(value) = value {
        request.headers_mut().insert(HEADER, value);
    }
}

/// Puts it into an object that is to be made. Never into one that is there: that could make a write of what is none.
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
    async fn a_write_says_its_trace() {
        let says = || {
            let mut asked = Asked::default();
            put(&mut asked);
            asked.headers().get(HEADER).map(|value| value.to_str().unwrap().to_owned())
        };
        let trace = SpanIds::seeded(1).root();
        assert_eq!(traced(Some(trace), async { says() }).await, Some(trace.to_string()));
        assert_eq!(says(), None);
    }

    #[tokio::test]
    async fn what_is_made_says_its_trace() {
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
