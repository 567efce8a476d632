//! Sequences of applies, updates and patches by three managers, by lot: the same for the same
//! number.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Result;
use super::case::{Case, Theme};

/// The name of the theme, and of the file with its answers.
pub(crate) const NAME: &str = "random-applies";

/// How many sequences are kept.
pub(crate) const KEPT: u64 = 60;

/// The sequences of these numbers, each a case: every other in two versions, in which lists and
/// maps are owned in different ways.
pub(crate) fn theme(numbers: std::ops::Range<u64>) -> Result<Theme> {
    let cases = numbers.map(case).collect::<Result<_>>()?;
    let path = |version: &str| format!("/apis/test.example.com/{version}/namespaces/${{ns}}/quilts");
    let names = ["v1", "v2"].map(|version| (version.to_owned(), path(version)));
    let kinds = vec![Theme::kind("quilts")?];
    Ok(Theme {
        name: NAME.into(),
        kinds,
        names: BTreeMap::from(names),
        managed_fields: true,
        hooks: false,
        cases,
    })
}

fn case(number: u64) -> Result<Case> {
    let state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x0a11;
    let mut lot = Lot { state, versions: if number.is_multiple_of(2) { &["v1"] } else { &["v1", "v2"] } };
    let mut steps = vec![first(&mut lot)];
    for _ in 0..4 + lot.below(5) {
        steps.extend(next(&mut lot));
    }
    Case::parse(json!({"case": number.to_string(), "steps": steps}))
}

/// The object is created, by a create or an apply.
fn first(lot: &mut Lot) -> Value {
    let (manager, version) = (manager(lot), lot.version());
    let mut step = if lot.one_in(2) {
        json!({"do": format!("POST ${{{version}}}?fieldManager={manager}"), "send": object(lot, version)})
    } else {
        apply(lot, "", false)
    };
    // A spec must exist for the next step.
    if let Some(spec) = step["send"]["spec"].as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
    step
}

fn next(lot: &mut Lot) -> Vec<Value> {
    let (manager, version) = (manager(lot), lot.version());
    let patch = |path: &str, form: &str, send: Value| {
        json!({
            "do": format!("PATCH ${{{version}}}/a{path}?fieldManager={manager}"),
            "type": format!("application/{form}-patch+json"), "send": send,
        })
    };
    match lot.below(22) {
        10..=11 if !lot.is_mixed() => {
            let force = lot.one_in(3);
            vec![apply(lot, "/status", force)]
        }
        0..=11 => {
            let force = lot.one_in(3);
            vec![apply(lot, "", force)]
        }
        15 if !lot.is_mixed() => vec![patch("/status", "merge", json!({"status": status(lot)}))],
        12..=15 => vec![patch("", "merge", json!({"metadata": meta(lot), "spec": spec(lot)}))],
        16..=17 => vec![patch("", "json", operations(lot))],
        18 => vec![patch("", "merge", json!({"metadata": {"managedFields": [{}]}}))],
        19 => {
            // Removes all finalizers.
            let held = patch("", "merge", json!({"metadata": {"finalizers": null}}));
            vec![json!({"do": format!("DELETE ${{{version}}}/a")}), held, first(lot)]
        }
        _ => {
            let mut new = object(lot, version);
            new["metadata"]["resourceVersion"] = "${rv}".into();
            vec![
                json!({"given": format!("GET ${{{version}}}/a"), "save": {"rv": "/metadata/resourceVersion"}}),
                json!({"do": format!("PUT ${{{version}}}/a?fieldManager={manager}"), "send": new}),
            ]
        }
    }
}

/// A JSON patch, with some paths that do not exist.
fn operations(lot: &mut Lot) -> Value {
    match lot.below(4) {
        0 => json!([{"op": "add", "path": "/spec/size", "value": lot.below(4)}]),
        1 => {
            json!([{"op": "add", "path": "/spec/tags", "value": some(lot, &["a", "b", "c"])}, {"op": "remove", "path": "/spec/tags"}])
        }
        2 => json!([{"op": "add", "path": "/spec/parts", "value": parts(lot)}]),
        _ => json!([{"op": "replace", "path": "/spec/limits", "value": texts(lot)}]),
    }
}

fn apply(lot: &mut Lot, part: &str, force: bool) -> Value {
    let force = if force { "&force=true" } else { "" };
    let (manager, version) = (manager(lot), lot.version());
    let mut send = object(lot, version);
    if part == "/status" || !lot.is_mixed() && lot.one_in(8) {
        send["status"] = status(lot);
    }
    json!({
        "do": format!("PATCH ${{{version}}}/a{part}?fieldManager={manager}{force}"),
        "type": "application/apply-patch+yaml", "send": send,
    })
}

fn manager(lot: &mut Lot) -> &'static str {
    lot.of(&["one", "two", "three"])
}

fn object(lot: &mut Lot, version: &str) -> Value {
    let mut meta = meta(lot);
    meta["name"] = "a".into();
    json!({"apiVersion": format!("test.example.com/{version}"), "kind": "Quilt", "metadata": meta, "spec": spec(lot)})
}

fn meta(lot: &mut Lot) -> Value {
    let mut meta = Map::new();
    if lot.one_in(3) {
        meta.insert("labels".into(), texts(lot));
    }
    if lot.one_in(5) {
        meta.insert("finalizers".into(), some(lot, &["x.io/a", "x.io/b", "x.io/c"]));
    }
    // The genuine server stores empty values when they are applied, and drops them with the next
    // write, which is therefore a write even without changes. Ours does not write then.
    meta.retain(|_, value| *value != json!({}) && *value != json!([]));
    Value::Object(meta)
}

