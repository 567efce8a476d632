use crate::patch::apply::apply;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use serde_json::{Value, json};

use crate::patch::arbitrary::object;
use crate::patch::{FieldPatch, PatchKind, PatchMeta, Strategy};
use crate::refusal::Refusal;

/// Types as those of a Pod are: names, tags, and the types of the fields.
#[derive(Default)]
pub(super) struct Types(BTreeMap<&'static str, (&'static str, Option<&'static str>, Types)>);

impl PatchMeta for Types {
    fn field(&self, name: &str) -> Option<FieldPatch<'_>> {
        let (tag, merge_key, child) = self.0.get(name)?;
        let (strategy, merge_key) = (Strategy::from_tag(tag), *merge_key);
        Some(FieldPatch { strategy, merge_key, child: Some(child) })
    }
}

impl Types {
    pub(super) fn with(
        mut self,
        name: &'static str,
        tag: &'static str,
        key: Option<&'static str>,
        child: Self,
    ) -> Self {
        self.0.insert(name, (tag, key, child));
        self
    }
}

fn types() -> Types {
    let env = Types::default();
    let container = Types::default()
        .with("env", "merge", Some("name"), env)
        .with("args", "", None, Types::default())
        .with("resources", "", None, Types::default());
    Types::default()
        .with("containers", "merge", Some("name"), container)
        .with("volumes", "merge,retainKeys", Some("name"), Types::default())
        .with("finalizers", "merge", None, Types::default())
        .with("strategy", "retainKeys", None, Types::default())
        .with("selector", "replace", None, Types::default())
        .with("keyless", "merge", None, Types::default())
        .with("labels", "", None, Types::default())
}

fn patched(document: &Value, patch: &Value) -> Result<Value, Refusal> {
    apply(PatchKind::Strategic, document, patch.to_string().as_bytes(), Some(&types()))
}

fn check(document: Value, patch: Value, expected: Value) {
    assert_eq!(patched(&document, &patch), Ok(expected), "{patch}");
}

fn check_refused(document: Value, patch: Value, code: u16, said: &str) {
    let refusal = patched(&document, &patch).unwrap_err();
    let cause = refusal.causes.first().map_or(refusal.message.as_str(), |cause| cause.message.as_str());
    assert_eq!((refusal.code, cause), (code, said), "{patch}");
}

#[test]
fn maps_are_merged_and_nulls_delete() {
    let document = json!({"labels": {"a": "1", "b": "2"}, "x": 1});
    let patch = json!({"labels": {"a": null, "c": "3"}, "x": null, "y": {"z": null, "w": 1}});
    check(document, patch, json!({"labels": {"b": "2", "c": "3"}, "y": {"w": 1}}));
}

#[test]
fn lists_are_replaced_unless_the_types_say_otherwise() {
    check(json!({"args": [1, 2]}), json!({"args": [3]}), json!({"args": [3]}));
    check(
        json!({"containers": [{"name": "a", "args": [1]}]}),
        json!({"containers": [{"name": "a", "args": [2]}]}),
        json!({"containers": [{"name": "a", "args": [2]}]}),
    );
    check(json!({"nowhere": [1]}), json!({"nowhere": [2]}), json!({"nowhere": [2]}));
}

#[test]
fn lists_of_maps_are_merged_by_key() {
    let document = json!({"containers": [
        {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]},
        {"name": "b", "image": "1"},
    ]});
    let patch = json!({"containers": [
        {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
        {"name": "c", "image": null, "args": [1]},
    ]});
    let expected = json!({"containers": [
        {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]},
        {"name": "c", "args": [1]},
        {"name": "b", "image": "1"},
    ]});
    check(document, patch, expected);
}

