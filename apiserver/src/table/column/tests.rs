use proptest::prelude::*;

use super::*;
use crate::table::age::timestamp;

fn now() -> Timestamp {
    timestamp("2026-01-01T00:05:00Z").expect("a time")
}

fn column(kind: &str, path: &str) -> Value {
    json!({"name": "C", "type": kind, "jsonPath": path})
}

#[track_caller]
fn check_cell(kind: &str, value: Value, expected: Value) {
    let (columns, problem) = crd_columns(&json!([column(kind, ".spec.x")]));
    assert_eq!(problem, None);
    let object = json!({"metadata": {"name": "a"}, "spec": {"x": value}});
    assert_eq!(columns.cells(&object, now()), [json!("a"), expected]);
}

#[test]
fn cells_are_of_the_type_of_their_column() {
    check_cell("integer", json!(5), json!(5));
    check_cell("integer", json!(5.9), json!(5));
    check_cell("integer", json!("5"), json!(null));
    check_cell("number", json!(5), json!(5));
    check_cell("number", json!(5.0), json!(5));
    check_cell("number", json!(5.5), json!(5.5));
    check_cell("number", json!(true), json!(null));
    check_cell("boolean", json!(true), json!(true));
    check_cell("boolean", json!("true"), json!(null));
    check_cell("string", json!("x"), json!("x"));
    check_cell("string", json!(5), json!("5"));
    check_cell("string", json!({"a": [1]}), json!("{\"a\":[1]}"));
    check_cell("string", json!(null), json!("<no value>"));
    check_cell("date", json!("2026-01-01T00:00:00Z"), json!("5m"));
    check_cell("date", json!(""), json!("<unknown>"));
    check_cell("date", json!("soon"), json!("<invalid>"));
    check_cell("date", json!(5), json!(null));
}

/// Columns, an object and its row, recorded from kube-apiserver 1.37.
#[test]
fn the_row_that_kubernetes_makes() {
    let columns = [
        ("string", ".spec.s"),
        ("string", ".spec.i"),
        ("integer", ".spec.i"),
        ("integer", ".spec.f"),
        ("number", ".spec.f"),
        ("number", ".spec.i"),
        ("boolean", ".spec.b"),
        ("date", ".spec.d"),
        ("string", ".spec.any"),
        ("string", ".spec.nul"),
        ("string", ".spec.f"),
        ("string", ".spec.conds[?(@.type==\"Ready\")].status"),
        ("string", ".spec.list[*]"),
        ("string", ".spec.list"),
        ("string", ".spec.list[-1]"),
        ("string", ".metadata.labels['a\\.b']"),
        ("string", "..deep"),
        ("date", ".metadata.creationTimestamp"),
        ("string", ".a[x]"),
        ("string", ".spec.s"),
    ];
    let columns: Value = columns.into_iter().map(|(kind, path)| column(kind, path)).collect();
    let object = json!({
        "metadata": {"name": "a", "labels": {"a.b": "lab"}, "creationTimestamp": "2026-01-01T00:05:00Z"},
        "spec": {
            "s": "x", "i": 5, "f": 1.5, "b": true, "d": "2026-01-01 00:00:00Z", "any": {"k": "<&>"}, "nul": null,
            "conds": [{"type": "Ready", "status": "True"}], "list": [1, "b", 2.5], "q": {"deep": "here"},
        },
    });
    let expected = json!([
        "a",
        "x",
        "5",
        5,
        1,
        1.5,
        5,
        true,
        "<invalid>",
        r#"{"k":"\u003c\u0026\u003e"}"#,
        "<no value>",
        "1.5",
        "True",
        "1",
        r#"[1,"b",2.5]"#,
        "2.5",
        "lab",
        "here",
        "0s",
    ]);
    assert_eq!(Value::from(crd_columns(&columns).0.cells(&object, now())), expected);
}

#[test]
fn without_columns_there_is_the_age() {
    for none in [json!(null), json!([])] {
        let (columns, problem) = crd_columns(&none);
        assert_eq!(problem, None);
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(columns.cells(&object, now()), [json!("a"), json!("5m")]);
        assert_eq!(columns.cells(&json!({}), now()), [json!(""), json!(null)]);
        let definitions = columns.definitions();
        assert_eq!((&definitions[0]["name"], &definitions[0]["format"]), (&json!("Name"), &json!("name")));
        assert_eq!((&definitions[1]["name"], &definitions[1]["type"]), (&json!("Age"), &json!("date")));
    }
}

#[test]
fn definitions_say_what_was_defined() {
    let (columns, _) = crd_columns(&json!([
        {"name": "Size", "type": "integer", "format": "int32", "priority": 1, "jsonPath": ".spec.size"},
        {"name": "Note", "type": "string", "description": "A note", "jsonPath": ".spec.note"},
    ]));
    let described = "Custom resource definition column (in JSONPath format): .spec.size";
    let definitions = columns.definitions();
    assert_eq!(definitions[1], definition("Size", "integer", "int32", described, 1));
    assert_eq!(definitions[2], definition("Note", "string", "", "A note", 0));
}

#[test]
fn a_path_that_cannot_be_read_ends_the_columns() {
    let (columns, problem) =
        crd_columns(&json!([column("string", ".a"), column("string", ".a[x]"), column("string", ".b")]));
    assert_eq!(columns.cells(&json!({"a": "1", "b": "2"}), now()), [json!(""), json!("1")]);
    assert_eq!(problem.as_deref(), Some("unrecognized column definition \".a[x]\": invalid array index x"));
    let (_, problem) = crd_columns(&json!([column("string", "{.a}")]));
    assert!(problem.is_some());
}

#[track_caller]
fn check_refused(column: Value, expected: &[&str]) {
    let errors = check_columns(&json!([column]), "spec.versions[0].additionalPrinterColumns");
    let said: Vec<String> = errors
        .iter()
        .map(|error| error.to_string().replace("spec.versions[0].additionalPrinterColumns", ""))
        .collect();
    assert_eq!(said, expected);
}

#[test]
fn columns_invalid_in_kubernetes_are_refused() {
    check_refused(json!({"name": "a", "type": "string", "jsonPath": ".a"}), &[]);
    let kinds = "must be one of boolean,date,integer,number,string";
    check_refused(
        json!({}),
        &[
            "[0].name: Required value",
            &format!("[0].type: Required value: {kinds}"),
            "[0].JSONPath: Required value",
        ],
    );
    check_refused(
        json!({"name": "a", "type": "text", "format": "x", "jsonPath": "spec.a"}),
        &[
            &format!("[0].type: Invalid value: \"text\": {kinds}"),
            "[0].format: Invalid value: \"x\": must be one of byte,date,date-time,double,float,int32,int64,password",
            "[0].JSONPath: Invalid value: \"spec.a\": must be a simple json path starting with .",
        ],
    );
}

proptest! {
    #[test]
    fn no_number_panics(number in any::<f64>()) {
        for kind in [CellKind::Integer, CellKind::Number, CellKind::Text] {
            kind.cell(&json!(number), now());
        }
    }
}