fn spec(lot: &mut Lot) -> Value {
    let mut spec = Map::new();
    for field in [
        "size", "color", "given", "either", "maybe", "tags", "steps", "limits", "pin", "nested", "free",
        "parts", "ports",
    ] {
        if !lot.one_in(3) {
            continue;
        }
        let value = match field {
            _ if lot.one_in(20) => Value::Null,
            "size" => lot.below(3).into(),
            "either" if lot.one_in(2) => lot.below(2).into(),
            "tags" => some(lot, &["a", "b", "c", "d"]),
            "steps" => some(lot, &["a", "b"]),
            "limits" => texts(lot),
            "pin" => json!({"x": lot.below(2), "y": lot.below(2)}),
            "nested" => nested(lot),
            "free" => free(lot, 2),
            "parts" => parts(lot),
            "ports" => ports(lot),
            _ => lot.of(&["p", "q"]).into(),
        };
        spec.insert(field.into(), value);
    }
    Value::Object(spec)
}

fn status(lot: &mut Lot) -> Value {
    let mut status = Map::new();
    if lot.one_in(2) {
        status.insert("phase".into(), lot.of(&["p", "q"]).into());
    }
    if lot.one_in(2) {
        let types = some(lot, &["A", "B", "C"]);
        let one = |kind: &Value| json!({"type": kind, "state": lot.of(&["p", "q"])});
        status.insert("conditions".into(), types.as_array().into_iter().flatten().map(one).collect());
    }
    Value::Object(status)
}

fn nested(lot: &mut Lot) -> Value {
    let mut nested = Map::new();
    if lot.one_in(2) {
        nested.insert("a".into(), lot.of(&["p", "q"]).into());
    }
    if lot.one_in(2) {
        let mut below = Map::new();
        if lot.one_in(2) {
            below.insert("c".into(), lot.below(2).into());
        }
        if lot.one_in(2) {
            below.insert("d".into(), lot.of(&["p", "q"]).into());
        }
        nested.insert("b".into(), Value::Object(below));
    }
    Value::Object(nested)
}

/// A value in a part of the object without a schema.
fn free(lot: &mut Lot, deep: u64) -> Value {
    let mut fields = Map::new();
    for name in ["a", "b", "c"] {
        if !lot.one_in(2) {
            continue;
        }
        let value = match lot.below(if deep == 0 { 3 } else { 5 }) {
            0 => lot.below(2).into(),
            1 => lot.of(&["p", "q"]).into(),
            2 => some(lot, &["a", "b"]),
            _ => free(lot, deep - 1),
        };
        fields.insert(name.into(), value);
    }
    Value::Object(fields)
}

fn parts(lot: &mut Lot) -> Value {
    let names = some(lot, &["a", "b", "c", "d"]);
    let one = |name: &Value| {
        let mut part = json!({"name": name});
        if lot.one_in(2) {
            part["count"] = lot.below(2).into();
        }
        if lot.one_in(3) {
            let marks = some(lot, &["1", "2", "3"]);
            let number = |mark: &Value| mark.as_str().and_then(|mark| mark.parse::<u64>().ok());
            part["marks"] = marks.as_array().into_iter().flatten().map(number).collect();
        }
        if lot.one_in(3) {
            part["limits"] = texts(lot);
        }
        part
    };
    names.as_array().into_iter().flatten().map(one).collect()
}

fn ports(lot: &mut Lot) -> Value {
    let keys = some(lot, &["1TCP", "1UDP", "2TCP"]);
    let one = |key: &Value| {
        let (port, protocol) = key.as_str().unwrap_or_default().split_at(1);
        let mut one = json!({"port": port.parse::<u64>().unwrap_or_default()});
        // The default of a key field may be omitted.
        if protocol != "TCP" || lot.one_in(2) {
            one["protocol"] = protocol.into();
        }
        if lot.one_in(2) {
            one["label"] = lot.of(&["p", "q"]).into();
        }
        one
    };
    keys.as_array().into_iter().flatten().map(one).collect()
}

fn texts(lot: &mut Lot) -> Value {
    let keys = some(lot, &["k", "l", "m"]);
    let keys = keys.as_array().into_iter().flatten().filter_map(Value::as_str);
    keys.map(|key| (key.to_owned(), Value::from(lot.of(&["p", "q"])))).collect()
}

/// Returns a random subset, in random order.
fn some(lot: &mut Lot, of: &[&str]) -> Value {
    let mut left = of.to_vec();
    let mut out = Vec::new();
    for _ in 0..lot.below(left.len() as u64 + 1) {
        let at = usize::try_from(lot.below(left.len() as u64)).unwrap_or_default();
        out.push(left.swap_remove(at));
    }
    out.into()
}

/// splitmix64.
struct Lot {
    state: u64,
    versions: &'static [&'static str],
}

impl Lot {
    /// Returns whether objects are written in several versions. Then statuses have no owner: with a
    /// write that cannot change the status, the genuine server drops the ownership of managers that
    /// wrote it in another version.
    fn is_mixed(&self) -> bool {
        self.versions.len() > 1
    }

    fn version(&mut self) -> &'static str {
        self.of(self.versions)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of(&mut self, texts: &[&'static str]) -> &'static str {
        texts[usize::try_from(self.below(texts.len() as u64)).unwrap_or_default()]
    }
}