#[test]
fn kept_items_of_a_merged_list_keep_their_order() {
    let named = |names: &[&str]| json!({"containers": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
    check(named(&["a", "b", "c"]), named(&["c", "d"]), named(&["a", "b", "c", "d"]));
    check(named(&["a", "b", "c"]), named(&["c", "a"]), named(&["b", "c", "a"]));
    check(named(&["a", "b"]), named(&["d"]), named(&["d", "a", "b"]));
    check(json!({}), named(&["b", "a"]), named(&["b", "a"]));
}

#[test]
fn lists_of_scalars_are_united() {
    check(
        json!({"finalizers": ["a", "b", "a"]}),
        json!({"finalizers": ["c", "b"]}),
        json!({"finalizers": ["c", "a", "b"]}),
    );
    check(
        json!({"finalizers": ["a", "b", "c"]}),
        json!({"$deleteFromPrimitiveList/finalizers": ["b", "x"]}),
        json!({"finalizers": ["a", "c"]}),
    );
    check(json!({}), json!({"$deleteFromPrimitiveList/finalizers": ["b"]}), json!({}));
}

#[test]
fn directives_of_maps() {
    let document = || json!({"labels": {"a": 1}});
    check(
        document(),
        json!({"labels": {"$patch": "replace", "b": 2, "c": null}}),
        json!({"labels": {"b": 2}}),
    );
    check(document(), json!({"labels": {"$patch": "delete"}}), json!({"labels": {}}));
    check(document(), json!({"labels": {"$patch": "merge", "b": 2}}), json!({"labels": {"a": 1, "b": 2}}));
    check(json!({}), json!({"labels": {"$patch": "delete"}}), json!({}));
    check(json!({}), json!({"labels": {"$patch": "replace", "b": 2}}), json!({"labels": {"b": 2}}));
    check(json!({"selector": {"a": 1}}), json!({"selector": {"b": 2}}), json!({"selector": {"b": 2}}));
    let said = "unknown patch type: \"merg\" in map: {\"$patch\":\"merg\"}";
    check_refused(document(), json!({"labels": {"$patch": "merg"}}), 422, said);
}

#[test]
fn directives_of_lists() {
    let document = || json!({"containers": [{"name": "a"}, {"name": "b", "image": "1"}]});
    check(
        document(),
        json!({"containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": "2"}]}),
        json!({"containers": [{"name": "b", "image": "2"}]}),
    );
    check(
        document(),
        json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
        json!({"containers": [{"name": "c"}]}),
    );
    check(
        json!({}),
        json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
        json!({"containers": [{"name": "c"}]}),
    );
    check(json!({}), json!({"containers": [{"$patch": "delete", "name": "c"}]}), json!({"containers": []}));
    let merge = json!({"containers": [{"$patch": "merge", "name": "a"}]});
    check_refused(document(), merge, 422, "merging lists cannot yet be specified in the patch");
    let keyless = json!({"containers": [{"image": "x"}]});
    let said = "map: {\"image\":\"x\"} does not contain declared merge key: name";
    check_refused(document(), keyless, 422, said);
}

#[test]
fn the_order_of_a_list_may_be_given() {
    let named = |names: &[&str]| -> Value { names.iter().map(|name| json!({"name": name})).collect() };
    let document = json!({"containers": named(&["a", "b", "c"]), "finalizers": ["x", "y", "z"]});
    check(
        document.clone(),
        json!({
            "$setElementOrder/containers": named(&["d", "b", "a"]),
            "containers": [{"name": "d"}, {"name": "b", "image": "2"}],
            "$setElementOrder/finalizers": ["z", "x"],
        }),
        json!({
            "containers": [{"name": "d"}, {"name": "b", "image": "2"}, {"name": "a"}, {"name": "c"}],
            "finalizers": ["y", "z", "x"],
        }),
    );
    check(
        document.clone(),
        json!({
            "$setElementOrder/finalizers": ["z", "w"],
            "$deleteFromPrimitiveList/finalizers": ["x", "y"],
            "finalizers": ["w"],
            "containers": null,
            "$setElementOrder/containers": [],
        }),
        json!({"finalizers": ["z", "w"]}),
    );
    check(json!({}), json!({"$setElementOrder/containers": named(&["a"])}), json!({}));
    check(
        json!({}),
        json!({"$setElementOrder/finalizers": ["b", "a"], "finalizers": ["b", "a"]}),
        json!({"finalizers": ["b", "a"]}),
    );
    let wrong = json!({"$setElementOrder/finalizers": ["a", "b"], "finalizers": ["b", "a"]});
    let said =
        "The order in patch list:\n[\"b\",\"a\"]\n doesn't match $setElementOrder list:\n[\"a\",\"b\"]\n";
    check_refused(document, wrong, 422, said);
}

