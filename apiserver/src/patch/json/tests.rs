use crate::patch::apply::apply;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::patch::PatchKind;
use crate::patch::arbitrary::{object, value};
use crate::refusal::Refusal;

fn patched(document: &Value, patch: &Value) -> Result<Value, Refusal> {
    apply(PatchKind::Json, document, patch.to_string().as_bytes(), None)
}

fn check(document: Value, patch: Value, expected: Value) {
    assert_eq!(patched(&document, &patch), Ok(expected), "{patch}");
}

fn check_refused(document: Value, patch: Value, cause: &str) {
    let refusal = patched(&document, &patch).unwrap_err();
    assert_eq!((refusal.code, refusal.reason), (422, "Invalid"), "{patch}");
    assert_eq!(refusal.message, "the server rejected our request due to an error in our request");
    assert_eq!(refusal.causes[0].message, cause, "{patch}");
}

#[test]
fn operations_of_the_rfc() {
    let list = || json!({"foo": ["bar", "baz"]});
    check(json!({"foo": 1}), json!([{"op": "add", "path": "/baz", "value": 2}]), json!({"foo": 1, "baz": 2}));
    check(list(), json!([{"op": "add", "path": "/foo/1", "value": 1}]), json!({"foo": ["bar", 1, "baz"]}));
    check(list(), json!([{"op": "add", "path": "/foo/2", "value": 1}]), json!({"foo": ["bar", "baz", 1]}));
    check(list(), json!([{"op": "add", "path": "/foo/-", "value": 1}]), json!({"foo": ["bar", "baz", 1]}));
    check(list(), json!([{"op": "remove", "path": "/foo/0"}]), json!({"foo": ["baz"]}));
    check(list(), json!([{"op": "remove", "path": "/foo"}]), json!({}));
    check(list(), json!([{"op": "replace", "path": "/foo/1", "value": 1}]), json!({"foo": ["bar", 1]}));
    check(
        list(),
        json!([{"op": "move", "from": "/foo/0", "path": "/foo/1"}]),
        json!({"foo": ["baz", "bar"]}),
    );
    check(list(), json!([{"op": "move", "from": "/foo", "path": "/bar"}]), json!({"bar": ["bar", "baz"]}));
    check(
        list(),
        json!([{"op": "copy", "from": "/foo/0", "path": "/a"}]),
        json!({"foo": ["bar", "baz"], "a": "bar"}),
    );
    check(list(), json!([{"op": "test", "path": "/foo", "value": ["bar", "baz"]}]), list());
    check(list(), json!([{"op": "test", "path": "", "value": list()}]), list());
    check(list(), json!([{"op": "replace", "path": "", "value": {"a": 1}}]), json!({"a": 1}));
    check(list(), json!([]), list());
    check(list(), Value::Null, list());
}

#[test]
fn names_are_escaped() {
    let document = json!({"a/b": 1, "m~n": 2, "~1": 3, "": 4});
    let test = |path: &str, value: u8| json!({"op": "test", "path": path, "value": value});
    check(
        document.clone(),
        json!([test("/a~1b", 1), test("/m~0n", 2), test("/~01", 3), test("/", 4)]),
        document,
    );
}

#[test]
fn a_test_compares_numbers_by_value() {
    let document = json!({"a": [1, 2.0, 18_446_744_073_709_551_615_u64]});
    let test = |value: Value| json!([{"op": "test", "path": "/a", "value": value}]);
    check(document.clone(), test(json!([1.0, 2, 18_446_744_073_709_551_615_u64])), document.clone());
    check_refused(document, test(json!([1, 2, 3])), "testing value /a failed: test failed");
}

/// kopf removes its finalizer this way: the revision must be the one that it saw.
#[test]
fn a_test_guards_what_follows() {
    let document = json!({"metadata": {"resourceVersion": "7", "finalizers": ["a", "b"]}});
    let patch = |revision: &str| {
        json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": revision},
            {"op": "remove", "path": "/metadata/finalizers/1"},
        ])
    };
    check(document.clone(), patch("7"), json!({"metadata": {"resourceVersion": "7", "finalizers": ["a"]}}));
    check_refused(document, patch("6"), "testing value /metadata/resourceVersion failed: test failed");
}

