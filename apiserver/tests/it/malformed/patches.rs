//! Patches that are none, that do not apply, or that would make much of little.

use serde_json::{Value, json};

use super::row::{ALL, BAD, CONFIG, ExpectedAnswer, INVALID, ONE, Row, TOO_LARGE};

const OPERATIONS: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let texts =
        ["", "{", "[", "nul", "{} {}", "{\"a\":}", "\u{feff}{}", "1", "\"a\"", "true", "{\"a\":1,}", "\u{0}"];
    for text in texts {
        rows.push(Row::patch(ONE, OPERATIONS, text, BAD));
        rows.push(Row::patch(ONE, MERGE, text, BAD));
        rows.push(Row::patch(CONFIG, STRATEGIC, text, BAD));
    }
    rows.push(Row::patch(ONE, MERGE, "[]", BAD));
    rows.push(Row::patch(ONE, MERGE, "null", BAD));
    rows.push(Row::patch(CONFIG, STRATEGIC, "[]", BAD));
    rows.push(Row::patch(ONE, OPERATIONS, "{}", BAD));
    for depth in [129, 1000, 100_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        rows.push(Row::patch(ONE, OPERATIONS, deep.clone(), BAD));
        rows.push(Row::patch(ONE, MERGE, format!("{{\"spec\":{deep}}}"), BAD));
        rows.push(Row::patch(CONFIG, STRATEGIC, format!("{{\"data\":{deep}}}"), BAD));
    }
    rows.extend(operations());
    rows.extend(bombs());
    rows.extend(objects());
    rows
}

fn operations() -> Vec<Row> {
    let one = |operation: Value, expected: ExpectedAnswer| {
        Row::patch(ONE, OPERATIONS, json!([operation]).to_string(), expected)
    };
    let mut rows = Vec::new();
    for operation in [
        json!({"op": "remove", "path": "/none"}),
        json!({"op": "remove", "path": "/spec/none"}),
        json!({"op": "remove", "path": "/spec/tags/9"}),
        json!({"op": "remove", "path": "/spec/tags/-"}),
        json!({"op": "remove", "path": "/spec/tags/x"}),
        json!({"op": "add", "path": "/none/below", "value": 1}),
        json!({"op": "add", "path": "/spec/tags/9", "value": "a"}),
        json!({"op": "add", "path": "/spec/tags/1e0", "value": "a"}),
        json!({"op": "add", "path": "/spec/color/below", "value": "a"}),
        json!({"op": "replace", "path": "/spec/tags/2", "value": "a"}),
        json!({"op": "replace", "path": "/spec/tags/-", "value": "a"}),
        json!({"op": "test", "path": "/spec/color", "value": "blue"}),
        json!({"op": "test", "path": "/spec/tags", "value": {}}),
        json!({"op": "test", "path": "/spec/tags/99999999999999999999", "value": 1}),
        json!({"op": "move", "from": "/none", "path": "/spec/x"}),
        json!({"op": "move", "from": "/spec", "path": "/spec/below"}),
        json!({"op": "copy", "from": "/none", "path": "/spec/x"}),
        json!({"op": "copy", "from": "/spec/tags/7", "path": "/spec/x"}),
        json!({"op": "fly", "path": "/spec"}),
        json!({"op": "", "path": "/spec"}),
        json!({"op": "ADD", "path": "/spec/x", "value": 1}),
        json!({"path": "/spec"}),
        json!({"op": "remove"}),
        json!({"op": "move", "path": "/spec/x"}),
        json!({"op": "copy", "path": "/spec/x"}),
        json!({"op": "add", "path": "spec/x", "value": 1}),
        json!({"op": "remove", "path": "x"}),
    ] {
        rows.push(one(operation, INVALID));
    }
    for operation in [
        json!(1),
        json!("remove"),
        json!([]),
        json!({"op": 1, "path": "/a"}),
        json!({"op": "remove", "path": 1}),
    ] {
        rows.push(one(operation, BAD));
    }
    rows
}