/// The patch by which `kubectl apply` removes an item and an environment variable.
#[test]
fn a_patch_of_kubectl() {
    let document = json!({"containers": [
        {"name": "web", "image": "1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "side", "image": "1"},
    ]});
    let patch = json!({
        "$setElementOrder/containers": [{"name": "web"}],
        "containers": [
            {
                "$setElementOrder/env": [{"name": "B"}],
                "env": [{"$patch": "delete", "name": "A"}],
                "name": "web",
            },
            {"$patch": "delete", "name": "side"},
        ],
    });
    let expected =
        json!({"containers": [{"name": "web", "image": "1", "env": [{"name": "B", "value": "2"}]}]});
    check(document, patch, expected);
}

#[test]
fn keys_may_be_retained() {
    let document = || json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
    check(
        document(),
        json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}}),
        json!({"strategy": {"type": "Recreate"}}),
    );
    check(
        json!({"volumes": [{"name": "a", "emptyDir": {}}]}),
        json!({"volumes": [{"name": "a", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}),
        json!({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}),
    );
    check(
        json!({}),
        json!({"volumes": [{"name": "a", "$retainKeys": ["name"]}]}),
        json!({"volumes": [{"name": "a"}]}),
    );
    let said = "invalid patch format of retainKeys";
    check_refused(document(), json!({"strategy": {"$retainKeys": ["type"], "paused": true}}), 400, said);
    check_refused(document(), json!({"strategy": {"$retainKeys": "type"}}), 400, said);
}

#[test]
fn malformed_directives_are_refused() {
    let document = || json!({"finalizers": ["a"], "containers": [{"name": "a"}], "keyless": [{"a": 1}]});
    let primitive = "invalid patch format of primitive list";
    check_refused(document(), json!({"$deleteFromPrimitiveList": ["a"]}), 400, primitive);
    check_refused(document(), json!({"$deleteFromPrimitiveList/finalizers": "a"}), 400, primitive);
    check_refused(document(), json!({"$deleteFromPrimitiveList/finalizers": null}), 400, primitive);
    check_refused(document(), json!({"$deleteFromPrimitiveList/finalizers": [{}]}), 400, primitive);
    let order = "invalid patch format of setElementOrder list";
    check_refused(document(), json!({"$setElementOrder/finalizers": "a"}), 400, order);
    check_refused(document(), json!({"$setElementOrderx/finalizers": ["a"]}), 400, order);
    check_refused(document(), json!({"finalizers": [["a"]]}), 422, "lists of lists are not supported");
    check_refused(document(), json!({"containers": ["a"]}), 422, "list element types are not identical");
    check_refused(document(), json!({"finalizers": [null]}), 422, "list element types are not identical");
    check_refused(document(), json!({"keyless": [{"a": 1}]}), 422, "cannot merge lists without merge key");
}

#[test]
fn a_value_of_another_type_replaces() {
    check(json!({"labels": [1]}), json!({"labels": {"a": null, "b": 1}}), json!({"labels": {"b": 1}}));
    check(json!({"finalizers": {"a": 1}}), json!({"finalizers": ["a"]}), json!({"finalizers": ["a"]}));
}

fn names() -> impl proptest::strategy::Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-f]", 0..6)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

proptest! {
    /// As kubectl does: the patch has new and deleted items, and the order of all.
    #[test]
    fn a_patch_of_kubectl_gives_the_desired_list(from in names(), to in names()) {
        let listed = |names: &[String]| json!({"finalizers": names});
        let gone: Vec<_> = from.iter().filter(|name| !to.contains(name)).collect();
        let new: Vec<_> = to.iter().filter(|name| !from.contains(name)).collect();
        let patch = json!({
            "$setElementOrder/finalizers": to,
            "$deleteFromPrimitiveList/finalizers": gone,
            "finalizers": new,
        });
        prop_assert_eq!(patched(&listed(&from), &patch), Ok(listed(&to)));

        let keyed = |names: &[String]| json!({"containers": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
        let mut items: Vec<_> = new.iter().map(|name| json!({"name": name})).collect();
        items.extend(gone.iter().map(|name| json!({"name": name, "$patch": "delete"})));
        let order = &keyed(&to)["containers"];
        let patch = json!({"$setElementOrder/containers": order, "containers": items});
        prop_assert_eq!(patched(&keyed(&from), &patch), Ok(keyed(&to)));
    }

    /// Without types, and for all values but lists, the result is that of a merge patch.
    #[test]
    fn without_merge_keys_a_strategic_merge_equals_a_merge_patch(document in object(), patch in object()) {
        let merged = apply(PatchKind::Merge, &document, patch.to_string().as_bytes(), None);
        prop_assert_eq!(patched(&document, &patch), merged);
    }

    #[test]
    fn any_patch_with_directives_gives_an_object_or_a_refusal(document in object(), patch in object(), name in "[a-c]", value in object()) {
        let directives = ["$patch", "$retainKeys", "$setElementOrder/a", "$deleteFromPrimitiveList/a"];
        for directive in directives {
            let mut patch = patch.clone();
            patch[name.as_str()] = json!({directive: value["a"], "a": value["b"]});
            if let Err(refusal) = patched(&document, &patch) {
                prop_assert!(matches!(refusal.code, 400 | 422));
            }
        }
    }
}