#[test]
fn extensions_of_kubernetes_are_accepted() {
    check(json!({}), json!([{"op": "replace", "path": "/a", "value": 1}]), json!({"a": 1}));
    check(json!({}), json!([{"op": "test", "path": "/a", "value": null}]), json!({}));
    check(json!({}), json!([{"op": "test", "path": "/a"}]), json!({}));
    check(json!({}), json!([{"op": "add", "path": "/a"}]), json!({"a": null}));
    let list = || json!({"a": [1, 2]});
    check(list(), json!([{"op": "replace", "path": "/a/-1", "value": 3}]), json!({"a": [1, 3]}));
    check(list(), json!([{"op": "remove", "path": "/a/-2"}]), json!({"a": [2]}));
    check(list(), json!([{"op": "test", "path": "/a/-1", "value": 2}]), list());
    check(list(), json!([{"op": "add", "path": "/a/-1", "value": 3}]), json!({"a": [1, 2, 3]}));
    check(list(), json!([{"op": "add", "path": "/a/-3", "value": 3}]), json!({"a": [3, 1, 2]}));
}

#[test]
fn inapplicable_operations_are_refused() {
    let missing = |verb: &str, path: &str| {
        format!("{verb} operation does not apply: doc is missing path: {path:?}: missing value")
    };
    for (verb, path) in [
        ("remove", "/a"),
        ("remove", "/list/2"),
        ("remove", "/list/-3"),
        ("remove", "/list/-0"),
        ("remove", "/list/-01"),
        ("remove", "/list/--1"),
        ("remove", "/list/-"),
        ("remove", "/list/01"),
        ("remove", "/list/+1"),
        ("remove", "/text/0"),
        ("remove", "/a/b"),
        ("add", "/list/3"),
        ("add", "/list/-4"),
        ("add", "/list/"),
        ("add", "/a/b"),
        ("add", "/list/99999999999999999999999"),
        ("replace", "/list/2"),
        ("replace", "/list/-"),
        ("replace", "/a/b"),
        ("test", "/a/b"),
        ("test", "/list/2"),
    ] {
        let patch = json!([{"op": verb, "path": path, "value": 1}]);
        check_refused(json!({"list": [1, 2], "text": "a"}), patch, &missing(verb, path));
    }
    let one = |op: Value| json!([op]);
    check_refused(json!({}), one(json!({"op": "copy", "from": "/a", "path": "/b"})), &missing("copy", "/a"));
    check_refused(
        json!({}),
        one(json!({"op": "move", "from": "/a", "path": "/b"})),
        &missing("remove", "/a"),
    );
    let into_itself = one(json!({"op": "move", "from": "/a", "path": "/a/b"}));
    check_refused(json!({"a": {}}), into_itself, &missing("add", "/a/b"));
    check_refused(json!({}), one(json!({"op": "remove", "path": ""})), "the whole object cannot be removed");
    check_refused(
        json!({}),
        one(json!({"op": "add", "path": "", "value": 1})),
        "what the patch makes is no object",
    );
    check_refused(json!({}), one(json!({"op": "append", "path": "/a"})), "Unexpected kind: append");
    check_refused(json!({}), one(json!({"path": "/a"})), "Unexpected kind: unknown");
    check_refused(json!({}), one(json!({"op": "add", "value": 1})), "operation \"add\" has no \"path\"");
    check_refused(json!({}), one(json!({"op": "copy", "path": "/a"})), "operation \"copy\" has no \"from\"");
    check_refused(
        json!({}),
        one(json!({"op": "add", "path": "a"})),
        "path \"a\" does not begin with a slash",
    );
}

#[test]
fn members_of_another_type_are_a_bad_request() {
    let said = |patch: Value| {
        let refusal = patched(&json!({}), &patch).unwrap_err();
        assert_eq!(refusal.code, 400);
        refusal.message
    };
    assert_eq!(
        said(json!(["a"])),
        "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"
    );
    assert_eq!(
        said(json!([{"op": 1}])),
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
    );
}

#[test]
fn ten_thousand_operations_are_enough() {
    let patch = |count: usize| json!(vec![json!({"op": "add", "path": "/a", "value": 1}); count]);
    check(json!({}), patch(10_000), json!({"a": 1}));
    let refusal = patched(&json!({}), &patch(10_001)).unwrap_err();
    assert_eq!((refusal.code, refusal.reason), (413, "RequestEntityTooLarge"));
    let said = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!(refusal.message, said);
}

/// Thirty operations would make a terabyte.
#[test]
fn the_total_size_of_copies_is_limited() {
    let double = [
        json!({"op": "copy", "from": "/a", "path": "/a/-"}),
        json!({"op": "copy", "from": "/a", "path": "/a/-"}),
    ];
    let patch = Value::from(double.iter().cycle().take(60).cloned().collect::<Vec<_>>());
    for (item, cause) in [
        ("x".repeat(100), "the copies of the patch are larger than 3145728 bytes together"),
        ("x".into(), "the copies of the patch are more than 100000 values together"),
    ] {
        check_refused(json!({"a": [item]}), patch.clone(), cause);
    }
}

