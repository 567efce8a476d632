mod sets;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::of::of;
use super::{Deduced, EMPTY, FieldSet, ListMeta, ListType, Versions, Write, compare, keep_times, updated};
use crate::patch::arbitrary::object;

/// A schema.
#[derive(Clone, Debug, Default)]
pub(super) struct TestSchema {
    pub(super) set: bool,
    pub(super) keys: Vec<&'static str>,
    pub(super) atomic: bool,
    pub(super) always: bool,
    pub(super) default: Option<Value>,
    pub(super) fields: BTreeMap<&'static str, TestSchema>,
    pub(super) items: Option<Box<TestSchema>>,
}

impl ListMeta for TestSchema {
    fn list_type(&self) -> ListType<'_> {
        match (self.set, self.keys.as_slice()) {
            (true, _) => ListType::Set,
            (_, []) => ListType::Atomic,
            (_, keys) => ListType::Map(keys.to_vec()),
        }
    }

    fn atomic_map(&self) -> bool {
        self.atomic
    }

    fn field(&self, name: &str) -> Option<&dyn ListMeta> {
        self.fields.get(name).map(|field| field as &dyn ListMeta)
    }

    fn items(&self) -> Option<&dyn ListMeta> {
        self.items.as_deref().map(|items| items as &dyn ListMeta)
    }

    fn default_value(&self) -> Option<&Value> {
        self.default.as_ref()
    }

    fn always_there(&self) -> Option<&'static Value> {
        self.always.then_some(&*EMPTY)
    }
}

impl Versions for TestSchema {
    fn lists(&self, _: &str) -> Option<&dyn ListMeta> {
        Some(self)
    }
}

/// A schema that is of one version.
pub(super) struct Only(pub(super) &'static str, pub(super) TestSchema);

impl Versions for Only {
    fn lists(&self, api_version: &str) -> Option<&dyn ListMeta> {
        (api_version == self.0).then_some(&self.1)
    }
}

pub(super) fn fields<const N: usize>(fields: [(&'static str, TestSchema); N]) -> TestSchema {
    TestSchema { fields: BTreeMap::from(fields), ..TestSchema::default() }
}

/// The schema of the tests: a set of tags, ports keyed by port and protocol, which has a default,
/// and an atomic selector.
fn schema() -> TestSchema {
    let protocol = TestSchema { default: Some(json!("TCP")), ..TestSchema::default() };
    let port =
        fields([("port", TestSchema::default()), ("protocol", protocol), ("name", TestSchema::default())]);
    let spec = fields([
        ("replicas", TestSchema::default()),
        ("tags", TestSchema { set: true, ..TestSchema::default() }),
        (
            "ports",
            TestSchema {
                keys: vec!["protocol", "port"],
                items: Some(Box::new(port)),
                ..TestSchema::default()
            },
        ),
        ("selector", TestSchema { atomic: true, ..TestSchema::default() }),
        ("template", TestSchema { always: true, ..fields([("x", TestSchema::default())]) }),
        ("limits", TestSchema { items: Some(Box::default()), ..TestSchema::default() }),
    ]);
    fields([("spec", spec), ("status", TestSchema::default())])
}

fn write<'a>(manager: &'a str, versions: &'a dyn Versions) -> Write<'a> {
    let now = "2026-11-21T10:00:00Z";
    Write { manager, subresource: None, api_version: "v1", now, versions }
}

fn written(old: Option<&Value>, mut new: Value, manager: &str) -> Value {
    updated(old, &mut new, &write(manager, &schema()));
    new
}

/// Returns the owners of each field, as `manager` or `manager/subresource`.
fn owners(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let owner = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let name = [text("manager"), text("subresource")].join("/");
        (name.trim_end_matches('/').to_owned(), entry["fieldsV1"].clone())
    };
    Value::Object(entries.into_iter().flatten().map(owner).collect())
}

fn check(object: &Value, expected: Value) {
    assert_eq!(owners(object), expected, "{object}");
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a", "uid": "u"}, "spec": spec})
}

/// The object to send when one has read `object`.
fn with_spec(object: &Value, spec: Value) -> Value {
    let mut object = object.clone();
    object["spec"] = spec;
    object
}

#[test]
fn a_creator_owns_all_fields_but_the_servers() {
    let new = json!({
        "apiVersion": "v1",
        "kind": "Widget",
        "metadata": {
            "name": "a", "namespace": "b", "uid": "c", "generation": 1, "creationTimestamp": "2026-11-21T10:00:00Z",
            "generateName": "a-", "labels": {"x/y": "1"}, "annotations": {}, "finalizers": ["f"],
            "ownerReferences": [{"uid": "1", "name": "o"}],
        },
        "spec": {
            "replicas": 1, "tags": ["a"], "selector": {"a": "b"}, "limits": {"cpu": 1}, "template": {"x": 1},
            "ports": [{"port": 80, "name": "web"}, {"port": 80, "protocol": "UDP"}], "unknown": {"a": [1], "b": null},
        },
    });
    let new = written(None, new, "me");
    let expected = json!([{
        "manager": "me",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-21T10:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:generateName": {},
                "f:labels": {".": {}, "f:x/y": {}},
                "f:annotations": {},
                "f:finalizers": {".": {}, "v:\"f\"": {}},
                "f:ownerReferences": {".": {}, "k:{\"uid\":\"1\"}": {}},
            },
            "f:spec": {
                ".": {},
                "f:replicas": {},
                "f:tags": {".": {}, "v:\"a\"": {}},
                "f:selector": {},
                "f:limits": {".": {}, "f:cpu": {}},
                "f:template": {".": {}, "f:x": {}},
                "f:ports": {
                    ".": {},
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}},
                    "k:{\"port\":80,\"protocol\":\"UDP\"}": {".": {}, "f:port": {}, "f:protocol": {}},
                },
                "f:unknown": {".": {}, "f:a": {}, "f:b": {}},
            },
        },
    }]);
    assert_eq!(new["metadata"]["managedFields"], expected);
}