/// Little that would become much.
pub(super) fn bombs() -> Vec<Row> {
    let many = |count: usize| vec![json!({"op": "test", "path": "/spec/color", "value": "red"}); count];
    let mut rows = vec![Row::patch(ONE, OPERATIONS, Value::from(many(10_001)).to_string(), TOO_LARGE)];
    // Each copy doubles the document.
    let mut doubling =
        vec![json!({"op": "add", "path": "/metadata/annotations", "value": {"a": "x".repeat(1000)}})];
    doubling.extend(
        (0..40).map(|level| json!({"op": "copy", "from": "/metadata", "path": format!("/spec/{level}")})),
    );
    doubling.extend(
        (0..40).map(|level| json!({"op": "copy", "from": "/spec", "path": format!("/spec/x{level}")})),
    );
    rows.push(Row::patch(ONE, OPERATIONS, Value::from(doubling).to_string(), INVALID));
    // The same place, again and again.
    let mut wide = vec![json!({"op": "add", "path": "/spec/tags", "value": vec!["x"; 50_000]})];
    wide.extend(vec![json!({"op": "copy", "from": "/spec/tags", "path": "/spec/tags/0"}); 1000]);
    rows.push(Row::patch(ONE, OPERATIONS, Value::from(wide).to_string(), INVALID));
    // Deeper with each step.
    let deeper =
        (0..200).map(|_| json!({"op": "copy", "from": "/spec", "path": "/spec/x"})).collect::<Vec<_>>();
    rows.push(Row::patch(ONE, OPERATIONS, Value::from(deeper).to_string(), BAD));
    // An insertion at the front shifts all items.
    let mut moving = vec![json!({"op": "add", "path": "/spec/tags", "value": vec!["x"; 50_000]})];
    moving.extend(vec![json!({"op": "add", "path": "/spec/tags/0", "value": "y"}); 9_000]);
    rows.push(Row::patch(ONE, OPERATIONS, Value::from(moving).to_string(), TOO_LARGE));
    rows
}

/// Patches that apply, and make something that cannot be.
fn objects() -> Vec<Row> {
    let mut rows = Vec::new();
    for (patch, expected) in [
        (json!({"metadata": {"name": "b"}}), BAD),
        (json!({"metadata": {"namespace": "b"}}), BAD),
        (json!({"kind": "Gadget"}), INVALID),
        (json!({"apiVersion": "example.com/v2"}), INVALID),
        (json!({"apiVersion": null}), INVALID),
        (json!({"kind": null}), INVALID),
        (json!({"metadata": {"uid": "other"}}), INVALID),
        (json!({"metadata": {"resourceVersion": "1"}}), (409, "Conflict")),
        (json!({"metadata": {"labels": {"a": 1}}}), INVALID),
        (json!({"metadata": {"labels": {"a b": "c"}}}), INVALID),
        (json!({"metadata": 1}), INVALID),
        (json!({"metadata": {"ownerReferences": [{}]}}), INVALID),
        (json!({"spec": {"color": "pink"}}), INVALID),
        (json!({"spec": {"size": 0}}), INVALID),
        (json!({"spec": {"size": "big"}}), INVALID),
        (json!({"spec": 1}), INVALID),
        (json!({"spec": {"tags": [1]}}), INVALID),
    ] {
        rows.push(Row::patch(ONE, MERGE, patch.to_string(), expected));
    }
    for (patch, expected) in [
        (json!({"data": {"a": 1}}), INVALID),
        (json!({"data": "a"}), INVALID),
        (json!({"data": {"$patch": "none"}}), INVALID),
        (json!({"$patch": 1}), INVALID),
        (json!({"metadata": {"ownerReferences": "a"}}), INVALID),
        (json!({"metadata": {"$setElementOrder/finalizers": 1}}), BAD),
        (json!({"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}), BAD),
        (json!({"data": {"a b": "c"}}), INVALID),
        (json!({"metadata": {"name": "b"}}), BAD),
    ] {
        rows.push(Row::patch(CONFIG, STRATEGIC, patch.to_string(), expected));
    }
    let none = &format!("{ALL}/none");
    rows.push(Row::patch(none, MERGE, "{}", (404, "NotFound")));
    rows.push(Row::patch(none, OPERATIONS, "[]", (404, "NotFound")));
    rows
}
