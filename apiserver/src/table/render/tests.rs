use super::*;
use crate::table::age::timestamp;
use crate::table::crd_columns;

fn widget(name: &str) -> Value {
    json!({
        "kind": "Widget", "apiVersion": "example.com/v1",
        "metadata": {"name": name, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"n": 1},
    })
}

fn with<T>(include: Include, run: impl FnOnce(Tables<'_>) -> T) -> T {
    let (columns, _) = crd_columns(&Value::Null);
    let now = timestamp("2026-01-01T00:00:30Z").expect("a time");
    run(Tables { columns: &columns, secret_fields: None, version: MetaVersion::V1, include, now })
}

#[test]
fn a_list_is_a_table_of_its_objects() {
    let list = json!({"kind": "WidgetList", "metadata": {"resourceVersion": "9", "continue": "c"}, "items": [widget("a"), widget("b")]});
    let table = with(Include::Metadata, |tables| tables.table(list));
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(table["metadata"], json!({"resourceVersion": "9", "continue": "c"}));
    assert_eq!(table["columnDefinitions"].as_array().map(Vec::len), Some(2));
    assert_eq!(table["rows"][1]["cells"], json!(["b", "30s"]));
    assert_eq!(
        table["rows"][1]["object"],
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": widget("b")["metadata"]})
    );
    let empty = with(Include::Metadata, |tables| tables.table(json!({"metadata": {}, "items": []})));
    assert_eq!(empty["rows"], json!([]));
}

#[test]
fn rows_carry_the_requested_part_of_their_object() {
    for (include, expected) in [(Include::None, Value::Null), (Include::Object, widget("a"))] {
        let table = with(include, |tables| tables.table(widget("a")));
        assert_eq!(table["rows"][0]["object"], expected);
        assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
    }
}

#[test]
fn only_the_first_event_defines_columns() {
    with(Include::Metadata, |tables| {
        assert!(tables.event(widget("a"), true)["columnDefinitions"].is_array());
        assert!(tables.event(widget("a"), false)["columnDefinitions"].is_null());
    });
}

#[test]
fn the_bookmark_that_ends_the_initial_events_keeps_its_annotation() {
    let mut bookmark =
        json!({"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "9"}});
    bookmark["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    let event = with(Include::None, |tables| tables.event(bookmark, false));
    assert_eq!(
        event["rows"][0]["object"]["metadata"]["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    assert_eq!(event["rows"][0]["cells"], json!(["", null]));
}

#[test]
fn a_status_stays() {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"});
    with(Include::Object, |tables| {
        assert_eq!(tables.table(status.clone()), status);
        assert_eq!(tables.event(status.clone(), true), status);
    });
}

#[test]
fn include_object_is_read() {
    for (text, expected) in [
        ("", Include::Metadata),
        ("Metadata", Include::Metadata),
        ("None", Include::None),
        ("Object", Include::Object),
    ] {
        assert_eq!(Include::parse(text), Ok(expected));
    }
    let refusal = Include::parse("All").expect_err("no such thing");
    let message = "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', 'Object', 'None', or empty";
    assert_eq!((refusal.code, refusal.message.as_str()), (400, message));
}