/// Nested structs, like the spec of a Deployment.
#[test]
fn fields_that_always_exist_have_no_owner() {
    let always = |name, field| TestSchema { always: true, ..fields([(name, field)]) };
    let schema = fields([("spec", always("template", always("x", TestSchema::default())))]);
    let mut old = widget(json!({"template": {"x": {"y": 1}}}));
    updated(None, &mut old, &write("first", &schema));
    let owned = json!({"f:spec": {"f:template": {"f:x": {".": {}, "f:y": {}}}}});
    check(&old, json!({"first": owned}));
    let mut new = with_spec(&old, json!({}));
    updated(Some(&old), &mut new, &write("second", &schema));
    check(&new, json!({}));
}

#[test]
fn a_writer_owns_the_fields_that_it_changes() {
    let old =
        written(None, widget(json!({"replicas": 1, "tags": ["a", "b"], "limits": {"cpu": 1}})), "first");
    let new = with_spec(&old, json!({"replicas": 2, "tags": ["b", "c"], "limits": {"cpu": 1, "memory": 2}}));
    let new = written(Some(&old), new, "second");
    let second =
        json!({"f:spec": {"f:replicas": {}, "f:tags": {"v:\"c\"": {}}, "f:limits": {"f:memory": {}}}});
    let first =
        json!({"f:spec": {".": {}, "f:tags": {".": {}, "v:\"b\"": {}}, "f:limits": {".": {}, "f:cpu": {}}}});
    check(&new, json!({"first": first, "second": second}));

    let back = with_spec(&new, json!({"replicas": 1, "tags": ["b", "c"], "limits": {"memory": 2}}));
    let back = written(Some(&new), back, "first");
    let second = json!({"f:spec": {"f:tags": {"v:\"c\"": {}}, "f:limits": {"f:memory": {}}}});
    let first = json!({"f:spec": {
        ".": {}, "f:replicas": {}, "f:tags": {".": {}, "v:\"b\"": {}}, "f:limits": {},
    }});
    check(&back, json!({"first": first, "second": second}));
}

#[test]
fn removed_fields_and_managers_without_fields_are_dropped() {
    let old = written(None, widget(json!({"replicas": 1})), "first");
    let two = written(Some(&old), with_spec(&old, json!({"replicas": 1, "limits": {"cpu": 1}})), "second");
    check(
        &two,
        json!({
            "first": {"f:spec": {".": {}, "f:replicas": {}}},
            "second": {"f:spec": {"f:limits": {".": {}, "f:cpu": {}}}},
        }),
    );
    let three = written(Some(&two), with_spec(&two, json!({"replicas": 1})), "third");
    check(&three, json!({"first": {"f:spec": {".": {}, "f:replicas": {}}}}));
}

