use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ColumnPath, shown};

fn object() -> Value {
    json!({
        "metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "web"}},
        "spec": {"n": 3, "f": 1.5, "on": true, "nothing": null, "list": [10, 20, 30, 40], "empty": []},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True", "count": 2},
                {"type": "Odd (one)", "status": "False", "count": 5},
                {"status": "Unknown"},
            ],
        },
    })
}

fn found(path: &str) -> Option<Value> {
    let parsed = ColumnPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    parsed.first(&object()).cloned()
}

#[track_caller]
fn check(path: &str, expected: impl Into<Value>) {
    assert_eq!(found(path), Some(expected.into()), "{path}");
}

#[test]
fn fields() {
    check(".metadata.name", "a");
    check("{.metadata.name}", "a");
    check("$.metadata.name", "a");
    check(".metadata['name']", "a");
    check("['metadata']['name']", "a");
    check(r".metadata.labels.app\.kubernetes\.io/name", "web");
    check(r".metadata.labels['app\.kubernetes\.io/name']", "web");
    check(".spec.nothing", Value::Null);
    for path in [
        ".spec.missing",
        ".spec.n.deeper",
        ".spec.nothing.deeper",
        ".metadata.labels['app.kubernetes.io/name']",
    ] {
        assert_eq!(found(path), None, "{path}");
    }
}

#[test]
fn lists() {
    check(".spec.list[0]", 10);
    check(".spec.list[]", 10);
    check(".spec.list[-1]", 40);
    check(".spec.list[-2]", 30);
    check(".spec.list[*]", 10);
    check(".spec.list[1:3]", 20);
    check(".spec.list[-2:]", 30);
    check(".spec.list[::2]", 10);
    check(".spec.list[3,0]", 40);
    check(".spec.list", json!([10, 20, 30, 40]));
    check(".status.conditions[*].type", "Ready");
    check(".spec.*", json!([]));
    check("..type", "Ready");
    check(".metadata.name..", "a");
    for path in [
        ".spec.list[4]",
        ".spec.list[-5]",
        ".spec.empty[0]",
        ".spec.n[0]",
        ".spec.list[2:1]",
        ".spec.list[0:0]",
        ".spec.empty[*]",
    ] {
        assert_eq!(found(path), None, "{path}");
    }
}

#[test]
fn filters() {
    check(r#".status.conditions[?(@.type=="Ready")].status"#, "True");
    check(".status.conditions[?(@.type == 'Ready')].status", "True");
    check(r#".status.conditions[?(@.type=="Odd (one)")].status"#, "False");
    check(".status.conditions[?(@.type!='Ready')].status", "False");
    check(".status.conditions[?(@.count>2)].status", "False");
    check(".status.conditions[?(@.count>=2)].status", "True");
    check(".status.conditions[?(@.count<5)].type", "Ready");
    check(".status.conditions[?(@.type)].status", "True");
    check(".spec.list[?(@>25)]", 30);
}

#[test]
fn incomparable_values_select_nothing() {
    for path in [
        ".status.conditions[?(@.type==1)].status",
        ".status.conditions[?(@.count==2.0)].status",
        ".spec.list[?(@>true)]",
        ".spec[?(@.a)]",
        ".status.conditions[?(@.count<=1)].type",
        ".status.conditions[?(@.count=2)].type",
        ".spec.list range",
    ] {
        assert_eq!(found(path), None, "{path}");
    }
}

#[test]
fn invalid_paths_are_refused() {
    for (path, expected) in [
        (".a[0", "unterminated array"),
        (".a[x]", "invalid array index x"),
        (".a[1:2:3:4]", "invalid array index 1:2:3:4"),
        (".a[?(@.b==1]", "unterminated filter"),
        (".a[?(@.b==1)", "unclosed array expect ]"),
        (".a....b", "invalid multiple recursive descent"),
        (".a\\", "unclosed action"),
        ("{.a", "unrecognized character in action: U+007B '{'"),
        ("'a", "unterminated quoted string"),
        ("1.2.3", "cannot parse number 1.2.3"),
        ("#", "unrecognized character in action: U+0023 '#'"),
    ] {
        assert_eq!(ColumnPath::parse(path), Err(expected.into()), "{path}");
    }
}

#[test]
fn shown_as_go_prints() {
    for (value, expected) in [
        (json!("x"), "x"),
        (json!(5), "5"),
        (json!(1.0), "1"),
        (json!(1.5), "1.5"),
        (json!(1e20), "100000000000000000000"),
        (json!(1e21), "1e+21"),
        (json!(0.0001), "0.0001"),
        (json!(0.00001), "1e-05"),
        (json!(u64::MAX), "18446744073709552000"),
        (json!(false), "false"),
        (json!(null), "<no value>"),
        (json!(["a", {"b": "<&>"}]), r#"["a",{"b":"\u003c\u0026\u003e"}]"#),
    ] {
        assert_eq!(shown(&value), expected);
    }
}

#[test]
fn paths_over_the_selection_limit_select_nothing() {
    let deep = (0..100).fold(json!(1), |inside, _| json!([inside]));
    let first = |path: &str| ColumnPath::parse(path).expect("a path").first(&deep).is_some();
    assert!(first("...*...*"));
    assert!(!first("...*...*...*...*"));
}

proptest! {
    #[test]
    fn no_path_panics(path in r#"[.\[\]{}?@()='"a-c0-9:,*\\<>! $-]{0,30}"#) {
        if let Ok(path) = ColumnPath::parse(&path) {
            path.first(&object());
        }
    }
}