/// Of values in operations, and of values moved or copied into each other.
#[test]
fn the_nesting_of_a_document_is_limited() {
    let nest = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({"a": inner}));
    let path = |levels: usize| "/a".repeat(levels);
    let document = nest(100);
    let patch = json!([{"op": "add", "path": path(100), "value": nest(27)}]);
    let deepest = patched(&document, &patch).unwrap();
    assert!(serde_json::from_str::<Value>(&deepest.to_string()).is_ok());
    for patch in [
        json!([{"op": "add", "path": path(100), "value": nest(28)}]),
        json!([{"op": "replace", "path": path(100), "value": nest(28)}]),
        json!([{"op": "copy", "from": path(50), "path": path(100)}]),
        json!([
            {"op": "add", "path": "/b", "value": nest(60)},
            {"op": "move", "from": "/b", "path": path(100)},
        ]),
    ] {
        let refusal = patched(&document, &patch).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.message.as_str()),
            (400, "the patched object is nested too deeply")
        );
    }
    let long = json!([{"op": "add", "path": path(200), "value": 1}]);
    check_refused(document, long, "a path is longer than a document can be deep");
}

#[test]
fn the_total_of_shifted_items_is_limited() {
    let document = json!({"a": vec![0; 50_000]});
    let first = json!({"op": "add", "path": "/a/0", "value": 1});
    let refusal = patched(&document, &json!(vec![first; 10_000])).unwrap_err();
    assert_eq!(refusal.code, 413);
}

/// A patch that leads from one document to another.
fn patch_between(path: &str, from: &Value, to: &Value, patch: &mut Vec<Value>) {
    let below = |name: &str| format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for name in from.keys().filter(|name| !to.contains_key(*name)) {
                patch.push(json!({"op": "remove", "path": below(name)}));
            }
            for (name, value) in to {
                match from.get(name) {
                    Some(old) => patch_between(&below(name), old, value, patch),
                    None => patch.push(json!({"op": "add", "path": below(name), "value": value})),
                }
            }
        }
        (Value::Array(from), Value::Array(to)) => {
            for at in (to.len()..from.len()).rev() {
                patch.push(json!({"op": "remove", "path": below(&at.to_string())}));
            }
            for (at, value) in to.iter().enumerate() {
                match from.get(at) {
                    Some(old) => patch_between(&below(&at.to_string()), old, value, patch),
                    None => patch.push(json!({"op": "add", "path": below("-"), "value": value})),
                }
            }
        }
        (from, to) if from == to => patch.push(json!({"op": "test", "path": path, "value": to})),
        (_, to) => patch.push(json!({"op": "replace", "path": path, "value": to})),
    }
}

fn any_operation() -> impl Strategy<Value = Value> {
    let verb = prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]);
    let path = || "(/[a-c0-2~-]{0,2}){0,3}";
    (verb, path(), path(), value())
        .prop_map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
}

proptest! {
    #[test]
    fn a_diff_applied_as_a_patch_gives_the_target(from in object(), to in object()) {
        let mut patch = Vec::new();
        patch_between("", &from, &to, &mut patch);
        prop_assert_eq!(patched(&from, &Value::from(patch)), Ok(to));
    }

    #[test]
    fn a_patch_that_tests_its_outcome_holds(from in object(), to in object()) {
        let mut patch = Vec::new();
        patch_between("", &from, &to, &mut patch);
        patch.push(json!({"op": "test", "path": "", "value": to}));
        prop_assert_eq!(patched(&from, &Value::from(patch)), Ok(to));
    }

    #[test]
    fn any_operations_give_an_object_or_a_refusal(
        document in object(),
        patch in prop::collection::vec(any_operation(), 0..6),
    ) {
        match patched(&document, &Value::from(patch)) {
            Ok(made) => prop_assert!(made.is_object()),
            Err(refusal) => prop_assert_eq!(refusal.code, 422),
        }
    }

    #[test]
    fn moving_there_and_back_changes_nothing(document in object()) {
        let document = json!({"from": document});
        let patch = json!([
            {"op": "move", "from": "/from", "path": "/to"},
            {"op": "move", "from": "/to", "path": "/from"},
        ]);
        prop_assert_eq!(patched(&document, &patch), Ok(document));
    }
}