#[test]
fn a_write_that_changes_nothing_changes_no_time() {
    let old = written(None, widget(json!({"replicas": 1})), "first");
    let mut new = old.clone();
    updated(Some(&old), &mut new, &Write { now: "2027-01-01T00:00:00Z", ..write("first", &schema()) });
    assert_eq!(new, old);
    updated(Some(&old), &mut new, &Write { now: "2027-01-01T00:00:00Z", ..write("second", &schema()) });
    assert_eq!(new, old);
    new["spec"]["replicas"] = json!(2);
    updated(Some(&old), &mut new, &Write { now: "2027-01-01T00:00:00Z", ..write("first", &schema()) });
    assert_eq!(new["metadata"]["managedFields"][0]["time"], "2027-01-01T00:00:00Z");
}

#[test]
fn subresources_and_versions_have_entries_of_their_own() {
    let old = written(None, widget(json!({"replicas": 1})), "me");
    let mut new = old.clone();
    new["status"] = json!({"ready": true});
    new["metadata"]["managedFields"] = json!([]);
    updated(Some(&old), &mut new, &Write { subresource: Some("status"), ..write("me", &schema()) });
    let status = json!({"f:status": {".": {}, "f:ready": {}}});
    check(&new, json!({"me": {"f:spec": {".": {}, "f:replicas": {}}}, "me/status": status}));

    let mut newer = with_spec(&new, json!({"replicas": 2}));
    updated(Some(&new), &mut newer, &Write { api_version: "v2", ..write("me", &Only("v2", schema())) });
    check(&newer, json!({"me": {"f:spec": {"f:replicas": {}}}}));
    assert_eq!(newer["metadata"]["managedFields"][0]["apiVersion"], "v2");
}

#[test]
fn atomic_values_change_their_owner_as_a_whole() {
    let old = written(None, widget(json!({"selector": {"a": 1, "b": 2}, "unknown": [1, 2]})), "first");
    check(&old, json!({"first": {"f:spec": {".": {}, "f:selector": {}, "f:unknown": {}}}}));
    let new = with_spec(&old, json!({"selector": {"a": 1, "b": 3}, "unknown": [2]}));
    let new = written(Some(&old), new, "second");
    let second = json!({"f:spec": {"f:selector": {}, "f:unknown": {}}});
    check(&new, json!({"first": {"f:spec": {}}, "second": second}));
}

#[test]
fn a_value_of_a_new_type_changes_its_owner_with_all_parts() {
    let old = written(None, widget(json!({"a": {"b": 1}, "c": 1})), "first");
    let new = written(Some(&old), with_spec(&old, json!({"a": 1, "c": {"d": 1}})), "second");
    let second = json!({"f:spec": {"f:a": {}, "f:c": {".": {}, "f:d": {}}}});
    check(&new, json!({"first": {"f:spec": {}}, "second": second}));
}

#[test]
fn duplicate_items_are_owned_as_one() {
    let old = written(None, widget(json!({"tags": ["a", "a"]})), "first");
    check(&old, json!({"first": {"f:spec": {".": {}, "f:tags": {".": {}, "v:\"a\"": {}}}}}));
    let new = written(Some(&old), with_spec(&old, json!({"tags": ["a", "a", "a", "b"]})), "second");
    let tags = json!({"v:\"a\"": {}, "v:\"b\"": {}});
    check(
        &new,
        json!({"first": {"f:spec": {".": {}, "f:tags": {}}}, "second": {"f:spec": {"f:tags": tags}}}),
    );
    let one = written(Some(&new), with_spec(&new, json!({"tags": ["a", "b"]})), "third");
    let third = json!({"f:spec": {"f:tags": {"v:\"a\"": {}}}});
    check(
        &one,
        json!({
            "first": {"f:spec": {".": {}, "f:tags": {}}},
            "second": {"f:spec": {"f:tags": {"v:\"b\"": {}}}},
            "third": third,
        }),
    );
}

#[test]
fn items_with_duplicate_keys_keep_their_owners() {
    let old = written(None, widget(json!({"replicas": 1, "ports": []})), "first");
    let new = with_spec(&old, json!({"replicas": 2, "ports": ["no map"]}));
    assert_eq!(owners(&written(Some(&old), new, "second")), owners(&old));
}

#[test]
fn valid_managed_fields_of_a_client_are_used() {
    let old = written(None, widget(json!({"replicas": 1, "tags": ["a"]})), "first");
    let sent = |entries: Value| {
        let mut new = old.clone();
        new["metadata"]["managedFields"] = entries;
        written(Some(&old), new, "second")
    };
    for nothing in
        [json!(null), json!("text"), json!([1]), json!([{"manager": 1}]), json!([{"manager": "x"}])]
    {
        assert_eq!(sent(nothing), old);
    }
    let entry = |key: &str, value: Value| {
        let mut entry = json!({
            "manager": "else", "operation": "Apply", "apiVersion": "v1", "time": "2026-11-21T12:00:00+02:00",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        });
        entry[key] = value;
        sent(json!([entry]))
    };
    for (key, value) in [
        ("operation", json!("Patch")),
        ("apiVersion", json!("")),
        ("fieldsType", json!("FieldsV2")),
        ("fieldsType", json!(null)),
        ("fieldsV1", json!({"nothing": {}})),
        ("fieldsV1", json!({"f:a": 1})),
        ("time", json!("yesterday")),
        ("time", json!("")),
        ("subresource", json!(1)),
    ] {
        assert_eq!(entry(key, value), old, "{key}");
    }
    let taken = entry("x", json!("ignored"));
    assert_eq!(
        taken["metadata"]["managedFields"],
        json!([{
            "manager": "else", "operation": "Apply", "apiVersion": "v1", "time": "2026-11-21T10:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        }])
    );
    // Without fields there is nothing to own.
    assert_eq!(sent(json!([{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}])), {
        let mut gone = old.clone();
        gone["metadata"]["managedFields"].take();
        gone["metadata"].as_object_mut().unwrap().remove("managedFields");
        gone
    });
}

#[test]
fn tracking_ends_with_an_empty_list() {
    let old = written(None, widget(json!({"replicas": 1})), "first");
    for reset in [json!([]), json!([{}])] {
        let mut new = with_spec(&old, json!({"replicas": 2}));
        new["metadata"]["managedFields"] = reset.clone();
        let new = written(Some(&old), new, "second");
        assert_eq!(new["metadata"].get("managedFields"), None);
        let next = written(Some(&new), with_spec(&new, json!({"replicas": 3})), "third");
        assert_eq!(next["metadata"].get("managedFields"), None);

        let mut created = widget(json!({"replicas": 1}));
        created["metadata"]["managedFields"] = reset;
        check(&written(None, created, "me"), json!({"me": {"f:spec": {".": {}, "f:replicas": {}}}}));
    }
}

#[test]
fn entries_are_in_the_order_of_kubernetes() {
    let entry = |operation: &str, manager: &str, time: Value| {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {format!("f:{manager}"): {}}},
        })
    };
    let mut new = widget(json!({"replicas": 1}));
    new["metadata"]["managedFields"] = json!([
        entry("Update", "b", json!("2026-01-02T00:00:00Z")),
        entry("Update", "a", json!("2026-01-02T00:00:00Z")),
        entry("Update", "c", json!("2026-01-01T00:00:00Z")),
        entry("Update", "d", json!(null)),
        entry("Apply", "e", json!("2027-01-01T00:00:00Z")),
    ]);
    let old = widget(json!({"replicas": 1}));
    let new = written(Some(&old), new, "f");
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
    assert_eq!(names, ["e", "d", "c", "a", "b"]);
}

#[test]
fn update_entries_are_limited_to_ten() {
    let mut object = written(None, widget(json!({})), "creator");
    for at in 0..15 {
        let mut new = object.clone();
        new["spec"][format!("f{at:02}")] = json!(1);
        let (manager, now) = (format!("m{at:02}"), format!("2026-11-22T10:00:{at:02}Z"));
        updated(Some(&object), &mut new, &Write { now: &now, ..write(&manager, &schema()) });
        object = new;
    }
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(entries[0]["time"], "2026-11-22T10:00:05Z");
    let old: Value =
        (0..6).map(|at| (format!("f:f{at:02}"), json!({}))).collect::<serde_json::Map<_, _>>().into();
    let mut spec = old;
    spec["."] = json!({});
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": spec}));
    assert_eq!(entries[9]["manager"], "m14");
}

/// The product of many `managedFields` entries, up to the body limit, and many written fields stays
/// cheap.
#[test]
fn many_entries_and_fields_cost_linear_time() {
    let entry = |at: usize| {
        json!({
            "manager": format!("m{at}"), "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {format!("f:f{at}"): {}}},
        })
    };
    let many: serde_json::Map<_, _> = (0..20_000).map(|at| (format!("f{at}"), json!(1))).collect();
    let old = widget(json!({}));
    let mut new = with_spec(&old, many.into());
    new["metadata"]["managedFields"] = (100_000..110_000).map(entry).collect();
    let new = written(Some(&old), new, "me");
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 10);
    assert_eq!(entries[0]["manager"], "ancient-changes");
    assert_eq!(entries[9]["fieldsV1"]["f:spec"].as_object().unwrap().len(), 20_000);
}

#[test]
fn a_value_that_became_atomic_is_owned_as_one() {
    let loose = fields([(
        "spec",
        fields([
            ("selector", TestSchema::default()),
            ("tags", TestSchema { set: true, ..TestSchema::default() }),
        ]),
    )]);
    let mut old = widget(json!({"selector": {"a": 1}, "tags": ["x"]}));
    updated(None, &mut old, &write("first", &loose));
    let new = written(Some(&old), old.clone(), "second");
    let spec = json!({".": {}, "f:selector": {}, "f:tags": {".": {}, "v:\"x\"": {}}});
    check(&new, json!({"first": {"f:spec": spec}}));
    let mut new = old.clone();
    updated(Some(&old), &mut new, &write("second", &TestSchema::default()));
    check(&new, json!({"first": {"f:spec": {".": {}, "f:selector": {".": {}, "f:a": {}}, "f:tags": {}}}}));
}

#[test]
fn a_change_of_times_only_is_no_change() {
    let old = written(None, widget(json!({"replicas": 1})), "first");
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    new["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    new["spec"]["replicas"] = json!(2);
    let changed = new.clone();
    keep_times(&old, &mut new);
    assert_eq!(new, changed);
    let mut bare = widget(json!({}));
    keep_times(&old, &mut bare);
    assert_eq!(bare, widget(json!({})));
}

#[test]
fn an_object_without_metadata_is_left_alone() {
    let mut object = json!({"a": 1});
    updated(None, &mut object, &write("me", &TestSchema::default()));
    assert_eq!(object, json!({"a": 1}));
}

#[test]
fn the_fields_of_a_value() {
    let value = json!({
        "spec": {
            "replicas": 1, "tags": ["a", "b", "b"], "selector": {"x": 1}, "limits": {"cpu": {"x": 1}}, "unknown": {"y": {}},
            "ports": [{"port": 1, "name": "n"}],
        },
        "status": null,
    });
    let expected = json!({
        "f:spec": {
            "f:replicas": {},
            "f:tags": {"v:\"a\"": {}, "v:\"b\"": {}},
            "f:selector": {},
            "f:limits": {"f:cpu": {".": {}, "f:x": {}}},
            "f:unknown": {".": {}, "f:y": {}},
            "f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}}},
        },
        "f:status": {},
    });
    assert_eq!(of(&value, &schema()).to_json(), expected);
}

proptest! {
    #[test]
    fn compared_with_null_all_fields_are_added(value in object()) {
        let added = compare(&json!({}), &value, &Deduced).unwrap();
        prop_assert!(added.removed.is_empty() && added.modified.is_empty());
        prop_assert!(of(&value, &Deduced).difference(&added.added).is_empty());
        let removed = compare(&value, &json!({}), &Deduced).unwrap();
        prop_assert_eq!(removed.removed, added.added);
        prop_assert_eq!(compare(&value, &value, &Deduced).unwrap(), super::compare::Comparison::default());
    }

    /// After writes in any order, each field has one owner, and only fields of the object have
    /// owners.
    #[test]
    fn every_field_has_one_owner(writes in prop::collection::vec(("[a-d]", object()), 1..6)) {
        let mut object: Option<Value> = None;
        for (manager, spec) in writes {
            let mut new = json!({"apiVersion": "v1", "metadata": {"name": "x"}, "spec": spec});
            updated(object.as_ref(), &mut new, &write(&manager, &TestSchema::default()));
            let mut left = of(&new["spec"], &Deduced);
            let entries = new["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            for entry in entries {
                let own = FieldSet::from_json(&entry["fieldsV1"]["f:spec"]).unwrap();
                let extra = own.clone().difference(&left);
                prop_assert!(extra.is_empty(), "{:?} of {} in {}", extra.to_json(), entry["manager"], new);
                left = left.difference(&own);
            }
            prop_assert!(left.is_empty(), "{} in {}", left.to_json(), new);
            object = Some(new);
        }
    }
}
